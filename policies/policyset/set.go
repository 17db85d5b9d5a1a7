package policyset

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
)

// Set is one compiled source. It is immutable, except for Policy.LastOverrun and Policy.Cost.
type Set struct {
	source      definition.Pinned
	compiler    *ast.Compiler     // nil unless the set is analysed, or prints
	units       []*unit           // packages by name, and templates
	fileDigests map[string]string // of the modules, by file, during compilation
	dataDigest  string            // of the data files
	document    Document
	policies    []*Policy
	projection  clusterdata.Projection // of the required kinds
	rules       int
	compiled    int // the number of units that were compiled, not reused
	warnings    definition.CompileErrorList
	mutators    []*definition.Mutators // during compilation
	unplanned   []definition.Template  // templates without Rego, during compilation
	prints      bool                   // keeps the calls of print
	analysed    bool                   // keeps the results of the compiler
}

// Document is the part of input and data that all policies of a set have in common.
type Document struct {
	// Scope and Parameters are input.scope and input.parameters.
	Scope, Parameters *ast.Term
	// Data is the content of the data files.
	Data ast.Object
	// Required are the kinds of cluster objects that the policies require, by their key in
	// data.cluster.
	Required map[string]admission.GroupVersionKind
	// External are the names of the DataSources that the policies read, sorted.
	External []string
	// ReadsCSR reports that a policy can read input.csr.
	ReadsCSR bool
}

// List returns the policies of the set by package; not to be changed.
func (s *Set) List() []*Policy { return s.policies }

// Document returns the part of input and data that the policies have in common; not to be
// changed.
func (s *Set) Document() *Document { return &s.document }

// Pinned returns the source with its defaults and its digest; not to be changed.
func (s *Set) Pinned() definition.Pinned { return s.source }

// Name is the name of the source.
func (s *Set) Name() string { return s.source.Name }

// Digest is the digest of the source's files.
func (s *Set) Digest() string { return s.source.FilesDigest }

// Revision is what the source calls this state.
func (s *Set) Revision() string { return s.source.Revision }

// Files are the source's files; not to be changed.
func (s *Set) Files() map[string]string { return s.source.Files }

// Source is what the set was compiled from; not to be changed.
func (s *Set) Source() definition.Source { return s.source.Source }

// DataDigest is the digest of the data files.
func (s *Set) DataDigest() string { return s.dataDigest }

// CompiledFrom says whether compiling a source would give this set again: the same
// files at the same revision under the same settings.
func (s *Set) CompiledFrom(source definition.Source) bool {
	return s.Identity() == source.Identity() && s.source.Created.Equal(source.Created)
}

// Identity is that of the source.
func (s *Set) Identity() string { return s.source.Identity() }

// Policies counts the packages with entry points.
func (s *Set) Policies() int { return len(s.policies) }

// Rules counts the rules of all packages.
func (s *Set) Rules() int { return s.rules }

// Compiled counts the packages and templates that were compiled for this set. The others are
// reused from an earlier set.
func (s *Set) Compiled() int { return s.compiled }

// Warnings say what templates hold that is likely not meant.
func (s *Set) Warnings() definition.CompileErrorList { return s.warnings }

// Requires lists the kinds of cluster objects that the policies read, each once and
// without version.
func (s *Set) Requires() []admission.GroupVersionKind {
	kinds := make([]admission.GroupVersionKind, 0, len(s.document.Required))
	for _, key := range slices.Sorted(maps.Keys(s.document.Required)) {
		kinds = append(kinds, s.document.Required[key])
	}
	return kinds
}

// External lists the names of the DataSources that the policies read, sorted.
func (s *Set) External() []string { return s.document.External }

// Projection returns the kinds that the policies require, with the fields that they read.
func (s *Set) Projection() clusterdata.Projection { return s.projection }

// Compiler is what a set of Verify was compiled by, with the graph of its rules and what
// the engine adds to them: for analyses, not to be changed. It is nil for other sets, which
// live long.
func (s *Set) Compiler() *ast.Compiler { return s.compiler }

// Defines says whether data files of the source have something at a path under data: a.b.
func (s *Set) Defines(path string) bool { return s.hasData(strings.Split(path, ".")) }

func (s *Set) hasData(path []string) bool {
	return definition.Descend(s.document.Data, path) != nil
}

// require records kinds that a policy requires.
func (s *Set) require(kinds []admission.GroupVersionKind) {
	for _, kind := range kinds {
		s.document.Required[kind.String()] = kind
	}
}

// readExternal records DataSources that a policy names.
func (s *Set) readExternal(names []string) {
	for _, name := range names {
		if at, known := slices.BinarySearch(s.document.External, name); !known {
			s.document.External = slices.Insert(s.document.External, at, name)
		}
	}
}

// add adds a copy of a policy to the set.
func (s *Set) add(p *Policy) {
	own := *p
	own.LastOverrun, own.Cost = &atomic.Pointer[Overrun]{}, &Cost{}
	s.policies = append(s.policies, &own)
	s.require(own.Meta.Requires)
	s.readExternal(own.Meta.External)
}
