package admission

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// podTemplates are the workload kinds that `expand` knows, with the path of their
// Pod template.
var podTemplates = map[GroupVersionKind][]string{
	{Group: "", Kind: "ReplicationController"}: {"spec", "template"},
	{Group: "apps", Kind: "Deployment"}:        {"spec", "template"},
	{Group: "apps", Kind: "ReplicaSet"}:        {"spec", "template"},
	{Group: "apps", Kind: "StatefulSet"}:       {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}:         {"spec", "template"},
	{Group: "batch", Kind: "Job"}:              {"spec", "template"},
	{Group: "batch", Kind: "CronJob"}:          {"spec", "jobTemplate", "spec", "template"},
}

// WorkloadKinds are the kinds whose Pod template `expand` judges.
func WorkloadKinds() []GroupVersionKind { return slices.Collect(maps.Keys(podTemplates)) }

// PodKind is that of Pods.
var PodKind = GroupVersionKind{Version: "v1", Kind: "Pod"}

// PodReview is the creation of the Pod that a workload's template describes, named
// <workload>-pod: nil where the review is not about a workload's own write.
func PodReview(r *Review) *Review {
	path, ok := PodTemplatePath(r.Kind)
	if !ok || r.SubResource != "" || r.New == nil || (r.Operation != "CREATE" && r.Operation != "UPDATE" && r.Operation != "") {
		return nil
	}
	template := r.New.Value()
	for _, field := range path {
		if template, ok = terms.Lookup(template, field).(ast.Object); !ok {
			return nil
		}
	}
	metadata, ok := terms.Lookup(template, "metadata").(ast.Object)
	if !ok {
		metadata = ast.NewObject()
	}
	name := r.DisplayName() + "-pod"
	metadata = terms.With(metadata, "name", ast.StringTerm(name))
	metadata = terms.With(metadata, "namespace", ast.StringTerm(r.Namespace))
	spec := ast.ObjectTerm()
	if value := terms.Lookup(template, "spec"); value != nil {
		spec = ast.NewTerm(value)
	}
	object := ast.NewObject(
		ast.Item(ast.InternedTerm("apiVersion"), ast.InternedTerm("v1")),
		ast.Item(ast.InternedTerm("kind"), ast.InternedTerm("Pod")),
		ast.Item(ast.InternedTerm("metadata"), ast.NewTerm(metadata)),
		ast.Item(ast.InternedTerm("spec"), spec),
	)
	pod := *r
	pod.Kind, pod.Resource = PodKind, GroupVersionResource{Version: "v1", Resource: "pods"}
	pod.Name, pod.Operation, pod.Old = name, "CREATE", nil
	kind := ast.ObjectTerm(
		ast.Item(ast.InternedTerm("group"), ast.InternedTerm("")),
		ast.Item(ast.InternedTerm("version"), ast.InternedTerm("v1")),
		ast.Item(ast.InternedTerm("kind"), ast.InternedTerm("Pod")),
	)
	resource := ast.ObjectTerm(
		ast.Item(ast.InternedTerm("group"), ast.InternedTerm("")),
		ast.Item(ast.InternedTerm("version"), ast.InternedTerm("v1")),
		ast.Item(ast.InternedTerm("resource"), ast.InternedTerm("pods")),
	)
	request := r.Request()
	for field, value := range map[string]*ast.Term{
		"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
		"name": ast.StringTerm(name), "operation": ast.InternedTerm("CREATE"),
		"oldObject": ast.InternedNullTerm,
	} {
		request = terms.With(request, field, value)
	}
	pod.Request = func() ast.Object { return request }
	return pod.WithObject(object)
}

// PodTemplatePath is the path of the Pod template of a workload kind; known is false
// for kinds that `expand` does not judge.
func PodTemplatePath(workload GroupVersionKind) (path []string, known bool) {
	path, known = podTemplates[GroupVersionKind{Group: workload.Group, Kind: workload.Kind}]
	return path, known
}
