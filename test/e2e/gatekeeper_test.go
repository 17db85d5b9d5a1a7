package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// sampleTemplate is a template of the samples.
func sampleTemplate(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(installation.Root(), "config/samples/gatekeeper", name, "template.yaml"))
	require.NoError(t, err)
	return string(text)
}

// constraintIn is a constraint about one kind in one namespace.
func constraintIn(namespace, kind, group, of string) string {
	return `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: ` + kind + `
metadata:
  name: here
spec:
  match:
    kinds: [{apiGroups: ["` + group + `"], kinds: [` + of + `]}]
    namespaces: ["` + namespace + `"]
`
}

// failing has two conflicting values for a Pod named broken.
const failing = `apiVersion: templates.gatekeeper.sh/v1beta1
kind: ConstraintTemplate
metadata:
  name: podsizes
spec:
  crd:
    spec:
      names:
        kind: PodSizes
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package podsizes

        violation[{"msg": msg}] {
          size > 7
          msg := "too large"
        }

        size = 1 {
          input.review.object.kind == "Pod"
        }

        size = 2 {
          input.review.object.metadata.name == "broken"
        }
`

// TestGatekeeper brings templates and constraints as they are.
func TestGatekeeper(t *testing.T) {
	namespace := newNamespace(t)
	roles := filepath.Join(installation.Root(), "config/samples/rbac")
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "-f", roles, "--ignore-not-found") })
	mustKubectl(t, "", "apply", "-f", roles)
	t.Cleanup(func() { removeSource(context.Background(), "templates") })
	serveSource(t, "templates", map[string]string{
		"privileged/template.yaml": sampleTemplate(t, "privileged"),
		"hosts/template.yaml":      sampleTemplate(t, "unique-ingress-hosts"),
		"sizes/template.yaml":      failing,
		"constraints.yaml": strings.Join([]string{
			constraintIn(namespace, "PodsAreNotPrivileged", "", "Pod"),
			constraintIn(namespace, "IngressHostsAreUnique", "networking.k8s.io", "Ingress"),
			constraintIn(namespace, "PodSizes", "", "Pod"),
		}, "---\n"),
	}, nil)
	status := readSource(t, "templates").Status
	require.EqualValues(t, 3, status.Policies)

	output, ok := apply(t, pod(namespace, "plain", `{"containers":[{"name":"web","image":"web:1"}]}`))
	require.True(t, ok, output)
	output, ok = apply(t, pod(namespace, "root", `{"containers":[{"name":"web","image":"web:1","securityContext":{"privileged":true}}]}`))
	require.False(t, ok)
	require.Contains(t, output, `admission webhook "fail.policies.lintel.dev" denied the request: container web is privileged: set securityContext.privileged to false [PodsAreNotPrivileged/here deny, privileged/template.yaml:`)

	output, ok = apply(t, ingress(namespace, "first", "a.example"))
	require.True(t, ok, output)
	eventually(t, func() bool {
		output, ok := kubectl(t, ingress(namespace, "second", "a.example"), "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "host a.example is taken by Ingress "+namespace+"/first [IngressHostsAreUnique/here deny, ")
	}, "the inventory to have the first Ingress")

	output, ok = apply(t, pod(namespace, "broken", `{"containers":[{"name":"web","image":"web:1"}]}`))
	require.False(t, ok, "an ordinary Pod is denied where a template fails at run time")
	require.Contains(t, output, "policy PodSizes/here cannot be evaluated: rule size produced conflicting values")
	require.Contains(t, output, "[PodSizes/here size, sizes/template.yaml:")
	count, found := metric(t, `lintel_policy_evaluation_errors_total{policy="PodSizes/here",source="templates"}`)
	require.True(t, found)
	require.NotEqual(t, "0", count)

	broken := installation.PolicySource("templates", map[string]string{"sizes.yaml": strings.Replace(failing, "size > 7", "large(7)", 1)}, nil)
	output, ok = kubectl(t, broken, "apply", "--server-side", "--force-conflicts", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "sizes.yaml:16: rego_type_error: undefined function large", "the line of the YAML file")
}

// bounded has a limit for what comes with the subresources resize and scale.
const bounded = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: bounded}
spec:
  crd: {spec: {names: {kind: Bounded}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package bounded

        violation[{"msg": msg}] {
          cpu := input.review.object.spec.containers[_].resources.limits.cpu
          cpu != "1"
          msg := sprintf("cpu limit is %v, not 1", [cpu])
        }

        violation[{"msg": msg}] {
          input.review.object.spec.replicas > 7
          msg := sprintf("too many replicas (%v)", [input.review.kind.kind])
        }
`

// TestGatekeeperSubresources: a value that is denied in an object is denied in its
// subresources.
func TestGatekeeperSubresources(t *testing.T) {
	namespace := newNamespace(t)
	t.Cleanup(func() { removeSource(context.Background(), "bounded") })
	serveSource(t, "bounded", map[string]string{
		"template.yaml":    bounded,
		"constraints.yaml": constraintIn(namespace, "Bounded", "", "Pod") + "---\n" + strings.Replace(constraintIn(namespace, "Bounded", "autoscaling", "Scale"), "name: here", "name: scale", 1),
	}, nil)
	output, ok := apply(t, pod(namespace, "web", `{"schedulerName":"nobody","containers":[{"name":"web","image":"web:1","resources":{"limits":{"cpu":"1"}}}]}`))
	require.True(t, ok, output)
	output, ok = kubectl(t, "", "-n", namespace, "patch", "pod", "web", "--subresource", "resize", "-p", `{"spec":{"containers":[{"name":"web","resources":{"limits":{"cpu":"64"},"requests":{"cpu":"64"}}}]}}`)
	require.False(t, ok)
	require.Contains(t, output, "cpu limit is 64, not 1 [Bounded/here deny, template.yaml:")

	mustKubectl(t, "", "-n", namespace, "create", "deployment", "web", "--image", "web:1", "--replicas", "0")
	output, ok = kubectl(t, "", "-n", namespace, "scale", "deployment", "web", "--replicas", "9")
	require.False(t, ok)
	require.Contains(t, output, "too many replicas (Scale) [Bounded/scale deny, template.yaml:")
}

// TestGatekeeperOfTheCluster keeps in force what the cluster's own templates and
// constraints say.
func TestGatekeeperOfTheCluster(t *testing.T) {
	namespace := newNamespace(t)
	template := sampleTemplate(t, "disallowed-repos")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), template, "delete", "--ignore-not-found", "-f", "-")
	})
	mustKubectl(t, template, "apply", "-f", "-")
	cel := `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: celonly}
spec:
  crd: {spec: {names: {kind: CelOnly}}}
  targets: [{target: admission.k8s.gatekeeper.sh, code: [{engine: K8sNativeValidation, source: {}}]}]
`
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), cel, "delete", "--ignore-not-found", "-f", "-") })
	mustKubectl(t, cel, "apply", "-f", "-")
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "get", "imagesdonotcomefrom.constraints.gatekeeper.sh")
		return ok && strings.Contains(output, "No resources found")
	}, "the kind of the template's constraints")

	constraint := constraintIn(namespace, "ImagesDoNotComeFrom", "", "Pod") + "  parameters: {repos: [evil.example/]}\n"
	bad := strings.Replace(constraint, "[evil.example/]", "evil.example/", 1)
	output, ok := kubectl(t, bad, "apply", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "spec.parameters.repos: Invalid value", "the API server knows the template's schema")
	mustKubectl(t, constraint, "apply", "-f", "-")
	evil := pod(namespace, "evil", `{"containers":[{"name":"web","image":"evil.example/web:1"}]}`)
	eventually(t, func() bool {
		output, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "image evil.example/web:1 comes from evil.example/ [ImagesDoNotComeFrom/here deny, imagesdonotcomefrom.yaml:")
	}, "the constraint to be enforced, beside a template that cannot be")
	eventually(t, func() bool {
		output, ok := get(t, "events", "-A", "--field-selector=reason=NotEnforced", "-o", "jsonpath={.items[*].message}")
		return ok && strings.Contains(output, "source.validations: must have at least one entry")
	}, "an Event about the template in CEL")

	mustKubectl(t, template, "delete", "-f", "-")
	eventually(t, func() bool {
		_, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		_, there := get(t, "policysource", "gatekeeper")
		return ok && !there
	}, "the template, its constraints and the source to go")
}

// mutatorKind is the kind of a mutator, as far as this needs it.
const mutatorKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: assign.mutations.gatekeeper.sh}
spec:
  group: mutations.gatekeeper.sh
  scope: Cluster
  names: {kind: Assign, listKind: AssignList, plural: assign, singular: assign}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// mutator lacks the kinds that it changes.
const mutator = "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: pull-always}\nspec: {location: spec.x, parameters: {assign: {value: x}}}\n"

// mutatorIn is the same mutator without the error, for a namespace.
func mutatorIn(namespace string) string {
	return `apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: pull-always, labels: {owner: us}}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Pod]}]
  match: {namespaces: [` + namespace + `]}
  location: "spec.containers[name: *].imagePullPolicy"
  parameters: {assign: {value: Always}}
