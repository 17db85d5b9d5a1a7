package blocked

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// owner is the controller in the ownerReferences of an object.
type owner struct {
	apiVersion, kind, name string
	uid                    types.UID
}

// denial is the denied creation of an object that has a controller.
type denial struct {
	namespace string
	object    string // kind and name, for the message
	owner     owner
	message   string
}

// denialOf reads the controller of a denied object. It returns false if the object has none.
func denialOf(review *admission.Review, texts []string) (denial, bool) {
	if review.Operation != "CREATE" || review.SubResource != "" || review.DryRun || review.New == nil {
		return denial{}, false
	}
	metadata, _ := terms.Lookup(review.New.Value(), "metadata").(ast.Object)
	if metadata == nil {
		return denial{}, false
	}
	references, _ := terms.Lookup(metadata, "ownerReferences").(*ast.Array)
	if references == nil {
		return denial{}, false
	}
	for i := range references.Len() {
		reference, ok := references.Elem(i).Value.(ast.Object)
		if !ok || terms.Lookup(reference, "controller") != ast.Boolean(true) {
			continue
		}
		name := review.Name
		if name == "" {
			name = terms.Text(metadata, "generateName") + "…"
		}
		return denial{
			namespace: review.Namespace, object: review.Kind.Kind + " " + name, message: strings.Join(texts, "; "),
			owner: owner{
				apiVersion: strings.Clone(terms.Text(reference, "apiVersion")), kind: strings.Clone(terms.Text(reference, "kind")),
				name: strings.Clone(terms.Text(reference, "name")), uid: types.UID(strings.Clone(terms.Text(reference, "uid"))),
			},
		}, true
	}
	return denial{}, false
}
