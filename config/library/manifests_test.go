package library_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/library"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/test/reviews"
)

// one is a policy by itself, with its manifests.
type one struct {
	library.Policy
	snapshot  *engine.Snapshot
	bad, good map[string]any
}

// forEach runs a test for each policy.
func forEach(t *testing.T, test func(*testing.T, one)) {
	t.Helper()
	l := read(t)
	for _, policy := range l.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			t.Parallel()
			test(t, one{policy, snapshotOf(t, l, policy.Name), manifest(t, l, policy, "bad.yaml"), manifest(t, l, policy, "good.yaml")})
		})
	}
}

// snapshots are the compiled policies by their names, which all tests share.
var snapshots sync.Map

// snapshotOf is one policy with the packages that it imports.
func snapshotOf(t *testing.T, l *library.Library, name string) *engine.Snapshot {
	t.Helper()
	if known, ok := snapshots.Load(name); ok {
		return known.(*engine.Snapshot)
	}
	selected, err := l.Select(name)
	require.NoError(t, err)
	set, err := policyset.Compile(definition.Source{Name: "library", Files: selected.Files})
	require.NoError(t, err)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	snapshots.Store(name, snapshot)
	return snapshot
}

func manifest(t *testing.T, l *library.Library, policy library.Policy, file string) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, yaml.UnmarshalStrict([]byte(l.File(policy, file)), &object))
	require.NotEmpty(t, object, "%s: %s is missing", policy.Name, file)
	return object
}

func TestManifests(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, p one) {
		denied := p.create(t, p.bad)
		assert.NotEmpty(t, denied.Denials)
		for _, denial := range denied.Denials {
			assert.Equal(t, "library."+p.Name, denial.Policy)
			assert.NotEmpty(t, denial.Field, denial.Words)
		}
		admitted := p.create(t, p.good)
		assert.Empty(t, admitted.Denials)
		reviewed := 1
		if len(p.match().Namespaces) > 0 { // the good manifest is in another one
			reviewed = 0
		}
		assert.Equal(t, reviewed, admitted.Policies, "the policy reviews its good manifest")
	})
}

// TestOldObjectsStay: an object that is older than a policy can get labels, lose finalizers and
// be deleted.
func TestOldObjectsStay(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, p one) {
		if slices.Equal(p.match().Operations, []string{"CREATE"}) {
			t.Skip("the policy reviews new objects only")
		}
		changed := (&unstructured.Unstructured{Object: p.bad}).DeepCopy()
		changed.SetFinalizers([]string{"example.com/finalizer"})
		changed.SetAnnotations(merge(changed.GetAnnotations(), "example.com/note", "changed"))
		changed.SetLabels(merge(changed.GetLabels(), "example.com/note", "changed"))
		unstructured.RemoveNestedField(changed.Object, "status")
		decision := p.review(t, p.bad, map[string]any{"operation": "UPDATE", "oldObject": p.bad, "object": changed.Object})
		assert.Equal(t, 1, decision.Policies)
		assert.Empty(t, decision.Denials)

		decision = p.review(t, p.bad, map[string]any{"operation": "UPDATE", "oldObject": p.good, "object": p.bad})
		assert.NotEmpty(t, decision.Denials, "an update that makes the object bad is denied")
	})
}

func merge(values map[string]string, key, value string) map[string]string {
	merged := maps.Clone(values)
	if merged == nil {
		merged = map[string]string{}
	}
	merged[key] = value
	return merged
}

// TestMissingFields: no policy fails if any part of an object is missing, null or empty.
func TestMissingFields(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, p one) {
		for _, object := range []map[string]any{p.bad, p.good} {
			variations(object, []any{nil, map[string]any{}, []any{}, "", 0}, func() { p.create(t, object) })
			p.create(t, map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": map[string]any{}})
		}
	})
}

// variations calls visit with each value of an object replaced, and with each key removed.
func variations(value any, others []any, visit func()) {
	switch node := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			old := node[key]
			if key == "apiVersion" || key == "kind" && node["apiVersion"] != nil {
				continue
			}
			for _, node[key] = range others {
				visit()
			}
			delete(node, key)
			visit()
			node[key] = old
			variations(old, others, visit)
		}
	case []any:
		for i, old := range node {
			for _, node[i] = range others {
				visit()
			}
			node[i] = old
			variations(old, others, visit)
		}
	}
}

