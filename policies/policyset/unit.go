package policyset

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// UnitFacts are the facts about a unit, the modules of one package or of one template, that
// decide whether it must be compiled again. They depend on its text alone.
type UnitFacts struct {
	// Name is the package without "data.", or "template " and the name of the template.
	Name string `json:"name"`
	// Files are the digests of the texts that it is made of, by name.
	Files map[string]string `json:"files"`
	// Packages are the paths of its packages below data. Refers are the paths that its
	// modules refer to, as far as they are constant: empty for data itself.
	Packages [][]string `json:"packages"`
	Refers   [][]string `json:"refers,omitempty"`
	Rules    int        `json:"rules"`
	// Requires are the kinds of cluster objects that the policy of the package requires,
	// and KindsRead the names by which its modules read some.
	Requires  []admission.GroupVersionKind `json:"requires,omitempty"`
	KindsRead []string                     `json:"reads,omitempty"`
	// External are the DataSources that the policy of the package names, and ExternalReads those
	// that its modules read.
	External      []string `json:"external,omitempty"`
	ExternalReads []string `json:"externalReads,omitempty"`
	// Batch is the index in Known.Batches of the batch in which the unit was compiled.
	Batch int `json:"batch"`
}

// BatchFacts are the sizes of units that were compiled together, which are bounded for a source
// as a whole.
type BatchFacts struct {
	Work bounds.Work `json:"work"`
	// Repeated is how many terms are planned again.
	Repeated int64 `json:"repeated"`
	// Units is how many units were compiled, some of them only because others need them.
	Units int `json:"units"`
}

// batch is a group of units that were compiled together.
type batch struct {
	BatchFacts
	program *eval.Program // nil where only the facts are known
}

// unit is a compiled unit. It is immutable, and shared by all sets of a source in which neither
// the unit nor its dependencies changed.
type unit struct {
	UnitFacts
	batch         *batch
	policy        *Policy                        // nil for libraries and templates; a copy joins each set
	entry         *templateEntry                 // nil for packages
	clusterFields map[string]*clusterdata.Fields // the fields that are read of cluster objects, by key; "" for any
	dataRefs      []ast.Ref                      // the data that the modules read, see Set.UndefinedData
	readsCSR      bool                           // can read input.csr
	unused        []definition.Unused
	// reads and mocks are those of the rules that the policy evaluates, and rulePaths where
	// the rules of the package are, see Set.MissingData.
	reads     []dataRead
	mocks     [][]string
	rulePaths [][]string
}

const templatePrefix = "template "

func (u *UnitFacts) isTemplate() bool { return strings.HasPrefix(u.Name, templatePrefix) }

// digestOf is equal for equal texts only.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
