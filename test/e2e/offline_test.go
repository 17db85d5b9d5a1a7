package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"

	controllers "github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/test/installation"
)

// offline runs the command line without a cluster.
func offline(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), args...)
	text, err := command.CombinedOutput()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err, string(text))
	}
	return string(text), command.ProcessState.ExitCode()
}

// policyFolder writes one policy as the source that applySource applies.
func policyFolder(t *testing.T, rego string) string {
	t.Helper()
	folder := t.TempDir()
	mustWrite(t, filepath.Join(folder, "policy.rego"), rego)
	return folder
}

// checked is what lintel check says of one object: its messages, and the exit code.
func checked(t *testing.T, folder, name, object string) (messages []string, code int) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "object.json")
	mustWrite(t, manifest, object)
	output, code := offline(t, "check", "-p", folder, "--name", name, "-f", manifest, "-o", "json")
	var report struct {
		Results []struct {
			Deny, Warn []struct{ Msg string }
			Undecided  []struct{ Reason string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(output), &report), output)
	for _, found := range append(report.Results[0].Deny, report.Results[0].Warn...) {
		messages = append(messages, found.Msg)
	}
	for _, undecided := range report.Results[0].Undecided {
		messages = append(messages, undecided.Reason)
	}
	return messages, code
}

func autoscaler(namespace, version, spec string) string {
	return `{"apiVersion":"autoscaling/` + version + `","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","namespace":"` + namespace + `"},
		"spec":{"maxReplicas":3,"minReplicas":2,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}` + spec + `}}`
}

// TestVersionsOfflineAreTheClusters: policies see the same fields of an object that the API
// server converts as of an object without a cluster.
func TestVersionsOfflineAreTheClusters(t *testing.T) {
	t.Parallel()
	const target = `,"targetCPUUtilizationPercentage":50`
	const metric = `,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]`
	namespace := newNamespace(t)
	seen := "package versions\nimport rego.v1\ndeny contains json.marshal([input.request.kind, input.request.requestKind, input.request.resource, input.request.object.spec])"
	for name, c := range map[string]struct {
		kind, rego, version, spec string
	}{
		"v1 in the preferred version": {`{group: autoscaling, kind: HorizontalPodAutoscaler}`, seen, "v1", target},
		"v1 without a target":         {`{group: autoscaling, kind: HorizontalPodAutoscaler}`, seen, "v1", ""},
		"v2 as it is":                 {`{group: autoscaling, kind: HorizontalPodAutoscaler}`, seen, "v2", metric},
		"v1 as it is":                 {`{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}`, seen, "v1", target},
		"v2 in v1":                    {`{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}`, seen, "v2", metric},
		"v2 in v1 without metrics":    {`{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}`, seen, "v2", ""},
		"a field that is gone": {`{group: autoscaling, kind: HorizontalPodAutoscaler}`,
			"package versions\nimport rego.v1\ndeny contains \"old\" if input.request.object.spec.targetCPUUtilizationPercentage", "v1", target},
	} {
		t.Run(name, func(t *testing.T) {
			rego := inNamespace(namespace, c.kind, c.rego)
			applySource(t, "versions", rego, nil)
			output, ok := kubectl(t, autoscaler(namespace, c.version, c.spec), "create", "--dry-run=server", "-f", "-")

			messages, code := checked(t, policyFolder(t, rego), "versions", autoscaler(namespace, c.version, c.spec))
			require.Equal(t, ok, code == 0, "%s%v", output, messages)
			require.Equal(t, !ok, len(messages) == 1, messages)
			for _, message := range messages {
				require.Contains(t, output, message)
			}

			manifest := filepath.Join(t.TempDir(), "object.json")
			mustWrite(t, manifest, autoscaler(namespace, c.version, c.spec))
			live, code := lintelProgram(t, "why", "--live", "-f", manifest)
			require.Equal(t, ok, code == 0, live)
		})
	}
}

