package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestZoppSamples applies the samples unchanged.
func TestZoppSamples(t *testing.T) {
	t.Parallel()
	shared, backend := zoppEnvironment(t, "shared", "production"), zoppEnvironment(t, "backend", "production")
	setZopp(t, shared, "DATABASE_URL", "of shared")
	setZopp(t, shared, "API_URL", "of shared")
	setZopp(t, backend, "DATABASE_URL", "of backend")
	setZopp(t, backend, "DB_PASSWORD", "secret")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "--ignore-not-found", "--timeout=60s", "-f", "config/samples/zopp")
	})
	for _, sample := range []string{"00-namespace", "secret", "secret_sources", "zoppsecretsync"} {
		mustKubectl(t, "", "apply", "-f", "config/samples/zopp/"+sample+".yaml")
	}
	const namespace = "zopp-samples"
	waitData(t, namespace, "app-secrets", map[string]string{"DATABASE_URL": "of backend", "DB_PASSWORD": "secret"})
	waitData(t, namespace, "app-database", map[string]string{"DATABASE_URL": "of backend", "db.password": "secret", "API_URL": "of shared"})
	mustKubectl(t, "", "wait", "--for=condition=Ready", "--timeout=60s", "-n", namespace, "zss/app-config")
	waitData(t, namespace, "app-config", map[string]string{"DATABASE_URL": "of backend", "db.password": "secret"})
	// When its Secret is filled already, it is not rolled: another test counts.
	mustKubectl(t, "", "apply", "-f", "config/samples/zopp/deployment.yaml")

	// It was asked for, so the keys go with the sync; those of the other Secret stay.
	mustKubectl(t, "", "annotate", "-n", namespace, "secret/app-database", "secret/app-secrets", "zopp.dev/sync-")
	waitData(t, namespace, "app-database", map[string]string{})
	setZopp(t, backend, "DB_PASSWORD", "another")
	waitData(t, namespace, "app-config", map[string]string{"DATABASE_URL": "of backend", "db.password": "another"})
	waitData(t, namespace, "app-secrets", map[string]string{"DATABASE_URL": "of backend", "DB_PASSWORD": "secret"})
}

// TestZoppClaims: of two that fill one Secret the later is refused, whichever it is.
func TestZoppClaims(t *testing.T) {
	t.Parallel()
	namespace, environment := zoppNamespace(t), zoppEnvironment(t, "claims", "production")
	setZopp(t, environment, "KEY", "value")
	sync := func(name, target string) string {
		return asJSON(map[string]any{
			"apiVersion": "zopp.dev/v1alpha1", "kind": "ZoppSecretSync", "metadata": map[string]any{"name": name, "namespace": namespace},
			"spec": map[string]any{
				"source": map[string]any{"workspace": "acme", "project": "claims", "environment": "production"},
				"target": map[string]any{"secretName": target},
			},
		})
	}
	refused := func(manifest, says string) {
		t.Helper()
		eventually(t, func() bool {
			output, ok := kubectl(t, manifest, "apply", "--dry-run=server", "-f", "-")
			return !ok && strings.Contains(output, says)
		}, "a refusal that says "+says)
	}
	mustKubectl(t, zoppSecret(namespace, "annotated", environment, nil), "apply", "-f", "-")
	refused(sync("late", "annotated"), "annotation zopp.dev/sync of the Secret fills Secret "+namespace+"/annotated already")

	mustKubectl(t, sync("first", "made"), "apply", "-f", "-")
	eventually(t, func() bool {
		_, ok := get(t, "secret", "made", "-n", namespace)
		return ok
	}, "the Secret to be made")
	waitData(t, namespace, "made", map[string]string{"KEY": "value"})
	refused(sync("late", "made"), "ZoppSecretSync "+namespace+"/first fills Secret "+namespace+"/made already")
	refused(zoppSecret(namespace, "made", environment, nil), "ZoppSecretSync "+namespace+"/first fills this Secret already")
	require.Equal(t, "Synced", read[corev1.Secret](t, namespace, "secret/made").Annotations["zopp.dev/status"])
}

// TestZoppBadAnnotations are refused with what to write instead.
func TestZoppBadAnnotations(t *testing.T) {
	t.Parallel()
	namespace, environment := zoppNamespace(t), zoppEnvironment(t, "bad", "production")
	for says, more := range map[string]map[string]string{
		`"a:b" has a colon`:         {"zopp.dev/workspace": "a:b"},
		"it is empty":               {"zopp.dev/project": ""},
		"names another source":      {"zopp.dev/sources": "acme/shared/production"},
		"it lists nothing":          {"zopp.dev/keys": ""},
		`Kubernetes takes no key`:   {"zopp.dev/keys": "a/b=KEY"},
		"gives one name to many":    {"zopp.dev/keys": "a=KEY_*"},
		"is filled twice":           {"zopp.dev/keys": "a=B, a=C"},
		"Warning: metadata.annotat": {"zopp.dev/sync": "yes", "zopp.dev/workspace": "a:b"},
	} {
		eventually(t, func() bool {
			output, _ := kubectl(t, zoppSecret(namespace, "app", environment, more), "apply", "--dry-run=server", "-f", "-")
			return strings.Contains(output, says)
		}, "kubectl to say "+says)
	}
	forgotten := strings.Replace(zoppSecret(namespace, "app", environment, nil), `"zopp.dev/sync":"true",`, "", 1)
	output, _ := kubectl(t, forgotten, "apply", "--dry-run=server", "-f", "-")
	require.Contains(t, output, "Warning: metadata.annotations[zopp.dev/workspace]: it is set without zopp.dev/sync, and the Secret is not synced")
}
