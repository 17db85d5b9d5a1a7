// Package chart tests the Helm chart by Helm itself, against the manifests that it is
// made of and the manager that it starts.
package chart

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	folder    = "../../config/chart/lintel"
	namespace = "lintel-system"
)

// TestMain silences Helm, which logs each symbolic link, and runs tests side by side that wait
// for Pods rather than compute.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type objects []*unstructured.Unstructured

func (o objects) find(kind, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(o, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind && u.GetName() == name })
	if i < 0 {
		return nil
	}
	return o[i]
}

// names are kinds and names, in order.
func (o objects) names() []string {
	var names []string
	for _, u := range o {
		names = append(names, u.GetKind()+"/"+u.GetName())
	}
	slices.Sort(names)
	return names
}

// render is what helm template prints for values in YAML.
func render(t *testing.T, namespace, values string) (objects, error) {
	t.Helper()
	return renderFrom(t, folder, namespace, values)
}

// renderFrom is render for the chart in a folder or an archive.
func renderFrom(t *testing.T, from, namespace, values string) (objects, error) {
	t.Helper()
	installed, err := dryRun(t, from, namespace, values)
	if err != nil {
		return nil, err
	}
	return decode(t, []byte(installed.Manifest)), nil
}

// dryRun is the release that helm install would make.
func dryRun(t *testing.T, from, namespace, values string) (*release.Release, error) {
	t.Helper()
	chart, err := loader.Load(from)
	require.NoError(t, err)
	given := map[string]any{}
	require.NoError(t, sigsyaml.Unmarshal([]byte(values), &given))
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace = "mine", namespace
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	installed, err := install.RunWithContext(t.Context(), chart, given)
	if err != nil {
		return nil, err
	}
	return installed.(*release.Release), nil
}

func decode(t *testing.T, text []byte) objects {
	t.Helper()
	var all objects
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		if len(u.Object) > 0 {
			all = append(all, u)
		}
	}
}

func TestLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, namespace
	result := lint.Run([]string{folder}, nil)
	assert.Empty(t, result.Errors)
	assert.Equal(t, 1, result.TotalChartsLinted)
}

// The chart and the manifests for kubectl apply -k are one thing: they differ in nothing
// but what a chart adds.
func TestIsWhatKustomizeBuilds(t *testing.T) {
	want := kustomize(t, "default")
	got, err := render(t, namespace, `{crds: {keep: false}}`)
	require.NoError(t, err)

	for _, u := range want {
		if u.GetKind() == "Namespace" {
			continue // helm install --create-namespace
		}
		found := got.find(u.GetKind(), u.GetName())
		if !assert.NotNil(t, found, "%s %s", u.GetKind(), u.GetName()) {
			continue
		}
		for _, o := range []*unstructured.Unstructured{u, found} {
			labels := o.GetLabels()
			delete(labels, "helm.sh/chart")
			if o.GetKind() == "CustomResourceDefinition" {
				labels = nil
			}
			o.SetLabels(labels)
			if o.GetKind() == "Deployment" {
				containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
				require.NoError(t, err)
				container := containers[0].(map[string]any)
				container["imagePullPolicy"] = cmp.Or(container["imagePullPolicy"], "IfNotPresent") // the default of tags
				require.NoError(t, unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"))
			}
		}
		assert.Equal(t, asYAML(t, u), asYAML(t, found))
	}
	for _, name := range got.names() {
		if name != "ClusterRole/lintel-policy-view" { // config/rbac/users
			assert.Contains(t, want.names(), name)
		}
	}
}

// TestUserRolesAreThoseOfTheChart: the folder for kustomize adds to view alone, as the chart does
// by default.
func TestUserRolesAreThoseOfTheChart(t *testing.T) {
	got, err := render(t, namespace, `{systems: {openclaw: {enabled: true}}, gatekeeper: {enabled: true}}`)
	require.NoError(t, err)
	levels := func(u *unstructured.Unstructured) (levels []string) {
		for label := range u.GetLabels() {
			if level, found := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); found {
				levels = append(levels, level)
			}
		}
		return levels
	}
	compared := 0
	for _, role := range kustomize(t, "rbac/users") {
		if strings.HasSuffix(role.GetName(), "-view") {
			require.Equal(t, []string{"view"}, levels(role), role.GetName())
		} else {
			require.Empty(t, levels(role), role.GetName())
		}
		if of := got.find("ClusterRole", role.GetName()); of != nil {
			require.ElementsMatch(t, levels(of), levels(role), role.GetName())
			require.Equal(t, of.Object["rules"], role.Object["rules"])
			compared++
		}
	}
	require.Greater(t, compared, 4)
}