`
}

// everyKind requires a label on all cluster-scoped objects; a second constraint is about one
// kind with two versions.
const everyKind = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: wantslabel}
spec:
  crd: {spec: {names: {kind: WantsLabel}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package wantslabel
        violation[{"msg": "no owner"}] { not input.review.object.metadata.labels.owner }
`

const everyKindConstraints = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: WantsLabel
metadata: {name: everything, labels: {owner: us}}
spec: {match: {excludedNamespaces: ["*"]}}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: WantsLabel
metadata: {name: autoscalers, labels: {owner: us}}
spec: {match: {kinds: [{apiGroups: [autoscaling], kinds: [HorizontalPodAutoscaler]}], namespaces: [nowhere]}}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: WantsLabel
metadata: {name: misspelt, labels: {owner: us}}
spec: {match: {kind: [Pod]}}
`

func jsonPath(t *testing.T, path string, object ...string) string {
	t.Helper()
	output, _ := get(t, append([]string{"-o", "jsonpath=" + path}, object...)...)
	return output
}

const readyReason = `{.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason}`

// TestGatekeeperHoldsNobodyUp: what cannot be enforced says so, and nothing else waits,
// not even for a constraint about everything.
func TestGatekeeperHoldsNobodyUp(t *testing.T) {
	namespace := newNamespace(t)
	repos := constraintIn(namespace, "ImagesDoNotComeFrom", "", "Pod") + "  parameters: {repos: [evil.example/]}\n"
	repos = strings.Replace(repos, "  name: here\n", "  name: here\n  labels: {owner: us}\n", 1)
	applyForTest(t, mutatorKind)
	applyForTest(t, mutator)
	applyForTest(t, everyKind)
	applyForTest(t, everyKindConstraints)
	applyForTest(t, sampleTemplateWithLabel(t, "disallowed-repos"))
	applyForTest(t, repos)

	evil := pod(namespace, "evil", `{"containers":[{"name":"web","image":"evil.example/web:1"}]}`)
	eventually(t, func() bool {
		_, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		return !ok
	}, "the constraint to be enforced beside what cannot be")
	output, ok := kubectl(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: unowned}\nrules: []\n", "apply", "--dry-run=server", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "no owner [WantsLabel/everything deny, ")

	eventually(t, func() bool {
		return jsonPath(t, readyReason, "policysource", "gatekeeper") == "False NotEnforced"
	}, "the source to say that something is not enforced")
	message := jsonPath(t, `{.status.conditions[?(@.type=="Ready")].message}`, "policysource", "gatekeeper")
	require.Contains(t, message, "not enforced: 2 of the cluster's objects")
	require.Contains(t, message, `WantsLabel/misspelt: wantslabel.yaml:`)
	require.Contains(t, message, "must name the groups, versions and kinds of the objects that the mutator changes")
	eventually(t, func() bool {
		return strings.Contains(jsonPath(t, `{.status.byPod[?(@.id=="lintel")]}`, "wantslabel.constraints.gatekeeper.sh", "misspelt"), `unknown field`) &&
			strings.Contains(jsonPath(t, `{.status.byPod[?(@.id=="lintel")]}`, "assign.mutations.gatekeeper.sh", "pull-always"), `must name the groups`) &&
			jsonPath(t, `{.status.byPod[?(@.id=="lintel")].enforced}`, "imagesdonotcomefrom.constraints.gatekeeper.sh", "here") == "true"
	}, "each object to say what became of it")
	count, found := metric(t, `lintel_gatekeeper_not_enforced{kind="WantsLabel",name="misspelt"}`)
	require.True(t, found)
	require.Equal(t, "1", count)

	mustKubectl(t, repos, "delete", "-f", "-")
	eventually(t, func() bool {
		_, ok := kubectl(t, evil, "apply", "--dry-run=server", "-f", "-")
		return ok
	}, "a deleted constraint to be in force no more, though another wants labels of everything")
	mustKubectl(t, "", "delete", "wantslabel.constraints.gatekeeper.sh", "misspelt")
	applyForTest(t, mutatorIn(namespace))
	changed := pod(namespace, "changed", `{"containers":[{"name":"web","image":"example.com/web:1","imagePullPolicy":"Never"}]}`)
	eventually(t, func() bool {
		output, ok := kubectl(t, changed, "apply", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.containers[0].imagePullPolicy}")
		return ok && output == "Always" &&
			jsonPath(t, `{.status.byPod[?(@.id=="lintel")].enforced}`, "assign.mutations.gatekeeper.sh", "pull-always") == "true"
	}, "the mutator to be applied once it is complete")
	mustKubectl(t, mutator, "delete", "-f", "-")
	eventually(t, func() bool {
		return jsonPath(t, readyReason, "policysource", "gatekeeper") == "True Serving"
	}, "the source to be ready once everything is in force")
}

// sampleTemplateWithLabel has the label that everything must have.
func sampleTemplateWithLabel(t *testing.T, name string) string {
	return strings.Replace(sampleTemplate(t, name), "metadata:\n", "metadata:\n  labels: {owner: us}\n", 1)
}

// TestGatekeeperPermissionsAreForConstraintKinds: what its role cannot say, the API server does.
func TestGatekeeperPermissionsAreForConstraintKinds(t *testing.T) {
	t.Parallel()
	foreign := strings.NewReplacer("assign.mutations.gatekeeper.sh", "webs.example.com", "mutations.gatekeeper.sh", "example.com", "kind: Assign,", "kind: Web,", "AssignList", "WebList", "plural: assign", "plural: webs", "singular: assign", "singular: web").Replace(mutatorKind)
	applyForTest(t, foreign)
	manager := "--as=system:serviceaccount:lintel-system:lintel-manager"
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "patch", "crd", "webs.example.com", "--type=merge", "-p", `{"spec":{"names":{"categories":["all"]}}}`, "--dry-run=server", manager)
		return !ok && strings.Contains(output, "Lintel writes no CustomResourceDefinitions but those of the group constraints.gatekeeper.sh")
	}, "the API server to refuse")
	ours := strings.NewReplacer("webs.example.com", "webs.constraints.gatekeeper.sh", "group: example.com", "group: constraints.gatekeeper.sh").Replace(foreign)
	output, ok := kubectl(t, ours, "create", "--dry-run=server", "-f", "-", manager)
	require.True(t, ok, output)
	mustKubectl(t, "", "patch", "crd", "webs.example.com", "--type=merge", "-p", `{"spec":{"names":{"categories":["all"]}}}`, "--dry-run=server")
}

// libraryVariable names a folder of Gatekeeper's public library, as it is there.
const libraryVariable = "LINTEL_GATEKEEPER_LIBRARY"

// TestGatekeeperLibraries has whole libraries in force: the samples', and the public one
// where the environment names it, each by its folder and by the cluster's own objects.
func TestGatekeeperLibraries(t *testing.T) {
	folders := []string{filepath.Join(installation.Root(), "config/samples/gatekeeper")}
	if library := os.Getenv(libraryVariable); library != "" {
		folders = append(folders, library)
	}
	reads := `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: libraries, labels: {lintel.dev/aggregate-to-policy-data: "true"}}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [list, watch]}]
