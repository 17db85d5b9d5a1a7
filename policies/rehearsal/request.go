package rehearsal

import (
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
)

// Request describes a rehearsal.
type Request struct {
	// Records is the URL of the store.
	Records string `json:"records"`
	// Since and Until are the period of the records.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Candidate is the revision to evaluate, and Live the one in force: nil if none is.
	Candidate definition.Source  `json:"candidate"`
	Live      *definition.Source `json:"live,omitempty"`
	// Others are the other live sources without their files: their scopes decide which
	// namespaces the policies bind.
	Others []definition.Source `json:"others,omitempty"`
	// Resources are the kinds that the cluster serves, the preferred version of each first.
	Resources []admission.ServedResource `json:"resources"`
	// Exceptions are those that are in force.
	Exceptions []*exception.Exception `json:"exceptions,omitempty"`
	// Tally is the state of an interrupted rehearsal of the same period; nil to begin.
	Tally *Tally `json:"tally,omitempty"`
}

// ResourcesOf lists all versions of a table of kinds, the preferred one first.
func ResourcesOf(table *admission.Resources) (list []admission.ServedResource) {
	for _, one := range table.All() {
		for _, version := range table.Versions(one.Group, one.Kind) {
			one.Version = version
			list = append(list, one)
		}
	}
	return list
}