// TestWhyReadsObjectsInTheVersionOfThePolicies: what lintel itself cannot convert, the
// API server converts.
func TestWhyReadsObjectsInTheVersionOfThePolicies(t *testing.T) {
	namespace := newNamespace(t)
	mustKubectl(t, autoscaler(namespace, "v2", `,"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":50}}}]`), "create", "-f", "-")
	applySource(t, "versions-live", inNamespace(namespace, `{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}`,
		"package versions\nimport rego.v1\ndeny contains input.request.object.metadata.annotations[\"autoscaling.alpha.kubernetes.io/metrics\"]"), nil)
	output, code := lintelProgram(t, "why", "--live", "hpa/web", "-n", namespace)
	require.Equal(t, 1, code, output)
	require.Contains(t, output, `"targetAverageUtilization":50`)
	require.Contains(t, output, "as         autoscaling/v1, to which the API server converts it for the policies")
}

// TestFieldsOfflineAreTheClusters: what the API server refuses by itself, check refuses
// in its words.
func TestFieldsOfflineAreTheClusters(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	folder := policyFolder(t, inNamespace(namespace, configMapKind, "package fields\nimport rego.v1\ndeny contains \"never\" if input.name == \"none\""))
	object := func(apiVersion, kind, rest string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"fields","namespace":"` + namespace + `"}` + rest + `}`
	}
	for name, object := range map[string]string{
		"an unknown field of Kubernetes":  object("v1", "ConfigMap", `,"date":{}`),
		"two, deeper":                     object("v1", "Pod", `,"spec":{"containers":[{"name":"a","imagee":"b"}],"restartpolicy":"Never"}`),
		"a wrong type of Kubernetes":      object("v1", "ConfigMap", `,"data":{"a":1}`),
		"a right one":                     object("v1", "ConfigMap", `,"data":{"a":"b"}`),
		"an unknown field of Lintel's":    object("openvox.voxpupuli.org/v1alpha1", "SigningPolicy", `,"spec":{"certificateAuthorityReff":"main"}`),
		"a wrong type of Lintel's":        object("openvox.voxpupuli.org/v1alpha1", "SigningPolicy", `,"spec":{"certificateAuthorityRef":1}`),
		"what is required of Lintel's":    object("openvox.voxpupuli.org/v1alpha1", "SigningPolicy", `,"spec":{}`),
		"an unknown field of a bundle":    object("openclaw.enterprise.io/v1", "PolicyBundle", `,"spec":{"polices":[]}`),
		"metadata":                        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fields","namespace":"` + namespace + `","label":{}}}`,
		"metadata of Lintel's":            `{"apiVersion":"openclaw.enterprise.io/v1","kind":"PolicyBundle","metadata":{"name":"fields","namespace":"` + namespace + `","label":{}},"spec":{"policies":[]}}`,
		"a PolicySource of two origins":   `{"apiVersion":"policy.lintel.dev/v1alpha1","kind":"PolicySource","metadata":{"name":"fields"},"spec":{"inline":{"files":{"a.rego":"package a"}},"git":{"url":"https://example.com/a.git"}}}`,
		"a PolicySource with a wrong url": `{"apiVersion":"policy.lintel.dev/v1alpha1","kind":"PolicySource","metadata":{"name":"fields"},"spec":{"git":{"url":"example.com/a.git"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			output, ok := kubectl(t, object, "create", "--dry-run=server", "--validate=strict", "-f", "-")
			messages, code := checked(t, folder, "fields", object)
			require.Equal(t, ok, code == 0, "%s%v", output, messages)
			for _, message := range messages {
				// kubectl writes a list of causes in lines, and the group of the kind not at all.
				causes := strings.NewReplacer(", spec", "\n", ", <nil>", "\n").Replace(strings.Trim(message[strings.Index(message, ": ")+2:], "[]"))
				for part := range strings.SplitSeq(causes, "\n") {
					require.Contains(t, output, part)
				}
			}
		})
	}
}

// TestLintIsApply: a cluster accepts the sources that lint accepts, and reports the same
// messages.
func TestLintIsApply(t *testing.T) {
	t.Parallel()
	match := func(kind string) string { return "# METADATA\n# custom:\n#   match: {kinds: [" + kind + "]}\n" }
	const denies = "import rego.v1\ndeny contains \"x\" if input.name == \"no such\"\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"right":              {map[string]string{"p.rego": match(configMapKind) + "package lintp\n" + denies}, ""},
		"kinds of 1.36":      {map[string]string{"p.rego": match(`{group: networking.k8s.io, kind: ServiceCIDR}, {group: resource.k8s.io, kind: ResourceClaim}`) + "package lintp\n" + denies}, ""},
		"a misspelled kind":  {map[string]string{"p.rego": match(`{group: apps, kind: Deploymnt}`) + "package lintp\n" + denies}, `has no kind Deploymnt in group "apps" (yet); did you mean kind Deployment in group "apps"?`},
		"a reference":        {map[string]string{"p.rego": match(configMapKind) + "package lintp\n" + denies + "deny contains \"y\" if input.request.object.date"}, "input.request.object.date is in none of the kinds"},
		"one of Lintel's":    {map[string]string{"p.rego": match(`{group: openclaw.enterprise.io, kind: PolicyBundle}`) + "package lintp\n" + denies + "deny contains \"y\" if input.request.object.spec.polices"}, "did you mean policies?"},
		"two versions":       {map[string]string{"p.rego": match(`{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}`) + "package lintp\n" + denies, "q.rego": match(`{group: autoscaling, kind: HorizontalPodAutoscaler}`) + "package lintq\n" + denies}, "want HorizontalPodAutoscaler.autoscaling in two versions, v1 and v2"},
		"every version":      {map[string]string{"p.rego": "package lintp\n" + denies, "q.rego": match(`{group: autoscaling, kind: HorizontalPodAutoscaler}`) + "package lintq\n" + denies}, "takes HorizontalPodAutoscaler.autoscaling in every version"},
		"Gatekeeper's rule":  {map[string]string{"p.rego": match(configMapKind) + "package lintp\nimport rego.v1\nviolation contains {\"msg\": \"x\"}"}, "it is Gatekeeper's; name it deny"},
		"nearly a rule":      {map[string]string{"p.rego": match(configMapKind) + "package lintp\n" + denies + "denny contains \"y\""}, "the rule denny is never asked, and no other uses it: did you mean deny?"},
		"a policy of others": {map[string]string{"p.rego": match(configMapKind) + "package lintp\n" + denies, "k.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: x}\n"}, "k.yaml:1: ClusterPolicy is Kyverno's, and Lintel does not enforce it"},
	} {
		t.Run(name, func(t *testing.T) {
			output, ok := kubectl(t, installation.PolicySource("lint", c.files, nil), "apply", "--dry-run=server", "-f", "-")
			folder := t.TempDir()
			for file, text := range c.files {
				mustWrite(t, filepath.Join(folder, file), text)
			}
			linted, code := offline(t, "policy", "lint", "-p", folder)
			require.Equal(t, ok, code == 0, output+linted)
			require.Contains(t, output, c.want)
			require.Contains(t, linted, c.want)
			_, code = offline(t, "source", "-p", folder)
			require.Equal(t, ok, code == 0)
		})
	}
}

// TestKindsOfKubernetes: the table of kinds is what the API server serves.
func TestKindsOfKubernetes(t *testing.T) {
	t.Parallel()
	client, err := discovery.NewDiscoveryClientForConfig(restConfig(t))
	require.NoError(t, err)
	served, err := controllers.ReadResources(client)
	require.NoError(t, err)
	of := admission.NewResources(served)
	known := admission.NewResources(admission.KubernetesResources())
	groups := map[string]bool{}
	for _, resource := range known.All() {
		groups[resource.Group] = true
		found, ok := of.ByKind(resource.Group, resource.Kind)
		require.True(t, ok, "the API server has no %s.%s", resource.Kind, resource.Group)
		require.Equal(t, found, resource)
		require.Equal(t, of.Versions(resource.Group, resource.Kind), known.Versions(resource.Group, resource.Kind), resource.Kind)
	}
	for _, resource := range of.All() {
		if _, ok := known.ByKind(resource.Group, resource.Kind); groups[resource.Group] {
			require.True(t, ok, "the table lacks %s.%s", resource.Kind, resource.Group)
		}
	}
}