// kustomize are the objects of a folder of config.
func kustomize(t *testing.T, overlay string) objects {
	t.Helper()
	build := exec.Command("go", "tool", "-modfile=.tools/go.mod", "kustomize", "build", "config/"+overlay)
	build.Dir = "../.."
	text, err := build.Output()
	require.NoError(t, err)
	return decode(t, text)
}

// An overlay for a system brings the kinds that the chart does, and no others.
func TestOverlaysBringTheirOwnKinds(t *testing.T) {
	for _, system := range []string{"openclaw", "openzro", "orloj", "zopp"} {
		got, err := render(t, namespace, "{systems: {"+system+": {enabled: true}}}")
		require.NoError(t, err)
		kinds := func(all objects) []string {
			return slices.DeleteFunc(all.names(), func(name string) bool { return !strings.HasPrefix(name, "CustomResourceDefinition/") })
		}
		want := kinds(kustomize(t, system))
		assert.NotEmpty(t, want)
		assert.Equal(t, want, kinds(got), system)
	}
}

func asYAML(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := sigsyaml.Marshal(u.Object)
	require.NoError(t, err)
	return string(text)
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name, values     string
		present, missing []string
		// text is part of the object that present names first.
		text []string
	}{
		{
			name: "nothing but Lintel", values: `{}`,
			present: []string{"Deployment/lintel-manager", "CustomResourceDefinition/policysources.policy.lintel.dev", "Certificate/lintel-serving", "PodDisruptionBudget/lintel-manager"},
			missing: []string{"CustomResourceDefinition/agents.orloj.dev", "ClusterRole/openclaw-operator-manager-role", "ClusterRole/lintel-gatekeeper", "NetworkPolicy/lintel-manager", "PodMonitor/lintel"},
			text:    []string{"image: lintel-manager:dev", "replicas: 2", "memory: 1Gi", "namespace: elsewhere"},
		},
		{
			name: "OpenClaw", values: `{systems: {openclaw: {enabled: true, imageRegistries: [a.example, b.example], rootNamespace: root}}}`,
			present: []string{"Deployment/lintel-manager", "CustomResourceDefinition/policybundles.openclaw.enterprise.io", "ClusterRoleBinding/openclaw-operator-manager-rolebinding"},
			missing: []string{"CustomResourceDefinition/agents.orloj.dev", "ServiceAccount/openclaw-operator"},
			text:    []string{"--systems=openclaw\n", "--openclaw-image-registries=a.example,b.example", "--openclaw-max-replicas=20", "--openclaw-root-namespace=root"},
		},
		{
			name: "OpenClaw in namespaces", values: `{systems: {openclaw: {enabled: true, namespaces: [a, b], rootNamespace: root}}}`,
			present: []string{"RoleBinding/openclaw-operator-manager-rolebinding", "ClusterRole/openclaw-operator-manager-role", "Deployment/lintel-manager"},
			missing: []string{"ClusterRoleBinding/openclaw-operator-manager-rolebinding"},
			text:    []string{"namespace: b", "namespace: root", "namespace: elsewhere"},
		},
		{
			name: "two systems", values: `{systems: {orloj: {enabled: true, secretName: s}, openvox: {enabled: true}}}`,
			present: []string{"Deployment/lintel-manager", "CustomResourceDefinition/agents.orloj.dev", "CustomResourceDefinition/certificates.openvox.voxpupuli.org", "ClusterRoleBinding/openvox-operator-authorities-rolebinding"},
			missing: []string{"CustomResourceDefinition/policybundles.openclaw.enterprise.io", "ClusterRole/openvox-operator-approver"},
			text:    []string{"--systems=openvox,orloj", "name: ORLOJ_POSTGRES_DSN", "--orloj-namespace-mapping=Restricted"},
		},
		{
			name: "OpenVox in namespaces", values: `{systems: {openvox: {enabled: true, namespaces: [a, b]}}}`,
			present: []string{"RoleBinding/openvox-operator-manager-rolebinding", "RoleBinding/openvox-operator-authorities-rolebinding", "ClusterRoleBinding/openvox-operator-requests-rolebinding", "Deployment/lintel-manager"},
			missing: []string{"ClusterRoleBinding/openvox-operator-manager-rolebinding", "ClusterRoleBinding/openvox-operator-authorities-rolebinding"},
			text:    []string{"namespace: a", "namespace: elsewhere"},
		},
		{
			name: "Orloj in namespaces", values: `{systems: {orloj: {enabled: true, namespaces: [a, b]}}}`,
			present: []string{"RoleBinding/orloj-operator", "ClusterRole/orloj-operator", "Deployment/lintel-manager"},
			missing: []string{"ClusterRoleBinding/orloj-operator"},
			text:    []string{"namespace: b", "namespace: elsewhere"},
		},
		{
			name: "zopp", values: `{systems: {zopp: {enabled: true}}}`,
			present: []string{"Deployment/lintel-manager", "ClusterRole/zopp-operator", "ClusterRoleBinding/zopp-operator"},
			missing: []string{"CustomResourceDefinition/zoppsecretsyncs.zopp.dev", "ClusterRole/zopp-secret-syncs", "ClusterRole/zopp-reload", "RoleBinding/zopp-operator"},
			text: []string{
				"--systems=zopp\n", "--zopp-server=http://zopp-server.zopp.svc:50051", "--zopp-namespace-mapping=Restricted",
				"--zopp-credentials=/etc/zopp/credentials.json", "mountPath: /etc/zopp\n", "secretName: zopp-credentials", "optional: true",
			},
		},
		{
			name: "all of zopp", values: `{systems: {zopp: {enabled: true, secretSyncs: true, reload: true, server: "https://zopp:50051", caSecretName: zopp-ca, credentialsSecretName: keys, namespaceMapping: Open}}}`,
			present: []string{"Deployment/lintel-manager", "CustomResourceDefinition/zoppsecretsyncs.zopp.dev", "ClusterRoleBinding/zopp-secret-syncs", "ClusterRoleBinding/zopp-reload"},
			text:    []string{"--zopp-secret-syncs", "--zopp-reload", "--zopp-tls-ca-cert=/etc/zopp-ca/ca.crt", "secretName: zopp-ca", "secretName: keys", "--zopp-namespace-mapping=Open"},
		},
		{
			name: "zopp in namespaces", values: `{systems: {zopp: {enabled: true, reload: true, namespaces: [a, b]}}}`,
			present: []string{"RoleBinding/zopp-operator", "RoleBinding/zopp-reload", "ClusterRole/zopp-operator", "Deployment/lintel-manager"},
			missing: []string{"ClusterRoleBinding/zopp-operator", "ClusterRoleBinding/zopp-reload", "ClusterRole/zopp-secret-syncs"},
			text:    []string{"namespace: b", "namespace: elsewhere"},
		},
		{
			name: "openZro", values: `{systems: {openzro: {enabled: true, managementURL: "https://openzro.example", secretName: s, defaultNamespaces: [a, "team-*"], autoGroups: ["a=Servers, all", b=*], adoptions: ["a=Servers, all"], expose: ["a=Servers, all"], dnsZones: [a=*.example], podTemplates: [a, "b-*"], sidecarProfiles: [a, "c-*"], clientImage: client:1, clusterName: east}}}`,
			present: []string{"Deployment/lintel-manager", "CustomResourceDefinition/ozgroups.openzro.io", "ClusterRoleBinding/openzro-operator"},
			missing: []string{"CustomResourceDefinition/agents.orloj.dev", "RoleBinding/openzro-operator"},
			text: []string{
				"--systems=openzro\n", "--openzro-management-url=https://openzro.example\n", "--openzro-api-key-file=/etc/lintel/openzro/OZ_API_KEY\n",
				"--openzro-default-namespaces=a,team-*\n", "--openzro-auto-groups=a=Servers, all\n", "--openzro-auto-groups=b=*\n", "--openzro-adoptions=a=Servers, all\n", "--openzro-expose=a=Servers, all\n", "--openzro-dns-zones=a=*.example\n", "--openzro-pod-templates=a,b-*\n", "--openzro-sidecar-profiles=a,c-*\n", "--openzro-client-image=client:1\n", "--openzro-cluster-name=east\n", "secretName: s\n", "mountPath: /etc/lintel/openzro\n",
			},
		},
		{
			name: "openZro in namespaces, with keys of their own", values: `{systems: {openzro: {enabled: true, namespaces: [a, b], secretName: ""}}}`,
			present: []string{"RoleBinding/openzro-operator", "ClusterRole/openzro-operator", "Deployment/lintel-manager"},
			missing: []string{"ClusterRoleBinding/openzro-operator"},
			text:    []string{"namespace: b", "namespace: elsewhere"},
		},
		{
			name: "external CAs", values: `{systems: {openvox: {enabled: true, externalOnly: true, approveRequests: true}}}`,
			present: []string{"Deployment/lintel-manager", "ClusterRole/openvox-operator-approver", "ClusterRoleBinding/openvox-operator-manager-rolebinding"},
			missing: []string{"ClusterRole/openvox-operator-authorities-role", "ClusterRoleBinding/openvox-operator-authorities-rolebinding"},
			text:    []string{"--openvox-external-only", "--openvox-approve-requests"},
		},
		{
			name: "Gatekeeper", values: `{gatekeeper: {enabled: true, crds: true}}`,
			present: []string{"ValidatingAdmissionPolicy/lintel-gatekeeper", "CustomResourceDefinition/constrainttemplates.templates.gatekeeper.sh", "ClusterRoleBinding/lintel-gatekeeper", "Deployment/lintel-manager"},
			text:    []string{"endsWith(\":lintel-manager\")"},
		},
		{
			name: "limits of a manager that is called by URL", values: `{flags: {webhook-url: "https://lintel.example:9443/"}}`,
			present: []string{"ValidatingAdmissionPolicy/lintel-manager-webhooks", "ValidatingAdmissionPolicyBinding/lintel-manager-webhooks", "ValidatingAdmissionPolicy/lintel-manager-workloads", "ValidatingAdmissionPolicy/lintel-manager-tokens"},
			text:    []string{"endsWith(\":lintel-manager\")", `expression: '"https://lintel.example:9443/"'`},
		},
		{
			name: "roles of users", values: `{systems: {openclaw: {enabled: true}}}`,
			present: []string{"ClusterRole/lintel-openclaw-view", "ClusterRole/lintel-openclaw-edit", "ClusterRole/lintel-openclaw-admin", "ClusterRole/lintel-policy-view"},
			missing: []string{"ClusterRole/lintel-orloj-view", "ClusterRole/lintel-gatekeeper-view"},
			text:    []string{"aggregate-to-view"},
		},
		{
			name: "roles of users, aggregated to admin only", values: `{systems: {openclaw: {enabled: true}}, userRoles: {aggregateTo: [admin]}, gatekeeper: {enabled: true}}`,
			present: []string{"ClusterRole/lintel-openclaw-admin", "ClusterRole/lintel-gatekeeper-view"},
			text:    []string{"aggregate-to-admin", "policybundles"},
		},
		{
			name: "a certificate of one's own", values: `{certificate: {certManager: false, secretName: pair}}`,
			present: []string{"Deployment/lintel-manager"},
			missing: []string{"Certificate/lintel-serving", "Issuer/lintel-ca", "Certificate/lintel-ca", "Issuer/lintel-selfsigned"},
			text:    []string{"secretName: pair"},
		},
		{
			name: "no CRDs", values: `{crds: {install: false}, systems: {orloj: {enabled: true}}}`,
			present: []string{"Deployment/lintel-manager"},
			missing: []string{"CustomResourceDefinition/policysources.policy.lintel.dev", "CustomResourceDefinition/agents.orloj.dev"},
		},
		{
			name: "a Pod's", values: `
image: {repository: registry.example/lintel-manager, digest: "sha256:` + strings.Repeat("0", 64) + `", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
replicas: 3
flags: {decision-log: all, excluded-namespaces: [a, b], drain: 7s, decision-log-sample: 0.5}
env: [{name: HTTPS_PROXY, value: "http://proxy.example:3128"}]
resources: {limits: {memory: 600Mi}}
podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}
podLabels: {team: platform}
nodeSelector: {disk: ssd}
tolerations: [{operator: Exists}]
priorityClassName: system-cluster-critical
`,
			present: []string{"Deployment/lintel-manager"},
			text: []string{
				"image: registry.example/lintel-manager@sha256:0000", "imagePullPolicy: Always", "- name: registry", "replicas: 3",
				"--decision-log=all", "--excluded-namespaces=a,b", "--drain=7s", "--decision-log-sample=0.5", "name: HTTPS_PROXY", "memory: 600Mi",
				"team: platform", "disk: ssd", "operator: Exists", "priorityClassName: system-cluster-critical", "runAsNonRoot: true",
			},
		},
		{
			name: "records", values: `{record: {claimName: records, sample: ["other=0.01", "teams/images:denied=0.5"], maxAge: 24h, maxBytes: 20000000000}}`,
			present: []string{"Deployment/lintel-manager"},
			text: []string{
				"--record=file:///var/lib/lintel/records", "--record-sample=other=0.01,teams/images:denied=0.5", "--record-max-age=24h", "--record-max-bytes=20000000000",
				"claimName: records", "mountPath: /var/lib/lintel/records",
			},
		},
		{
			name: "records in an object store", values: `{image: {repository: registry.example/lintel-manager, tag: v1}, record: {url: "s3://audit/lintel?region=eu-central-1", maxAge: 24h, uploader: {env: [{name: AWS_REGION, value: eu}]}}}`,
			present: []string{"Deployment/lintel-manager"},
			text: []string{
				"--record=file:///var/lib/lintel/records", "--record-spool", "--record-max-bytes=268435456", "sizeLimit: \"536870912\"", "image: registry.example/lintel:v1",
				"name: record-uploader", "--to=s3://audit/lintel?region=eu-central-1", "--max-age=24h", "name: AWS_REGION",
			},
		},
		{
			name: "network", values: `{networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}}`,
			present: []string{"NetworkPolicy/lintel-manager"}, text: []string{"name: monitoring", "port: webhook", "namespace: elsewhere", "policyTypes:\n  - Ingress\n"},
		},
		{
			name: "egress", values: `{networkPolicy: {enabled: true, egress: [{ports: [{port: 6443}]}]}}`,
			present: []string{"NetworkPolicy/lintel-manager"}, text: []string{"policyTypes:\n  - Ingress\n  - Egress", "egress:\n  - ports:\n    - port: 6443"},
		},
		{
			name: "monitoring", values: `{serviceMonitor: {enabled: true, labels: {release: prometheus}}, prometheusRule: {enabled: true}, dashboard: {enabled: true}}`,
			present: []string{"PodMonitor/lintel", "PrometheusRule/lintel", "ConfigMap/lintel-dashboard"}, text: []string{"release: prometheus"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(t, "elsewhere", tt.values)
			require.NoError(t, err)
			for _, name := range tt.present {
				assert.Contains(t, got.names(), name)
			}
			for _, name := range tt.missing {
				assert.NotContains(t, got.names(), name)
			}
			kind, name, _ := strings.Cut(tt.present[0], "/")
			text := ""
			for _, u := range got {
				if u.GetKind() == kind && u.GetName() == name {
					text += asYAML(t, u)
				}
				assert.NotEqual(t, namespace, u.GetNamespace(), "%s %s", u.GetKind(), u.GetName())
				subjects, _, err := unstructured.NestedSlice(u.Object, "subjects")
				require.NoError(t, err)
				for _, subject := range subjects {
					assert.Equal(t, map[string]any{"kind": "ServiceAccount", "name": "lintel-manager", "namespace": "elsewhere"}, subject)
				}
			}
			for _, line := range tt.text {
				assert.Contains(t, text, line)
			}
		})
	}
}

