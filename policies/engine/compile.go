package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/inert"
	"github.com/lintel-policy/lintel/policies/terms"
)

// PolicySet is one compiled source. It is immutable.
type PolicySet struct {
	source     definition.Pinned
	compiler   *ast.Compiler     // nil unless it is analysed, or prints
	units      []*unit           // packages by name, and templates
	sums       map[string]string // of the modules, by file, while it is compiled
	data       ast.Object
	dataSum    string // of the data files
	parameters *ast.Term
	scope      *ast.Term
	policies   []*compiledPolicy
	required   map[string]admission.GroupVersionKind // by their key in data.cluster
	projection clusterdata.Projection                // of the required kinds
	rules      int
	compiled   int // how many units were, and not taken over
	warnings   definition.CompileErrors
	place      hierarchy.Place // once a snapshot has given it one
	// anyEntry reports that the policies are evaluated in the entries of both failure policies.
	anyEntry bool
	// readsRequest says that a policy can read input.csr.
	readsRequest bool
	prints       bool // keeps the calls of print
	analysed     bool // keeps what the compiler found
}

// compiledPolicy is one package with entry points.
type compiledPolicy struct {
	set     *PolicySet
	name    string // the package, without "data."
	path    ast.Ref
	meta    definition.Metadata
	matcher *definition.Matcher
	rules   definition.Rules
	// conditioned are the rules as they are explained; nil where they are not to be.
	conditioned []conditionedRule
	// lines holds, per file, the rules by their first line, to place errors.
	lines map[string][]ruleLine
	// validate and mutate are nil where the package has no such entry points.
	validate, mutate *query
	location         definition.Location
	limit            *atomic.Pointer[limitAt] // shared by the copies of the policy
	form             form
	// needsNamespace says that the policy can read input.namespace.
	needsNamespace bool
	// requires is what its rules require of a request; nil for constraints.
	requires *inert.Policy
	// requestReads are the rules that read what only a request has.
	requestReads []NotAuditable
}

type ruleLine struct {
	line int
	name string // not a part of the text, which would be held for it
}

// ruleLines are the first lines of the rules of modules, by file.
func ruleLines(modules []*ast.Module) map[string][]ruleLine {
	lines := map[string][]ruleLine{}
	for _, module := range modules {
		file := module.Package.Location.File
		for _, rule := range module.Rules {
			lines[file] = append(lines[file], ruleLine{rule.Location.Row, strings.Clone(rule.Head.Ref().String())})
		}
	}
	return lines
}

// Name is the name of the source.
func (s *PolicySet) Name() string { return s.source.Name }

// Digest is the digest of the source's files.
func (s *PolicySet) Digest() string { return s.source.FilesDigest }

// Revision is what the source calls this state.
func (s *PolicySet) Revision() string { return s.source.Revision }

// Files are the source's files; not to be changed.
func (s *PolicySet) Files() map[string]string { return s.source.Files }

// CompiledFrom says whether compiling a source would give this set again: the same
// files at the same revision under the same settings.
func (s *PolicySet) CompiledFrom(source definition.Source) bool {
	return s.Identity() == source.Identity()
}

// Identity is that of the source.
func (s *PolicySet) Identity() string { return s.source.Identity() }

// Policies counts the packages with entry points.
func (s *PolicySet) Policies() int { return len(s.policies) }

// Rules counts the rules of all packages.
func (s *PolicySet) Rules() int { return s.rules }

// Compiled counts the packages and templates that were compiled for this set. The others are
// reused from an earlier set.
func (s *PolicySet) Compiled() int { return s.compiled }

// Warnings say what templates hold that is likely not meant.
func (s *PolicySet) Warnings() definition.CompileErrors { return s.warnings }

// Compile compiles a source. The error is CompileErrors: all that is wrong, by
// file and line. Policies in other forms than Lintel's own come from the dialects.
func Compile(source definition.Source, dialects ...definition.Dialect) (*PolicySet, error) {
	return newPolicySet(source).compile(dialects)
}

// CompileForTest is Compile with the calls of print, which are otherwise left out, and with
// what telling coverage and explaining rules needs.
func CompileForTest(source definition.Source, dialects ...definition.Dialect) (*PolicySet, error) {
	set := newPolicySet(source)
	set.prints = true
	return set.compile(dialects)
}

func (s *PolicySet) compile(dialects []definition.Dialect) (*PolicySet, error) {
	if err := s.readParameters(); err != nil {
		return nil, definition.CompileErrors{{Message: err.Error()}}
	}
	modules, errs := s.readFiles()
	templates, dialectErrs := s.readTemplates(dialects)
	if errs = append(errs, dialectErrs...); len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	drafts := draftsOf(modules, templates, s.sums)
	built, errs := s.build(drafts)
	if len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	for _, d := range drafts {
		s.units = append(s.units, built[d])
	}
	if errs := s.assemble(templates); len(errs) > 0 {
		return nil, definition.Distinct(errs)
	}
	return s, nil
}

