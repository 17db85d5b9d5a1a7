package replay

import (
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// subjectOf describes a request.
func subjectOf(review *admission.Review, at time.Time) Subject {
	return Subject{
		UID: review.UID, Time: at, Operation: review.Operation, Kind: review.Kind, SubResource: review.SubResource,
		Namespace: review.Namespace, Name: review.DisplayName(), User: review.Username, Workload: workloadOf(review),
	}
}

// workloadOf is the controller of the object, without the hash that each rollout changes.
func workloadOf(review *admission.Review) string {
	object := review.New.Value()
	if object == nil {
		object = review.Old.Value()
	}
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	owners, _ := terms.Lookup(metadata, "ownerReferences").(*ast.Array)
	if owners != nil {
		for i := range owners.Len() {
			owner, _ := owners.Elem(i).Value.(ast.Object)
			if terms.Lookup(owner, "controller") != ast.Boolean(true) {
				continue
			}
			kind, name := terms.Text(owner, "kind"), terms.Text(owner, "name")
			labels, _ := terms.Lookup(metadata, "labels").(ast.Object)
			if hash := terms.Text(labels, "pod-template-hash"); hash != "" && kind == "ReplicaSet" && strings.HasSuffix(name, "-"+hash) {
				return "Deployment/" + strings.TrimSuffix(name, "-"+hash)
			}
			return kind + "/" + name
		}
	}
	return review.Kind.Kind + "/" + review.DisplayName()
}