// TestWorkloads: what a policy denies in a Pod is a warning in each kind of workload.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	workloads := map[string][]string{
		"apps/v1 Deployment": {"spec", "template"}, "apps/v1 StatefulSet": {"spec", "template"}, "apps/v1 DaemonSet": {"spec", "template"},
		"apps/v1 ReplicaSet": {"spec", "template"}, "batch/v1 Job": {"spec", "template"}, "v1 ReplicationController": {"spec", "template"},
		"batch/v1 CronJob": {"spec", "jobTemplate", "spec", "template"},
	}
	forEach(t, func(t *testing.T, p one) {
		if p.bad["kind"] != "Pod" || !p.match().Expands() {
			t.Skip("the policy is not about Pods of workloads")
		}
		for workload, at := range workloads {
			for _, pod := range []map[string]any{p.bad, p.good} {
				version, kind, _ := strings.Cut(workload, " ")
				object := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": "web"}}
				metadata := maps.Clone(pod["metadata"].(map[string]any))
				delete(metadata, "name")
				require.NoError(t, unstructured.SetNestedMap(object, map[string]any{"metadata": metadata, "spec": pod["spec"]}, at...))
				decision := p.create(t, object)
				assert.Empty(t, decision.Denials, workload)
				assert.Equal(t, text(pod) == text(p.bad), len(decision.Warnings) > 0, "%s: %v", workload, decision.Warnings)
			}
		}
	})
}

func text(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic("objects of YAML always have JSON: " + err.Error())
	}
	return string(text)
}

// TestContainersOfAllLists: a container is denied in each list of containers in which it can be.
func TestContainersOfAllLists(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, p one) {
		spec, _ := p.bad["spec"].(map[string]any)
		denials := p.create(t, p.bad).Denials
		require.NotEmpty(t, denials)
		if p.bad["kind"] != "Pod" || !strings.HasPrefix(denials[0].Field, "spec.containers[") {
			t.Skip("the policy is not about containers")
		}
		lists := []string{"initContainers", "ephemeralContainers"}
		if p.Category == "cost" || slices.Contains(notEphemeral, p.Name) {
			lists = lists[:1]
		}
		for _, list := range lists {
			moved := maps.Clone(spec)
			moved["containers"] = p.good["spec"].(map[string]any)["containers"]
			moved[list] = spec["containers"]
			decision := p.create(t, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": p.bad["metadata"], "spec": moved})
			assert.NotEmpty(t, decision.Denials, list)
		}
	})
}

// notEphemeral are the policies that do not apply to ephemeral containers, in addition to those
// about resources.
var notEphemeral = []string{"read_only_root_filesystem"}

func (p one) match() definition.Match { return p.snapshot.Policies()[0].Match }

// create evaluates the creation of an object.
func (p one) create(t *testing.T, object map[string]any) *engine.Decision {
	t.Helper()
	return p.review(t, object, map[string]any{"operation": "CREATE", "object": object})
}

// review evaluates a request for an object. An error of a policy fails the test.
func (p one) review(t *testing.T, object, request map[string]any) *engine.Decision {
	t.Helper()
	u := unstructured.Unstructured{Object: object}
	kind := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	resource, ok := admission.BuiltinResources().ByKind(kind.Group, kind.Kind)
	require.True(t, ok, kind)
	namespace := cmp.Or(stringAt(object, "metadata", "namespace"), "shop")
	if !resource.Namespaced {
		namespace = ""
	}
	if kind.Kind == "Namespace" {
		namespace = stringAt(object, "metadata", "name")
	}
	builder := reviews.MakeCreation(kind, resource.Name, object).Named(namespace, stringAt(object, "metadata", "name")).By("jane")
	maps.Copy(builder, request)
	decision := p.snapshot.Validate(t.Context(), builder.Obj(t), engine.Options{})
	for _, finding := range slices.Concat(decision.Denials, decision.Warnings) {
		require.False(t, finding.Error, "%s: %s", finding.Words, text(object))
	}
	return decision
}

// stringAt is a string of an object, empty if it is missing.
func stringAt(object map[string]any, path ...string) string {
	value, _, err := unstructured.NestedString(object, path...)
	if err != nil {
		return ""
	}
	return value
}