`
	applyForTest(t, reads)
	namespace := newNamespace(t)
	privileged := pod(namespace, "root", `{"containers":[{"name":"web","image":"web:1","securityContext":{"privileged":true}}]}`)
	denied := func() bool {
		output, ok := kubectl(t, privileged, "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(strings.ToLower(output), "privileged")
	}
	for _, folder := range folders {
		templates, constraints, kinds, names := libraryObjects(t, folder)
		t.Run(filepath.Base(folder)+" by folder", func(t *testing.T) {
			t.Cleanup(func() { removeSource(context.Background(), "library") })
			source, err := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), "source", folder, "--name", "library").Output()
			require.NoError(t, err)
			mustKubectl(t, string(source), "apply", "--server-side", "-f", "-")
			eventually(t, func() bool { return jsonPath(t, readyReason, "policysource", "library") == "True Serving" }, "the source to be ready")
			require.EqualValues(t, names, readSource(t, "library").Status.Policies)
			require.True(t, denied())
		})
		t.Run(filepath.Base(folder)+" by the cluster", func(t *testing.T) {
			t.Cleanup(func() {
				_, _ = cluster.Kubectl(context.Background(), templates, "delete", "--ignore-not-found", "-f", "-")
			})
			mustKubectl(t, templates, "create", "-f", "-")
			for _, kind := range kinds {
				waitFor(t, "", "crd/"+kind+".constraints.gatekeeper.sh", "the kind to be served", isServed)
			}
			applyForTest(t, constraints)
			waitFor(t, "", "policysource/gatekeeper", "all constraints to be in force", func(source *v1alpha1.PolicySource) bool {
				return says(source.Status.Conditions, v1alpha1.ConditionReady) == "True Serving" && int(source.Status.Policies) == names
			})
			require.True(t, denied())
			mustKubectl(t, templates, "delete", "-f", "-")
			waitGone(t, "", "policysource/gatekeeper")
		})
	}
}

// isServed is whether the kind of a CustomResourceDefinition can be created.
func isServed(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// libraryObjects are the templates and the constraints of a library, the names of the
// templates, and how many of the constraints have a name of their own.
func libraryObjects(t *testing.T, folder string) (templates, constraints string, kinds []string, names int) {
	t.Helper()
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if yaml.Unmarshal(text, &object) != nil {
			return err
		}
		switch group, _, _ := strings.Cut(object.APIVersion, "/"); {
		case strings.Contains(path, "testdata"):
		case group == "templates.gatekeeper.sh":
			templates += "---\n" + string(text) + "\n"
			kinds = append(kinds, object.Metadata.Name)
		case group == "constraints.gatekeeper.sh":
			constraints += "---\n" + string(text) + "\n"
			seen[object.Kind+"/"+object.Metadata.Name] = true
		}
		return err
	}))
	return templates, constraints, kinds, len(seen)
}
