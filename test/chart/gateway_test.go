package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// gatewayImage is that of the program in gateway, and sidecarImage OPA as it is released.
const (
	gatewayImage = "ghcr.io/szaher/openclaw-enterprise/gateway:stand-in"
	sidecarImage = "docker.io/openpolicyagent/opa:1.4.2-static"

	samples  = "../../config/samples/openclaw"
	gateways = "openclaw-enterprise"
)

// openclaw are the values for OpenClaw, in the namespace of its samples alone.
var openclaw = []string{"systems.openclaw.enabled=true", "systems.openclaw.namespaces={" + gateways + "}", "systems.openclaw.policyDeadline=40s", "systems.openclaw.imageRegistries={ghcr.io/szaher/openclaw-enterprise}"}

// fridays is a bundle of a team, in addition to the enterprise's.
const fridays = `
apiVersion: openclaw.enterprise.io/v1
kind: PolicyBundle
metadata: {name: fridays, namespace: openclaw-enterprise}
spec:
  policies:
    - scope: team
      domain: models
      name: fridays
      content: |
        package openclaw.enterprise.models

        deny["not on Fridays"] { input.weekday == "friday" }
`

// buildGateway builds the programs of a gateway's Pods in a folder.
func buildGateway(folder string) error {
	return errors.Join(
		output(".", nil, "go", "build", "-o", filepath.Join(folder, "gateway"), "./gateway"),
		output("../opa", nil, "go", "build", "-o", filepath.Join(folder, "opa"), "github.com/open-policy-agent/opa"),
	)
}

// importGateway makes images of those programs, and imports them.
func (n node) importGateway(t *testing.T, folder string) {
	t.Helper()
	images := filepath.Join(t.TempDir(), "images")
	run(t, ".", n.binaries["node"], "images", images, gatewayImage+"="+filepath.Join(folder, "gateway"), sidecarImage+"="+filepath.Join(folder, "opa"))
	n.importImages(t, images)
}

// decide is what a gateway's OPA says at a path below openclaw.enterprise.
func (n node) decide(ctx context.Context, path, input string) string {
	answer, err := n.client.CoreV1().RESTClient().Post().Namespace(gateways).Resource("services").
		Name("production-gateway:http").SubResource("proxy").Suffix("v1/data/openclaw/enterprise", path).
		Body([]byte(`{"input": ` + input + `}`)).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(answer))
}

// runGateways has gateways run by the samples, answer by them, and by what becomes of them.
func (n node) runGateways(t *testing.T) {
	n.must(t, "", "apply", "-f", samples)
	n.must(t, fridays, "apply", "-f", "-")
	n.must(t, "", "patch", "oci/production", "--namespace", gateways, "--type=merge",
		"-p", `{"spec": {"replicas": 2, "images": {"gateway": "`+gatewayImage+`"}}}`)
	n.must(t, "", "wait", "--for=condition=Ready", "oci/production", "--namespace", gateways, "--timeout=2m")
	n.must(t, "", "wait", "--for=condition=PolicySynced", "pb", "--all", "--namespace", gateways, "--timeout=2m")
	const friday = `{"model": {"provider": "internal"}, "weekday": "friday"}`
	for _, c := range []struct{ path, input, answer string }{
		{"models/allow", `{"model": {"provider": "internal"}}`, `true`},
		{"models/allow", `{"model": {"provider": "external"}, "data": {"classification": "internal"}}`, `false`},
		{"models/allow", friday, `false`},
		{"models/deny", friday, `true`}, // the enterprise's has no words
		{"models/deny", `{"model": {"provider": "external"}, "data": {"classification": "restricted"}}`, `true`},
		{"actions/autonomy_level", `{"action": {"type": "read"}}`, `"autonomous"`},
		{"actions/autonomy_level", `{}`, `"blocked"`},
		{"integrations/allow", `{"connector": {"enabled": true}, "operation": "read"}`, `true`},
		{"data/classification", `{"data": {"source": "unknown"}}`, `"restricted"`},
		{"audit/retention_days", `{}`, `365`},
		{"audit/allow_delete", `{}`, `false`},
	} {
		assert.JSONEq(t, `{"result":`+c.answer+`}`, n.decide(t.Context(), c.path, c.input), "%s of %s", c.path, c.input)
	}

	const public = `{"model": {"provider": "external"}, "data": {"classification": "public"}}`
	require.Equal(t, `{"result":true}`, n.decide(t.Context(), "models/allow", public))
	text, err := os.ReadFile(filepath.Join(samples, "policybundle.yaml"))
	require.NoError(t, err)
	tightened := strings.Replace(string(text), `input.data.classification == "public"`, `input.data.classification == "published"`, 1)
	require.NotEqual(t, string(text), tightened)
	before := n.gatewayPods(t)
	n.must(t, tightened, "apply", "-f", "-")
	n.must(t, "", "wait", "--for=condition=PolicySynced", "pb/enterprise-defaults", "--namespace", gateways, "--timeout=2m")
	assert.Equal(t, `{"result":false}`, n.decide(t.Context(), "models/allow", public), "the change is obeyed")
	after := n.gatewayPods(t)
	assert.False(t, slices.ContainsFunc(after, func(name string) bool { return slices.Contains(before, name) }), "every gateway is another: %v, %v", before, after)

	n.raceForPolicies(t, public)

	// Without a Secret, no gateway can start. Those with former policies end at the deadline.
	n.must(t, "", "delete", "secret", "openclaw-redis-secret", "--namespace", gateways)
	n.must(t, "", "wait", "--for=condition=Degraded", "oci/production", "--namespace", gateways, "--timeout=1m")
	const internal = `{"model": {"provider": "internal"}}`
	again := strings.Replace(tightened, `input.model.provider == "internal"`, `input.model.provider == "none"`, 1)
	require.NotEqual(t, tightened, again)
	n.must(t, again, "apply", "-f", "-")
	former := time.Now()
	eventually(t, func() bool {
		return strings.Contains(n.decide(t.Context(), "models/allow", internal), "unable to handle the request")
	}, "the gateways with former policies to end")
	assert.Less(t, time.Since(former), 90*time.Second)
	n.must(t, "", "apply", "-f", filepath.Join(samples, "secrets.yaml"))
	n.must(t, "", "wait", "--for=condition=Ready", "oci/production", "--namespace", gateways, "--timeout=2m")
	assert.Equal(t, `{"result":false}`, n.decide(t.Context(), "models/allow", internal))
	// Before the namespace, with which the manager's RoleBinding goes.
	n.must(t, "", "delete", "openclawinstances", "--all", "--namespace", gateways, "--timeout=2m")
	n.must(t, "", "delete", "namespace", gateways, "--timeout=2m")
}

