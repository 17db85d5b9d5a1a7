// Package controlled has the rules that protect what Lintel's controllers create, for all
// systems.
//
// Invariant: the rules decide by the user and by the fields that a write changes. Whether
// an object has an owner that exists is a fact, and is never guessed from its labels.
package controlled

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

//go:embed names.rego objects.rego subject.rego
var files embed.FS

// Facts are what the rules read as input.facts.
type Facts struct {
	// Users may write all objects.
	Users []string `json:"users"`
	// Labels are the values of the label app.kubernetes.io/managed-by that mark the objects
	// of systems.
	Labels []string `json:"labels"`
	// Owner is the existing object that controls the object under review: nil if there is
	// none.
	Owner *Owner `json:"owner,omitempty"`
	// Kept is whether the object may be stored while its owner does not exist.
	Kept bool `json:"kept"`
	// Claimants are the existing objects whose controllers create an object of the name that
	// is under review.
	Claimants []Owner `json:"claimants"`
}

// Owner is an object for which controllers create others.
type Owner struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// New compiles the rules.
func New() (*engine.Snapshot, error) {
	texts, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	set, err := engine.Compile(definition.Source{Name: "controlled", Revision: "built-in", Files: texts})
	if err != nil {
		return nil, err
	}
	return engine.NewSnapshot(admission.BuiltinResources(), set), nil
}