func TestOpenShiftChoosesTheUser(t *testing.T) {
	got, err := render(t, "elsewhere", `{podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}`)
	require.NoError(t, err)
	text := asYAML(t, got.find("Deployment", "lintel-manager"))
	assert.NotContains(t, text, "runAsUser")
	assert.NotContains(t, text, "fsGroup")
	assert.Contains(t, text, "runAsNonRoot: true")
}

// TestValuesOfAnEarlierVersion: helm upgrade --reuse-values gives none of the new values.
func TestValuesOfAnEarlierVersion(t *testing.T) {
	objects, err := render(t, namespace, `{systems: {openclaw: {enabled: true, maxReplicas: null, policyDeadline: null}}, userRoles: null, record: null}`)
	require.NoError(t, err)
	args, _, err := unstructured.NestedSlice(objects.find("Deployment", "lintel-manager").Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(args), "--systems=openclaw")
	assert.NotContains(t, fmt.Sprint(args), "--openclaw-")
}

func TestNotesNameSystemsThatMakeAnAdministrator(t *testing.T) {
	for _, tt := range []struct{ values, want string }{
		{`{}`, ""},
		{`{systems: {orloj: {enabled: true}, zopp: {enabled: true, namespaces: [a]}}}`, ""},
		{`{systems: {openclaw: {enabled: true, namespaces: [a]}}}`, ""},
		{`{systems: {openclaw: {enabled: true}}}`, "In effect, openclaw makes the manager"},
		{`{systems: {openclaw: {enabled: true}, openzro: {enabled: true, namespaces: [a]}, zopp: {enabled: true}}}`, "In effect, openclaw, zopp make the manager"},
	} {
		installed, err := dryRun(t, folder, namespace, tt.values)
		require.NoError(t, err)
		if tt.want == "" {
			assert.NotContains(t, installed.Info.Notes, "In effect")
		} else {
			assert.Contains(t, installed.Info.Notes, tt.want)
		}
	}
}

