package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/zopp"
)

var (
	zoppServer      *zopp.Peer
	zoppWorkspace   *zopp.Workspace
	zoppCredentials string
)

// startZopp starts a double of zopp's server with a workspace acme, and gives the manager of
// the tests zopp's permissions and no others.
func startZopp(ctx context.Context, folder string) (stop func() error, err error) {
	if zoppServer, err = zopp.StartDouble(ctx, zopp.NewDouble()); err != nil {
		return nil, err
	}
	stop = func() error { zoppServer.Stop(); return nil }
	if zoppWorkspace, err = zoppServer.MakeWorkspace(ctx, "acme"); err != nil {
		return stop, err
	}
	reader, err := zoppWorkspace.MakeReader(ctx, "k8s-operator")
	if err != nil {
		return stop, err
	}
	zoppCredentials = filepath.Join(folder, "zopp-credentials.json")
	if err := os.WriteFile(zoppCredentials, reader.Credentials(), 0o600); err != nil {
		return stop, err
	}
	if err := installation.PermitZopp(ctx, cluster); err != nil {
		return stop, err
	}
	for _, kind := range []string{"secret-syncs", "reload"} {
		if output, err := cluster.Kubectl(ctx, "", "apply", "-f", "config/rbac/zopp-"+kind+"/cluster-role.yaml"); err != nil {
			return stop, fmt.Errorf("permitting zopp's %s: %w: %s", kind, err, output)
		}
		if output, err := cluster.Kubectl(ctx, "", "create", "clusterrolebinding", "lintel-zopp-"+kind, "--clusterrole=zopp-"+kind,
			"--serviceaccount="+installation.Namespace+":lintel-manager"); err != nil {
			return stop, fmt.Errorf("permitting zopp's %s: %w: %s", kind, err, output)
		}
	}
	return stop, nil
}

// zoppArgs are the manager's flags: with a short interval, so that little is waited for.
func zoppArgs() []string {
	return []string{"--zopp-server=" + zoppServer.URL, "--zopp-credentials=" + zoppCredentials, "--zopp-poll-interval=3s", "--zopp-secret-syncs", "--zopp-reload"}
}

// The Secret of zopp's product document.
const zoppExample = `
apiVersion: v1
kind: Secret
metadata:
  name: app-secrets
  namespace: default
  annotations:
    zopp.dev/sync: "true"
    zopp.dev/workspace: "acme"
    zopp.dev/project: "backend"
    zopp.dev/environment: "production"
type: Opaque
data: {} # Will be populated by operator
`

// zoppEnvironment is one of acme that no other test uses.
func zoppEnvironment(t *testing.T, project, name string) *zopp.Environment {
	t.Helper()
	environment, err := zoppWorkspace.MakeEnvironment(t.Context(), project, name)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = environment.Remove(ctx)
	})
	return environment
}

// zoppNamespace is a new namespace whose Secrets may read all of acme.
func zoppNamespace(t *testing.T) string {
	t.Helper()
	namespace := newNamespace(t)
	permitZopp(t, namespace, "acme/*/*")
	return namespace
}

// permitZopp lists the sources that the Secrets of a namespace may read.
func permitZopp(t *testing.T, namespace, sources string) {
	t.Helper()
	mustKubectl(t, "", "annotate", "--overwrite", "namespace", namespace, "zopp.dev/allowed-sources="+sources)
}

func setZopp(t *testing.T, e *zopp.Environment, key, value string) {
	t.Helper()
	require.Eventually(t, func() bool { return e.Set(t.Context(), key, value) == nil }, time.Minute, 10*time.Millisecond, "the server to take %s", key)
}

// zoppSecret asks for an environment by annotations, or has other ones.
func zoppSecret(namespace, name string, e *zopp.Environment, more map[string]string) string {
	annotations := map[string]string{
		"zopp.dev/sync": "true", "zopp.dev/workspace": e.Workspace, "zopp.dev/project": e.Project, "zopp.dev/environment": e.Name,
	}
	maps.Copy(annotations, more)
	return asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": namespace, "annotations": annotations},
	})
}

