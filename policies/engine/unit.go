package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
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
	// Files are the sums of the texts that it is made of, by name.
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

// Known is what another process has to know of a set to compile what differs from it.
type Known struct {
	Units   []UnitFacts  `json:"units"`
	Batches []BatchFacts `json:"batches"`
	// Data is the sum of the data files.
	Data string `json:"data"`
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
	batch *batch
	// policy is nil for libraries, and template for packages. The policy belongs to no
	// set yet.
	policy   *compiledPolicy
	template *compiledTemplate
	clusters map[string]*clusterdata.Fields // the fields that are read of cluster objects, by key; "" for any
	data     []ast.Ref                      // that the modules read, see PolicySet.UndefinedData
	request  bool                           // can read input.csr
	unasked  []definition.Unused
	// reads and mocks are those of the rules that the policy evaluates, and rulePaths where
	// the rules of the package are, see PolicySet.MissingData.
	reads     []dataRead
	mocks     [][]string
	rulePaths [][]string
}

const templateUnit = "template "

func (u *UnitFacts) isTemplate() bool { return strings.HasPrefix(u.Name, templateUnit) }

// sumOf is equal for equal texts only.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Known returns the facts of the set.
func (s *PolicySet) Known() Known {
	known := Known{Data: s.dataSum}
	indices := map[*batch]int{}
	for _, u := range s.units {
		i, seen := indices[u.batch]
		if !seen {
			i = len(known.Batches)
			indices[u.batch] = i
			known.Batches = append(known.Batches, u.batch.BatchFacts)
		}
		facts := u.UnitFacts
		facts.Batch = i
		known.Units = append(known.Units, facts)
	}
	return known
}

// knownSet is a set of which only the facts are known.
func knownSet(known Known) *PolicySet {
	batches := make([]*batch, len(known.Batches))
	for i, facts := range known.Batches {
		batches[i] = &batch{BatchFacts: facts}
	}
	s := &PolicySet{dataSum: known.Data}
	for _, facts := range known.Units {
		if facts.Batch < 0 || facts.Batch >= len(batches) {
			return nil // not written by Known
		}
		s.units = append(s.units, &unit{UnitFacts: facts, batch: batches[facts.Batch], template: &compiledTemplate{}})
	}
	return s
}

// draft is a unit that is to be compiled.
type draft struct {
	UnitFacts
	// modules are those that were parsed, in order, and names what the compiler calls them.
	modules  []*ast.Module
	names    []string
	template *definition.Template // nil for a package
	// support says that it is compiled only because others need it.
	support  bool
	policy   *compiledPolicy
	compiled *compiledTemplate
	reads    []dataRead
	mocks    [][]string
}

// draftPackage makes a draft of the modules of a package, by file.
func draftPackage(modules []*ast.Module, sums map[string]string) *draft {
	d := &draft{modules: modules, UnitFacts: UnitFacts{Name: definition.PackageName(modules[0]), Files: map[string]string{}}}
	for _, module := range modules {
		file := module.Package.Location.File
		d.Files[file] = sums[file]
		d.names = append(d.names, file)
	}
	d.survey()
	return d
}

// draftTemplate makes a draft of a template.
func draftTemplate(template *definition.Template) *draft {
	d := &draft{modules: template.Modules, template: template}
	d.UnitFacts = UnitFacts{Name: templateUnit + template.Name, Files: map[string]string{template.Name: sumOf(template.Text)}}
	for i, module := range template.Modules {
		d.names = append(d.names, fmt.Sprintf("%s#%s.%d", module.Package.Location.File, template.Name, i))
	}
	d.survey()
	return d
}

// survey finds what the modules are connected with.
func (d *draft) survey() {
	refers := map[string][]string{}
	add := func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			path := constantPath(ref)
			refers[pathKey(path)] = path
		}
		return false
	}
	for _, module := range d.modules {
		if path := constantPath(module.Package.Path); !slices.ContainsFunc(d.Packages, func(other []string) bool { return slices.Equal(other, path) }) {
			d.Packages = append(d.Packages, path)
		}
		d.Rules += len(module.Rules)
		ast.WalkRefs(module, add)
	}
	for _, key := range slices.Sorted(maps.Keys(refers)) {
		d.Refers = append(d.Refers, refers[key])
	}
}

// constantPath is the constant prefix of a reference below data. It does not retain the text of
// the reference.
func constantPath(ref ast.Ref) []string {
	path := []string{}
	for _, element := range ref[1:] {
		key, isText := element.Value.(ast.String)
		if !isText {
			break
		}
		path = append(path, strings.Clone(string(key)))
	}
	return path
}

// connections are, for each unit, the units on which it depends: those at, above or below its
// references, and those of its own packages. If one package is above another, they depend on
// each other, because their rules may conflict.
func connections(units []*UnitFacts) [][]int {
	at, below := map[string][]int{}, map[string][]int{} // by path: the units there, and there or below
	for i, u := range units {
		for _, path := range u.Packages {
			at[pathKey(path)] = append(at[pathKey(path)], i)
			for n := range len(path) + 1 {
				below[pathKey(path[:n])] = append(below[pathKey(path[:n])], i)
			}
		}
	}
	edges := make([][]int, len(units))
	for i, u := range units {
		found := map[int]bool{}
		for _, path := range slices.Concat(u.Packages, u.Refers) {
			connected := below[pathKey(path)]
			for n := range path {
				connected = slices.Concat(connected, at[pathKey(path[:n])])
			}
			for _, other := range connected {
				found[other] = true
			}
		}
		delete(found, i)
		edges[i] = slices.Collect(maps.Keys(found))
	}
	return edges
}

// pathKey is different for different paths.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// reach says which nodes can be reached from some, themselves included.
func reach(edges [][]int, from []int) []bool {
	reached := make([]bool, len(edges))
	for len(from) > 0 {
		node := from[len(from)-1]
		from = from[:len(from)-1]
		if !reached[node] {
			reached[node] = true
			from = append(from, edges[node]...)
		}
	}
	return reached
}

func reversed(edges [][]int) [][]int {
	out := make([][]int, len(edges))
	for from, all := range edges {
		for _, to := range all {
			out[to] = append(out[to], from)
		}
	}
	return out
}

// Compiler is what a set of Verify was compiled by, with the graph of its rules and what
// the engine adds to them: for analyses, not to be changed. It is nil for other sets, which
// live long.
func (s *PolicySet) Compiler() *ast.Compiler { return s.compiler }