func TestNotesSayWhoMayReadZopp(t *testing.T) {
	for _, tt := range []struct{ values, want string }{
		{`{systems: {zopp: {enabled: true}}}`, "kubectl annotate namespace NAMESPACE zopp.dev/allowed-sources="},
		{`{systems: {zopp: {enabled: true, namespaceMapping: Open}}}`, "systems.zopp.namespaceMapping is Open"},
	} {
		installed, err := dryRun(t, folder, namespace, tt.values)
		require.NoError(t, err)
		assert.Contains(t, installed.Info.Notes, tt.want)
	}
}

func TestWhatContradictsItselfIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, values, problem string }{
		{"two certificates", `{certificate: {certManager: true, secretName: pair}}`, "certificate.secretName requires certificate.certManager=false"},
		{"none", `{certificate: {certManager: false}}`, "certificate.certManager=false requires certificate.secretName"},
		{"approval in namespaces", `{systems: {openvox: {enabled: true, namespaces: [a], approveRequests: true}}}`, "reviews requests of the whole cluster"},
		{"kinds that nobody looks after", `{gatekeeper: {crds: true}}`, "gatekeeper.crds requires gatekeeper.enabled=true"},
		{"a server that is none", `{systems: {openzro: {enabled: true, managementURL: openzro.example}}}`, "managementURL"},
		{"a flag that is a value", `{flags: {systems: orloj}}`, "flags.systems: the chart sets this flag"},
		{"a value that is none", `{replicaCount: 2}`, "replicaCount"},
		{"a system that is none", `{systems: {puppet: {enabled: true}}}`, "puppet"},
		{"a server without a scheme", `{systems: {zopp: {enabled: true, server: "zopp:50051"}}}`, "server"},
		{"no replica", `{replicas: 0}`, "replicas"},
		{"too little memory", `{resources: {limits: {memory: 64Mi}}}`, "must be at least 256Mi"},
		{"memory in words", `{resources: {limits: {memory: lots}}}`, "must be a whole number of Mi or Gi"},
		{"no memory limit", `{resources: {limits: {memory: null}}}`, "memory"},
		{"a digest that is none", `{image: {digest: "sha256:1"}}`, "digest"},
		{"a budget that lets nothing go", `{podDisruptionBudget: {maxUnavailable: 0}}`, "maxUnavailable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := render(t, namespace, tt.values)
			require.ErrorContains(t, err, tt.problem)
		})
	}
}