func zoppData(t *testing.T, namespace, name string) map[string]string {
	t.Helper()
	data := map[string]string{}
	for key, value := range read[corev1.Secret](t, namespace, "secret/"+name).Data {
		data[key] = string(value)
	}
	return data
}

// waitData waits until a Secret has exactly these data, and says after how long that was seen.
func waitData(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	began := time.Now()
	waitFor(t, namespace, "secret/"+name, fmt.Sprintf("the Secret to have %v", data), func(secret *corev1.Secret) bool {
		return maps.EqualFunc(secret.Data, data, func(have []byte, want string) bool { return string(have) == want })
	})
	t.Logf("Secret %s has %v, seen after %s", name, data, time.Since(began).Round(time.Millisecond))
}

// TestZoppExampleIsFilled has the environment of the samples, too, and so is not parallel.
func TestZoppExampleIsFilled(t *testing.T) {
	production := zoppEnvironment(t, "backend", "production")
	setZopp(t, production, "DATABASE_URL", "postgres://db")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "secret", "app-secrets", "-n", "default", "--ignore-not-found")
	})
	permitZopp(t, "default", "acme/backend/production")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "annotate", "namespace", "default", "zopp.dev/allowed-sources-")
	})
	mustKubectl(t, zoppExample, "apply", "-f", "-")
	waitData(t, "default", "app-secrets", map[string]string{"DATABASE_URL": "postgres://db"})
	setZopp(t, production, "DATABASE_URL", "postgres://other")
	waitData(t, "default", "app-secrets", map[string]string{"DATABASE_URL": "postgres://other"})
	setZopp(t, production, "API_KEY", "k")
	waitData(t, "default", "app-secrets", map[string]string{"DATABASE_URL": "postgres://other", "API_KEY": "k"})
	require.NoError(t, production.Delete(t.Context(), "API_KEY"))
	waitData(t, "default", "app-secrets", map[string]string{"DATABASE_URL": "postgres://other"})

	annotations := read[corev1.Secret](t, "default", "secret/app-secrets").Annotations
	require.Equal(t, "Synced", annotations["zopp.dev/status"])
	require.Equal(t, "4", annotations["zopp.dev/synced-version"])
	require.Equal(t, "in step with acme/backend/production (keys: 1)", annotations["zopp.dev/message"])
	require.Regexp(t, `app-secrets Normal Synced`, eventsOf(t, "default"))

	// Applied again, it stays filled.
	mustKubectl(t, zoppExample, "apply", "-f", "-")
	waitData(t, "default", "app-secrets", map[string]string{"DATABASE_URL": "postgres://other"})
}

// TestZoppServerIsAway changes a value while the server is down, and has the manager ready
// meanwhile.
func TestZoppServerIsAway(t *testing.T) {
	namespace := zoppNamespace(t)
	environment := zoppEnvironment(t, "away", "production")
	setZopp(t, environment, "KEY", "before")
	mustKubectl(t, zoppSecret(namespace, "app", environment, nil), "apply", "-f", "-")
	waitData(t, namespace, "app", map[string]string{"KEY": "before"})

	zoppServer.Double.Stop()
	mustKubectl(t, zoppSecret(namespace, "new", environment, nil), "apply", "-f", "-")
	eventually(t, func() bool {
		return read[corev1.Secret](t, namespace, "secret/new").Annotations["zopp.dev/status"] == "Failed"
	}, "a Secret to say that the server is away")
	t.Log(read[corev1.Secret](t, namespace, "secret/new").Annotations["zopp.dev/message"])
	response, err := http.Get(manager.Health + "/readyz")
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, "a server that is down is not unreadiness")
	require.Equal(t, map[string]string{"KEY": "before"}, zoppData(t, namespace, "app"))

	require.NoError(t, zoppServer.Double.Start())
	setZopp(t, environment, "KEY", "after")
	waitData(t, namespace, "app", map[string]string{"KEY": "after"})
	waitData(t, namespace, "new", map[string]string{"KEY": "after"})
	eventually(t, func() bool {
		return read[corev1.Secret](t, namespace, "secret/new").Annotations["zopp.dev/status"] == "Synced"
	}, "the Secret to say that all is well")
}