func (s *PolicySet) readTemplates(dialects []definition.Dialect) (templates []definition.Template, errs definition.CompileErrors) {
	for _, dialect := range dialects {
		found, dialectErrs := dialect(s.source.Files)
		templates, errs = append(templates, found...), append(errs, dialectErrs...)
	}
	return templates, errs
}

// newPolicySet fills in what the source leaves open; nothing is compiled yet.
func newPolicySet(source definition.Source) *PolicySet {
	set := &PolicySet{source: source.Pin(), data: ast.NewObject()}
	set.scope = ast.ObjectTerm(
		ast.Item(ast.InternedTerm("level"), ast.InternedTerm(string(set.source.Scope.Level))),
		ast.Item(ast.InternedTerm("name"), ast.InternedTerm(source.Scope.Name)),
	)
	return set
}

func (s *PolicySet) readParameters() error {
	s.parameters = ast.ObjectTerm()
	if len(s.source.Parameters) == 0 {
		return nil
	}
	term, err := terms.Decode(s.source.Parameters)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if _, ok := term.Value.(ast.Object); !ok {
		return fmt.Errorf("parameters: not an object")
	}
	s.parameters = term
	return nil
}

// readFiles parses the modules, by path, and merges the data files.
func (s *PolicySet) readFiles() ([]*ast.Module, definition.CompileErrors) {
	s.sumFiles()
	parsed, data, errs := definition.ReadFiles(s.source.Files, definition.FileRego)
	s.data = data
	return byFile(slices.Collect(maps.Values(parsed))), errs
}

// sumFiles computes the sums by which a later set detects unchanged files.
func (s *PolicySet) sumFiles() {
	s.sums = map[string]string{}
	var data strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.source.Files)) {
		switch definition.Classify(name) {
		case definition.FileRego:
			s.sums[name] = sumOf(s.source.Files[name])
		case definition.FileData:
			fmt.Fprintf(&data, "%q %s ", name, sumOf(s.source.Files[name]))
		}
	}
	s.dataSum = sumOf(data.String())
}

// readDataSince reads the data files, unless another set has the same.
func (s *PolicySet) readDataSince(before *PolicySet) (ok bool) {
	s.sumFiles()
	if s.dataSum == before.dataSum && before.data != nil {
		s.data = before.data
		return true
	}
	data, errs := definition.ReadData(s.source.Files)
	s.data = data
	return len(errs) == 0
}

func (s *PolicySet) hasData(path []string) bool {
	return definition.Descend(s.data, path) != nil
}

// newPolicy reads one package: its metadata, and its entry points. Libraries give nil.
func newPolicy(name string, modules []*ast.Module) (*compiledPolicy, definition.CompileErrors) {
	var errs definition.CompileErrors
	p := &compiledPolicy{name: name, form: native{}, path: modules[0].Package.Path, lines: ruleLines(modules), location: definition.LocationOf(modules[0].Package.Location)}
	p.meta, errs = definition.ReadMetadata(name, modules)
	var entryErrs definition.CompileErrors
	p.rules, entryErrs = definition.ReadEntries(modules, definition.EntryOf)
	if errs = append(errs, entryErrs...); len(errs) > 0 {
		return nil, errs
	}
	if len(p.rules) == 0 {
		if p.meta.Match != nil {
			return nil, definition.CompileErrors{definition.ErrorAt(p.meta.MatchLocation, "package %s has a match but none of deny, warn, patch, defaults: nothing would ever be asked%s", name, definition.MisnamedEntries(modules))}
		}
		if len(p.meta.Requires) > 0 {
			return nil, definition.CompileErrors{definition.ErrorAt(modules[0].Package.Location, "package %s requires cluster objects but has none of deny, warn, patch, defaults; put requires into the packages that use it, so that they are asked only when the objects are at hand", name)}
		}
		return nil, nil
	}
	if err := p.setDefaults(); err != nil {
		return nil, definition.CompileErrors{definition.ErrorAt(p.meta.MatchLocation, "METADATA: custom.match: %v", err)}
	}
	return p, nil
}

// setDefaults fills in what the metadata leaves open.
func (p *compiledPolicy) setDefaults() error {
	match := definition.Match{}
	if p.meta.Match != nil {
		match = *p.meta.Match
	}
	if p.meta.Enforcement == "" {
		p.meta.Enforcement = definition.EnforceDeny
	}
	if p.meta.Timeout == 0 {
		p.meta.Timeout = definition.DefaultTimeout
	}
	var err error
	p.matcher, err = definition.NewMatcher(match)
	return err
}

// ruleAt returns the name of the rule at a location, or "".
func (p *compiledPolicy) ruleAt(loc definition.Location) string {
	name := ""
	for _, rule := range p.lines[loc.File] {
		if rule.line <= loc.Line {
			name = rule.name
		}
	}
	return name
}