// race is how long a tenant edits what gateways load.
const race = 20 * time.Second

// raceForPolicies is a tenant who may write ConfigMaps past admission, and puts one with a bundle that
// permits everything in the place of the gateways', while their Pods are replaced. No answer
// to an input that is denied is by that bundle.
func (n node) raceForPolicies(t *testing.T, input string) {
	var evil bytes.Buffer
	compressed := gzip.NewWriter(&evil)
	files := tar.NewWriter(compressed)
	const text = "package openclaw.enterprise.models\n\nallow := true\n"
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "evil.rego", Mode: 0o444, Size: int64(len(text))}))
	_, err := files.Write([]byte(text))
	require.NoError(t, errors.Join(err, files.Close(), compressed.Close()))

	// Admission denies such writes to all but Kubernetes' controllers: the signature must hold
	// without it.
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	require.NoError(t, err)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:kube-controller-manager", Groups: []string{"system:masters"}}
	tenant, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), race)
	defer cancel()
	planted := 0
	attack := inBackground(t, func() error {
		maps := tenant.CoreV1().ConfigMaps(gateways)
		for ctx.Err() == nil {
			deployment, err := tenant.AppsV1().Deployments(gateways).Get(ctx, "production-gateway", metav1.GetOptions{})
			if err != nil {
				continue // it ends with the race
			}
			name := deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Name
			_ = maps.Delete(ctx, name, metav1.DeleteOptions{})
			_, err = maps.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Immutable: new(planted%2 == 0), BinaryData: map[string][]byte{"bundle.tar.gz": evil.Bytes()},
			}, metav1.CreateOptions{})
			if err == nil {
				planted++
			}
		}
		return nil
	})
	pods := n.gatewayPods(t)
	n.must(t, "", "delete", "pod", pods[0], "--namespace", gateways, "--wait=false")
	answers := map[string]int{}
	for ctx.Err() == nil {
		answers[n.decide(ctx, "models/allow", input)]++
	}
	require.NoError(t, attack())
	t.Logf("%d planted ConfigMaps; %v", planted, answers)
	assert.Positive(t, planted)
	assert.Positive(t, answers[`{"result":false}`])
	assert.Zero(t, answers[`{"result":true}`])
	n.must(t, "", "wait", "--for=condition=Ready", "oci/production", "--namespace", gateways, "--timeout=3m")
	assert.Equal(t, `{"result":false}`, n.decide(t.Context(), "models/allow", input))
}

// gatewayPods are the names of the gateways that are not being deleted, in order.
func (n node) gatewayPods(t *testing.T) []string {
	t.Helper()
	names := strings.Fields(n.must(t, "", "get", "pods", "--namespace", gateways, "--field-selector=status.phase=Running", "-o",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}`))
	require.Len(t, names, 2)
	slices.Sort(names)
	return names
}