func TestZoppRedirectIsRefused(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	environment, foreign := zoppEnvironment(t, "shop", "production"), zoppEnvironment(t, "payroll", "production")
	setZopp(t, environment, "KEY", "own")
	setZopp(t, foreign, "KEY", "of payroll")
	refused, ok := kubectl(t, zoppSecret(namespace, "app", environment, nil), "apply", "-f", "-")
	require.False(t, ok, "a Namespace without a list permits nothing")
	require.Contains(t, refused, "kubectl annotate --overwrite namespace "+namespace+" 'zopp.dev/allowed-sources=acme/shop/production'")
	permitZopp(t, namespace, "acme/shop/*")
	mustKubectl(t, zoppSecret(namespace, "app", environment, nil), "apply", "-f", "-")
	waitData(t, namespace, "app", map[string]string{"KEY": "own"})
	var output string
	eventually(t, func() bool {
		var ok bool
		output, ok = kubectl(t, "", "annotate", "--overwrite", "--dry-run=server", "secret", "app", "-n", namespace, "zopp.dev/project=payroll")
		return !ok
	}, "the redirect to be refused")
	t.Log(output)
	require.Contains(t, output, "acme/payroll/production")
	_, ok = kubectl(t, "", "annotate", "--overwrite", "secret", "app", "-n", namespace, "zopp.dev/project=payroll")
	require.False(t, ok)
	require.Equal(t, map[string]string{"KEY": "own"}, zoppData(t, namespace, "app"))

	// A permission that is withdrawn ends the sync of a Secret that was there before.
	permitZopp(t, namespace, "acme/other/*")
	eventually(t, func() bool {
		return read[corev1.Secret](t, namespace, "secret/app").Annotations["zopp.dev/status"] == "Denied"
	}, "the Secret to be denied")
	setZopp(t, environment, "KEY", "not for them")
	permitZopp(t, namespace, "acme/*/*")
	waitData(t, namespace, "app", map[string]string{"KEY": "not for them"})
}

// TestZoppBurst changes values a hundred times as fast as the server takes them: the last of
// each key arrives, and nothing is written after that.
func TestZoppBurst(t *testing.T) {
	namespace := zoppNamespace(t)
	environment := zoppEnvironment(t, "burst", "production")
	mustKubectl(t, zoppSecret(namespace, "app", environment, nil), "apply", "-f", "-")
	eventually(t, func() bool {
		return read[corev1.Secret](t, namespace, "secret/app").Annotations["zopp.dev/status"] == "Synced"
	}, "the Secret to be synced")
	last := map[string]string{}
	began := time.Now()
	for i := range 100 {
		key, value := fmt.Sprintf("KEY_%d", i%7), fmt.Sprint(i)
		setZopp(t, environment, key, value)
		last[key] = value
	}
	t.Logf("100 changes within %s", time.Since(began).Round(time.Millisecond))
	waitData(t, namespace, "app", last)
	require.Equal(t, "100", read[corev1.Secret](t, namespace, "secret/app").Annotations["zopp.dev/synced-version"])
	before := read[corev1.Secret](t, namespace, "secret/app").ResourceVersion
	calls := zoppServer.Double.Calls("ListSecrets")
	eventually(t, func() bool { return zoppServer.Double.Calls("ListSecrets") >= calls+2*zoppServer.Double.Streams() }, "two polls")
	require.Equal(t, before, read[corev1.Secret](t, namespace, "secret/app").ResourceVersion, "writes at rest")
}

