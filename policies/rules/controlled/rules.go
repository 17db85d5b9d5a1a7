// Package controlled has the rules that protect what Lintel's controllers create, for all
// systems.
//
// Invariant: the rules decide by the user and by the fields that a write changes. Whether
// an object has an owner that exists is a fact, and is never guessed from its labels.
package controlled

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
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
func New() (*engine.Snapshot, error) { return rules.Snapshot("controlled", files, nil) }
