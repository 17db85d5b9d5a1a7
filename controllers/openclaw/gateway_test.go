package openclaw

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

func built[T any](t *testing.T, configuration any) *T {
	t.Helper()
	text, err := json.Marshal(configuration)
	require.NoError(t, err)
	out := new(T)
	require.NoError(t, json.Unmarshal(text, out))
	return out
}

func builtDeployment(t *testing.T, instance *v1.OpenClawInstance) *appsv1.Deployment {
	t.Helper()
	return built[appsv1.Deployment](t, deployment(gateway{
		instance: instance, images: images{GatewayImage, SidecarImage}, signed: signedSample("p"), config: "c"}))
}

// signedSample is a signed revision.
func signedSample(revision string) *signedPolicies {
	return &signedPolicies{Signed: sidecar.Signed{Bundle: []byte("x"), KeyID: "key-" + revision, PublicKey: "public " + revision},
		Revision: revision, Scope: "ns/production/uid", ConfigMap: "production-gateway-policies-" + revision}
}

func TestDeployment(t *testing.T) {
	d := builtDeployment(t, sampleInstance(t))
	labels := map[string]string{
		"app.kubernetes.io/name":       "openclaw-enterprise",
		"app.kubernetes.io/instance":   "production",
		"app.kubernetes.io/managed-by": "openclaw-operator",
		"app.kubernetes.io/component":  "gateway",
	}
	require.Equal(t, "production-gateway", d.Name)
	require.Equal(t, labels, d.Labels)
	require.Equal(t, labels, d.Spec.Selector.MatchLabels)
	require.Equal(t, labels, d.Spec.Template.Labels)
	require.Equal(t, "instance-uid", string(metav1.GetControllerOf(d).UID))
	require.Equal(t, map[string]string{
		"openclaw.enterprise.io/config-hash": "c", "openclaw.enterprise.io/policies-hash": "p",
	}, d.Spec.Template.Annotations)
	require.Len(t, d.Spec.Template.Spec.Containers, 2)

	gateway, sidecar := d.Spec.Template.Spec.Containers[0], d.Spec.Template.Spec.Containers[1]
	require.Equal(t, "gateway", gateway.Name)
	require.Equal(t, GatewayImage, gateway.Image)
	require.Equal(t, []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}}, gateway.Ports)
	require.Equal(t, map[string]string{
		"DATABASE_URL":               "openclaw-postgres-secret/connection-string",
		"REDIS_URL":                  "openclaw-redis-secret/connection-string",
		"SSO_PROVIDER":               "okta",
		"SSO_CLIENT_ID":              "0oa1b2c3d4e5f6g7h8i9",
		"SSO_CLIENT_SECRET":          "openclaw-sso-secret/client-secret",
		"OPA_URL":                    "http://localhost:8181",
		"OPENCLAW_INTEGRATIONS_FILE": "/etc/openclaw/integrations.json",
	}, variables(gateway))
	requireProbe(t, gateway.LivenessProbe, "/healthz", "http", 15, 20)
	requireProbe(t, gateway.ReadinessProbe, "/readyz", "http", 5, 10)
	requireResources(t, gateway, "250m 256Mi 1 512Mi")

	require.Equal(t, "opa-sidecar", sidecar.Name)
	require.Equal(t, "openpolicyagent/opa:1.4.2-static", sidecar.Image)
	require.Equal(t, []string{"run", "--server",
		"--set=bundles.policies.resource=file:///policies/bundle.tar.gz",
		"--set=bundles.policies.signing.keyid=key-p", "--set=bundles.policies.signing.scope=ns/production/uid",
		"--set=keys.key-p.algorithm=ES256", "--set=keys.key-p.key=public p",
		"--addr=localhost:8181", "--diagnostic-addr=0.0.0.0:8282", "--log-level=info"}, sidecar.Args, "the API is reachable from the Pod only")
	require.Equal(t, []corev1.ContainerPort{
		{Name: "opa", ContainerPort: 8181, Protocol: "TCP"}, {Name: "health", ContainerPort: 8282, Protocol: "TCP"},
	}, sidecar.Ports)
	requireProbe(t, sidecar.LivenessProbe, "/health?bundles", "health", 5, 15)
	requireProbe(t, sidecar.ReadinessProbe, "/health?bundles", "health", 0, 5)
	requireResources(t, sidecar, "100m 128Mi 500m 256Mi")
	require.Equal(t, []corev1.VolumeMount{{Name: "opa-policies", MountPath: "/policies", ReadOnly: true}}, sidecar.VolumeMounts)
	require.Equal(t, "production-gateway-policies-p", d.Spec.Template.Spec.Volumes[0].ConfigMap.Name)
	require.Equal(t, "production-gateway-config", d.Spec.Template.Spec.Volumes[1].ConfigMap.Name)
}

