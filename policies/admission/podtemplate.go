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

// WorkloadKinds are the kinds whose Pod template is evaluated with `expand`.
func WorkloadKinds() []GroupVersionKind { return slices.Collect(maps.Keys(podTemplates)) }

// PodKind is the kind of Pods.
var PodKind = GroupVersionKind{Version: "v1", Kind: "Pod"}

// PodReview is a review of the Pod that a workload's template describes, named
// <workload>-pod and owned by the workload, as Gatekeeper expands one. It has the workload's
// operation. It is nil where the review is not about a workload's own write.
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
	metadata = withOwner(metadata, r)
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
	pod.Name, pod.Old = name, nil
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
		"name": ast.StringTerm(name), "oldObject": ast.InternedNullTerm,
	} {
		request = terms.With(request, field, value)
	}
	pod.Request = func() ast.Object { return request }
	return pod.WithObject(object)
}

// withOwner adds an owner reference to the workload, unless the template has one. It has no
// uid, because a workload that is being created may not have one yet.
func withOwner(metadata ast.Object, workload *Review) ast.Object {
	group, kind, name := workload.Kind.Group, workload.Kind.Kind, workload.DisplayName()
	apiVersion := workload.Kind.Version
	if group != "" {
		apiVersion = group + "/" + apiVersion
	}
	owners, _ := terms.Lookup(metadata, "ownerReferences").(*ast.Array)
	if owners == nil {
		owners = ast.NewArray()
	}
	named := owners.Until(func(term *ast.Term) bool {
		owner, _ := term.Value.(ast.Object)
		return terms.Text(owner, "apiVersion") == apiVersion && terms.Text(owner, "kind") == kind && terms.Text(owner, "name") == name
	})
	if named {
		return metadata
	}
	return terms.With(metadata, "ownerReferences", ast.NewTerm(owners.Append(ast.ObjectTerm(
		ast.Item(ast.InternedTerm("apiVersion"), ast.StringTerm(apiVersion)),
		ast.Item(ast.InternedTerm("kind"), ast.StringTerm(kind)),
		ast.Item(ast.InternedTerm("name"), ast.StringTerm(name)),
		ast.Item(ast.InternedTerm("uid"), ast.InternedTerm("")),
	))))
}

// PodTemplatePath is the path of the Pod template of a workload kind; known is false for kinds
// that `expand` does not support.
func PodTemplatePath(workload GroupVersionKind) (path []string, known bool) {
	path, known = podTemplates[GroupVersionKind{Group: workload.Group, Kind: workload.Kind}]
	return path, known
}