// TestZoppSecretSync has a Deployment rolled once for a change, too.
func TestZoppSecretSync(t *testing.T) {
	namespace := zoppNamespace(t)
	environment := zoppEnvironment(t, "synced", "production")
	setZopp(t, environment, "KEY", "one")
	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "zopp.dev/v1alpha1", "kind": "ZoppSecretSync", "metadata": map[string]any{"name": "app", "namespace": namespace},
		"spec": map[string]any{
			"source": map[string]any{"workspace": "acme", "project": "synced", "environment": "production"},
			"target": map[string]any{"secretName": "app"}, "keys": []string{"name=KEY"},
		},
	}), "apply", "-f", "-")
	mustKubectl(t, "", "wait", "--for=condition=Ready", "--timeout=60s", "-n", namespace, "zss/app")
	require.Equal(t, map[string]string{"name": "one"}, zoppData(t, namespace, "app"))
	t.Log(mustKubectl(t, "", "get", "zss", "-n", namespace))
	mustKubectl(t, "", "patch", "secret", "app", "-n", namespace, "--type=merge", "-p", `{"stringData":{"name":"one"}}`) // changes nothing
	output, ok := kubectl(t, "", "patch", "secret", "app", "-n", namespace, "--type=merge", "-p", `{"stringData":{"name":"mine"}}`)
	require.False(t, ok)
	require.Contains(t, output, "Secret "+namespace+"/app is controlled by ZoppSecretSync app; edit that instead (this write changes data)")

	templates := func() int {
		return len(strings.Fields(mustGet(t, "replicasets", "-n", namespace, "-o", "name")))
	}
	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "app", "namespace": namespace, "annotations": map[string]string{"zopp.dev/reload": "true"}},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"app": "app"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]string{"app": "app"}}, "spec": map[string]any{
				"containers": []any{map[string]any{"name": "app", "image": "app", "envFrom": []any{map[string]any{"secretRef": map[string]string{"name": "app"}}}}},
			}},
		},
	}), "apply", "-f", "-")
	eventually(t, func() bool { return templates() == 1 }, "its first template")
	setZopp(t, environment, "KEY", "two")
	waitData(t, namespace, "app", map[string]string{"name": "two"})
	eventually(t, func() bool { return templates() == 2 }, "the Deployment to be rolled")
	eventually(t, func() bool {
		return strings.Contains(allMetricsOf(t, manager), "\nlintel_zopp_reloads_total{kind=\"Deployment\"} 1\n")
	}, "the roll to be counted, once")

	mustKubectl(t, "", "delete", "zss/app", "-n", namespace, "--timeout=60s")
	eventually(t, func() bool {
		_, found := get(t, "secret", "app", "-n", namespace)
		return !found
	}, "the Secret to go with its ZoppSecretSync")
}

// TestZoppTellsNoValue: values are only in the data of Secrets.
func TestZoppTellsNoValue(t *testing.T) {
	t.Parallel()
	namespace := zoppNamespace(t)
	environment := zoppEnvironment(t, "quiet", "production")
	const value = "hunter2-e2e-hunter2"
	setZopp(t, environment, "KEY", value)
	setZopp(t, environment, "not a key", value)
	mustKubectl(t, zoppSecret(namespace, "app", environment, nil), "apply", "-f", "-")
	waitData(t, namespace, "app", map[string]string{"KEY": value})
	text, err := os.ReadFile(manager.Log)
	require.NoError(t, err)
	require.NotContains(t, string(text), value)
	require.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(value)))
	for line := range strings.Lines(allMetricsOf(t, manager)) {
		require.False(t, strings.HasPrefix(line, "lintel_zopp_") && strings.Contains(line, "KEY"), line)
	}
	require.NotContains(t, mustGet(t, "events.events.k8s.io", "-n", namespace, "-o", "json"), value)
	var secret struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "secret", "app", "-n", namespace, "-o", "json")), &secret))
	for _, annotation := range secret.Metadata.Annotations {
		require.NotContains(t, annotation, value)
	}
}