func TestOldClustersAreRefused(t *testing.T) {
	chart, err := loader.Load(folder)
	require.NoError(t, err)
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace = "mine", namespace
	install.KubeVersion = &common.KubeVersion{Version: "v1.27.4", Major: "1", Minor: "27"}
	_, err = install.RunWithContext(t.Context(), chart, nil)
	require.ErrorContains(t, err, ">=1.30.0-0")
}

// The manager knows each flag that the chart gives it.
func TestManagerTakesTheFlags(t *testing.T) {
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.Command("go", "build", "-o", manager, "./cmd/manager")
	build.Dir = "../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	got, err := render(t, namespace, `
systems:
  openclaw: {enabled: true, namespaces: [a, b], imageRegistries: [a.example], rootNamespace: root, policyDeadline: 2m}
  openvox: {enabled: true, namespaces: [a], externalOnly: true}
  openzro: {enabled: true, namespaces: [a]}
  orloj: {enabled: true, namespaces: [a, b]}
  zopp: {enabled: true, namespaces: [a, b], secretSyncs: true, reload: true, caSecretName: ca}
gatekeeper: {enabled: true}
record: {url: "s3://audit", sample: ["other=0.01"], maxAge: 0s, maxBytes: 0}
flags: {decision-log: all, drain: 7s}
`)
	require.NoError(t, err)
	containers, _, err := unstructured.NestedSlice(got.find("Deployment", "lintel-manager").Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	require.NoError(t, err)
	assert.Contains(t, args, "--orloj-namespaces=a,b")
	out, err = exec.Command(manager, append(args, "--help")...).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command(manager, "--no-such-flag", "--help").CombinedOutput()
	require.Error(t, err, string(out))
}
