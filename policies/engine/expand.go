package engine

import (
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
func WorkloadKinds() []GroupVersionKind {
	var kinds []GroupVersionKind
	for kind := range podTemplates {
		kinds = append(kinds, kind)
	}
	return kinds
}

var podKind = GroupVersionKind{Version: "v1", Kind: "Pod"}

// Expands says whether the match asks for the Pod templates of workload kinds.
func (m Match) Expands() bool {
	return m.Expand != ExpandNone && (&matcher{match: m}).matchesKind(podKind)
}

// templateQuestions are about the Pod that a workload would create, to the policies
// that ask for it.
func (s *Snapshot) templateQuestions(e *evaluation, unmatched bool) []question {
	pod := podReview(e.review)
	if pod == nil {
		return nil
	}
	template := e.with(pod)
	template.generated = true
	var out []question
	for _, p := range s.candidates(podKind) {
		if p.validate == nil || !p.asked(e.options) || !p.matcher.match.Expands() || !p.form.expandsFrom(e.review.Kind) {
			continue
		}
		if matches, reason := p.form.matches(p, s, template, p.matcher.matchesVerb(pod)); matches || reason != "" || unmatched {
			out = append(out, question{policy: p, evaluation: template, entry: entryDeny, matches: matches, reason: reason, template: true, workload: e.review.Kind})
		}
	}
	return out
}

// settle marks what was found in a template, and makes it what expand says.
func (q question) settle(found *Decision) {
	if !q.template {
		return
	}
	q.policy.form.imply(q.policy, q.workload, found)
}

// add takes over the findings of another decision.
func (d *Decision) add(other *Decision) {
	d.Denials = append(d.Denials, other.Denials...)
	d.Warnings = append(d.Warnings, other.Warnings...)
	d.Audits = append(d.Audits, other.Audits...)
	d.Undecided = append(d.Undecided, other.Undecided...)
	d.Policies += other.Policies
}

// podReview is the creation of the Pod that a workload's template describes, named
// <workload>-pod: nil where the review is not about a workload's own write.
func podReview(r *Review) *Review {
	path, ok := PodTemplatePath(r.Kind)
	if !ok || r.SubResource != "" || r.object == nil || (r.Operation != "CREATE" && r.Operation != "UPDATE" && r.Operation != "") {
		return nil
	}
	template := r.object.value()
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
	pod.Kind, pod.Resource = podKind, GroupVersionResource{Version: "v1", Resource: "pods"}
	pod.Name, pod.Operation, pod.oldObject = name, "CREATE", nil
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
	request := r.request()
	for field, value := range map[string]*ast.Term{
		"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
		"name": ast.StringTerm(name), "operation": ast.InternedTerm("CREATE"),
		"oldObject": ast.InternedNullTerm,
	} {
		request = terms.With(request, field, value)
	}
	pod.request = func() ast.Object { return request }
	return pod.withObject(object)
}

// PodTemplatePath is the path of the Pod template of a workload kind; known is false
// for kinds that `expand` does not judge.
func PodTemplatePath(workload GroupVersionKind) (path []string, known bool) {
	path, known = podTemplates[GroupVersionKind{Group: workload.Group, Kind: workload.Kind}]
	return path, known
}
