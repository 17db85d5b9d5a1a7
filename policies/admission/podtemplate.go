package admission

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// workloadTemplates are the workload kinds that `expand` knows, with the path of their
// Pod template.
var workloadTemplates = map[GroupVersionKind][]string{
	{Group: "", Kind: "ReplicationController"}: {"spec", "template"},
	{Group: "apps", Kind: "Deployment"}:        {"spec", "template"},
	{Group: "apps", Kind: "ReplicaSet"}:        {"spec", "template"},
	{Group: "apps", Kind: "StatefulSet"}:       {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}:         {"spec", "template"},
	{Group: "batch", Kind: "Job"}:              {"spec", "template"},
	{Group: "batch", Kind: "CronJob"}:          {"spec", "jobTemplate", "spec", "template"},
}

// WorkloadKinds are the kinds whose Pod template is evaluated with `expand`.
func WorkloadKinds() []GroupVersionKind { return slices.Collect(maps.Keys(workloadTemplates)) }

// PodKind is the kind of Pods.
var PodKind = GroupVersionKind{Version: "v1", Kind: "Pod"}

// PodTemplate is where the objects of a kind of workload have their Pod template.
type PodTemplate struct {
	// Path consists of the names of fields, separated by dots.
	Path string
	// Via is the kind of the object that the workload creates, and that creates the Pod: zero if the
	// workload creates the Pod itself.
	Via GroupVersionKind
}

// PodTemplateOf is the template of a workload kind of Kubernetes; known is false for other kinds.
func PodTemplateOf(workload GroupVersionKind) (template PodTemplate, known bool) {
	path, known := PodTemplatePath(workload)
	return PodTemplate{Path: strings.Join(path, ".")}, known
}

// IsWorkloadWrite reports whether a review is about a write of an object itself, whose Pod template
// is evaluated if it has one.
func (r *Review) IsWorkloadWrite() bool {
	return r.SubResource == "" && r.New != nil && (r.Operation == "CREATE" || r.Operation == "UPDATE" || r.Operation == "")
}

// PodReview is PodReviewAt for a workload kind of Kubernetes. It is nil where the review is not
// about a workload's own write, and for a workload without a template.
func PodReview(r *Review) *Review {
	template, known := PodTemplateOf(r.Kind)
	if !known || !r.IsWorkloadWrite() {
		return nil
	}
	pod, found := PodReviewAt(r, template)
	if !found {
		return nil
	}
	return pod
}

// PodReviewAt is a review of the Pod that a template in a workload describes, as Gatekeeper expands
// one: named <workload>-pod, or <workload>-<via>-pod, and owned by the object that creates it. It has
// the operation of the workload's write. found is false where the workload has no such template: the
// Pod is empty then.
func PodReviewAt(r *Review, at PodTemplate) (_ *Review, found bool) {
	template, found := r.New.Value(), true
	for field := range strings.SplitSeq(at.Path, ".") {
		if template, found = terms.Lookup(template, field).(ast.Object); !found {
			template = ast.NewObject()
			break
		}
	}
	metadata, ok := terms.Lookup(template, "metadata").(ast.Object)
	if !ok {
		metadata = ast.NewObject()
	}
	owner, ownerName := r.Kind, r.DisplayName()
	if at.Via != (GroupVersionKind{}) {
		owner, ownerName = at.Via, ownerName+"-"+strings.ToLower(at.Via.Kind)
	}
	name := ownerName + "-pod"
	metadata = terms.With(metadata, "name", ast.StringTerm(name))
	metadata = terms.With(metadata, "namespace", ast.StringTerm(r.Namespace))
	metadata = withOwner(metadata, owner, ownerName)
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
	return pod.WithObject(object), found
}

// withOwner adds an owner reference, unless the template has it. It has no uid, because an object
// that is being created may not have one yet.
func withOwner(metadata ast.Object, owner GroupVersionKind, name string) ast.Object {
	group, kind := owner.Group, owner.Kind
	apiVersion := owner.Version
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
	path, known = workloadTemplates[GroupVersionKind{Group: workload.Group, Kind: workload.Kind}]
	return path, known
}