func variables(container corev1.Container) map[string]string {
	out := map[string]string{}
	for _, variable := range container.Env {
		out[variable.Name] = variable.Value
		if from := variable.ValueFrom; from != nil {
			out[variable.Name] = from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
		}
	}
	return out
}

func requireProbe(t *testing.T, probe *corev1.Probe, path, port string, delay, period int32) {
	t.Helper()
	require.Equal(t, path, probe.HTTPGet.Path)
	require.Equal(t, port, probe.HTTPGet.Port.String())
	require.Equal(t, delay, probe.InitialDelaySeconds)
	require.Equal(t, period, probe.PeriodSeconds)
}

func requireResources(t *testing.T, container corev1.Container, want string) {
	t.Helper()
	r := container.Resources
	require.Equal(t, want, fmt.Sprint(r.Requests.Cpu(), " ", r.Requests.Memory(), " ", r.Limits.Cpu(), " ", r.Limits.Memory()))
}

func TestPodsAreHardened(t *testing.T) {
	spec := builtDeployment(t, sampleInstance(t)).Spec.Template.Spec
	require.False(t, *spec.AutomountServiceAccountToken)
	require.True(t, *spec.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type)
	for _, container := range spec.Containers {
		c := container.SecurityContext
		require.True(t, *c.RunAsNonRoot, container.Name)
		require.Positive(t, *c.RunAsUser, container.Name)
		require.False(t, *c.AllowPrivilegeEscalation, container.Name)
		require.True(t, *c.ReadOnlyRootFilesystem, container.Name)
		require.Equal(t, []corev1.Capability{"ALL"}, c.Capabilities.Drop, container.Name)
	}
}

func TestModes(t *testing.T) {
	instance := sampleInstance(t)
	d := builtDeployment(t, instance)
	require.EqualValues(t, 3, *d.Spec.Replicas)
	var keys []string
	for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, spread.TopologyKey)
		require.Equal(t, corev1.ScheduleAnyway, spread.WhenUnsatisfiable)
	}
	require.Equal(t, []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}, keys)

	instance.Spec.DeploymentMode = v1.DeploymentModeSingle
	d = builtDeployment(t, instance)
	require.EqualValues(t, 1, *d.Spec.Replicas, "replicas are ignored")
	require.Empty(t, d.Spec.Template.Spec.TopologySpreadConstraints)
}

func TestService(t *testing.T) {
	s := built[corev1.Service](t, service(sampleInstance(t)))
	require.Equal(t, "production-gateway", s.Name)
	require.Equal(t, corev1.ServiceTypeClusterIP, s.Spec.Type)
	require.Len(t, s.Spec.Ports, 1)
	require.EqualValues(t, 80, s.Spec.Ports[0].Port)
	require.Equal(t, "http", s.Spec.Ports[0].TargetPort.String())
	require.Equal(t, gatewayLabels("production"), s.Spec.Selector)
}

func TestDisruptionBudget(t *testing.T) {
	b := built[policyv1.PodDisruptionBudget](t, disruptionBudget(sampleInstance(t)))
	require.Equal(t, "production-gateway", b.Name)
	require.Equal(t, 1, b.Spec.MaxUnavailable.IntValue())
	require.Equal(t, gatewayLabels("production"), b.Spec.Selector.MatchLabels)
}

func TestIntegrations(t *testing.T) {
	instance := sampleInstance(t)
	instance.Spec.Integrations[0] = v1.Integration{Type: "gmail"}
	data, err := integrationsData(instance)
	require.NoError(t, err)
	var list []v1.Integration
	require.NoError(t, json.Unmarshal([]byte(data["integrations.json"]), &list))
	require.Len(t, list, 5)
	require.True(t, *list[0].Enabled, "unless it says no")
	require.Equal(t, map[string]string{"baseUrl": "https://company.atlassian.net"}, list[2].Config)

	instance.Spec.Integrations = nil
	data, err = integrationsData(instance)
	require.NoError(t, err)
	require.JSONEq(t, "[]", data["integrations.json"])
}
