package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/terms"
)

// PolicySet is one compiled source. It is immutable.
type PolicySet struct {
	source     Pinned
	compiler   *ast.Compiler     // nil unless it is analysed, or prints
	units      []*unit           // packages by name, and templates
	sums       map[string]string // of the modules, by file, while it is compiled
	data       ast.Object
	dataSum    string // of the data files
	parameters *ast.Term
	scope      *ast.Term
	policies   []*policy
	required   map[string]admission.GroupVersionKind // by their key in data.cluster
	reads      Reads                                 // of what is required
	rules      int
	compiled   int // how many units were, and not taken over
	warnings   []string
	place      hierarchy.Place // once a snapshot has given it one
	// anyEntry says that policies are asked in the entries of both failure policies.
	anyEntry bool
	// readsRequest says that a policy can read input.csr.
	readsRequest bool
	prints       bool // keeps the calls of print
	analysed     bool // keeps what the compiler found
}

// policy is one package with entry points.
type policy struct {
	set     *PolicySet
	name    string // the package, without "data."
	path    ast.Ref
	meta    metadata
	matcher *matcher
	rules   entryRules
	// conditioned are the rules as they are explained; nil where they are not to be.
	conditioned []conditionedRule
	// lines holds, per file, the rules by their first line, to place errors.
	lines map[string][]ruleLine
	// validate and mutate are nil where the package has no such entry points.
	validate, mutate *query
	location         Location
	limit            *lastLimit
	form             form
	// needsNamespace says that the policy can read input.namespace.
	needsNamespace bool
}

type ruleLine struct {
	line int
	name string // not a part of the text, which would be held for it
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
func (s *PolicySet) CompiledFrom(source Source) bool { return s.Identity() == source.Identity() }

// Identity is that of the source.
func (s *PolicySet) Identity() string { return s.source.Identity() }

// Policies counts the packages with entry points.
func (s *PolicySet) Policies() int { return len(s.policies) }

// Rules counts the rules of all packages.
func (s *PolicySet) Rules() int { return s.rules }

// Compiled counts the packages and templates that were compiled for this set: the others
// were taken over from another.
func (s *PolicySet) Compiled() int { return s.compiled }

// Warnings say what templates hold that is likely not meant.
func (s *PolicySet) Warnings() []string { return s.warnings }

// Compile compiles a source. The error is CompileErrors: all that is wrong, by
// file and line. Policies in other forms than Lintel's own come from the dialects.
func Compile(source Source, dialects ...Dialect) (*PolicySet, error) {
	return newPolicySet(source).compile(dialects)
}

// CompileForTest is Compile with the calls of print, which are otherwise left out, and with
// what telling coverage and explaining rules needs.
func CompileForTest(source Source, dialects ...Dialect) (*PolicySet, error) {
	set := newPolicySet(source)
	set.prints = true
	return set.compile(dialects)
}

func (s *PolicySet) compile(dialects []Dialect) (*PolicySet, error) {
	if err := s.readParameters(); err != nil {
		return nil, CompileErrors{{Message: err.Error()}}
	}
	modules, errs := s.readFiles()
	templates, dialectErrs := s.readTemplates(dialects)
	if errs = append(errs, dialectErrs...); len(errs) > 0 {
		return nil, distinct(errs)
	}
	drafts := draftsOf(modules, templates, s.sums)
	built, errs := s.build(drafts)
	if len(errs) > 0 {
		return nil, distinct(errs)
	}
	for _, d := range drafts {
		s.units = append(s.units, built[d])
	}
	if errs := s.assemble(templates); len(errs) > 0 {
		return nil, distinct(errs)
	}
	return s, nil
}

func (s *PolicySet) readTemplates(dialects []Dialect) (templates []Template, errs CompileErrors) {
	for _, dialect := range dialects {
		found, dialectErrs := dialect(s.source.Files)
		templates, errs = append(templates, found...), append(errs, dialectErrs...)
	}
	return templates, errs
}

// newPolicySet fills in what the source leaves open; nothing is compiled yet.
func newPolicySet(source Source) *PolicySet {
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
func (s *PolicySet) readFiles() ([]*ast.Module, CompileErrors) {
	s.sumFiles()
	parsed, data, errs := readFiles(s.source.Files, fileRego)
	s.data = data
	return byFile(slices.Collect(maps.Values(parsed))), errs
}

// sumFiles makes the sums by which a later set knows what has not changed.
func (s *PolicySet) sumFiles() {
	s.sums = map[string]string{}
	var data strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.source.Files)) {
		switch classify(name) {
		case fileRego:
			s.sums[name] = sumOf(s.source.Files[name])
		case fileData:
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
	data, errs := readData(s.source.Files)
	s.data = data
	return len(errs) == 0
}

// parseModule reads Rego v1, else v0. A module that is neither shows the errors of
// the version it declares by its imports, else v1's.
func parseModule(name, text string) (*ast.Module, CompileErrors) {
	parse := func(version ast.RegoVersion) (*ast.Module, error) {
		options := sandbox.ParserOptions(version)
		options.ProcessAnnotation = true
		return ast.ParseModuleWithOpts(name, text, options)
	}
	module, errV1 := parse(ast.RegoV1)
	if errV1 == nil {
		return module, nil
	}
	module, errV0 := parse(ast.RegoV0)
	switch {
	case errV0 == nil:
		return module, nil
	case !strings.Contains(text, "import rego.v1") && strings.Contains(text, "import future.keywords"):
		return nil, ParseErrors(errV0)
	default:
		return nil, ParseErrors(errV1)
	}
}

func (s *PolicySet) hasData(path []string) bool {
	return descend(s.data, path) != nil
}

// newPolicy reads one package: its metadata, and its entry points. Libraries give nil.
func newPolicy(name string, modules []*ast.Module) (*policy, CompileErrors) {
	var errs CompileErrors
	p := &policy{name: name, form: native{}, path: modules[0].Package.Path, lines: map[string][]ruleLine{}, location: locationOf(modules[0].Package.Location)}
	p.meta, errs = readMetadata(name, modules)
	for _, module := range modules {
		file := module.Package.Location.File
		for _, rule := range module.Rules {
			p.lines[file] = append(p.lines[file], ruleLine{rule.Location.Row, strings.Clone(rule.Head.Ref().String())})
		}
	}
	var entryErrs CompileErrors
	p.rules, entryErrs = readEntries(modules, entryOf)
	if errs = append(errs, entryErrs...); len(errs) > 0 {
		return nil, errs
	}
	if len(p.rules) == 0 {
		if p.meta.match != nil {
			return nil, CompileErrors{errorAt(p.meta.matchLocation, "package %s has a match but none of deny, warn, patch, defaults: nothing would ever be asked%s", name, misnamedEntries(modules))}
		}
		if len(p.meta.requires) > 0 {
			return nil, CompileErrors{errorAt(modules[0].Package.Location, "package %s requires cluster objects but has none of deny, warn, patch, defaults; put requires into the packages that use it, so that they are asked only when the objects are at hand", name)}
		}
		return nil, nil
	}
	if err := p.settle(); err != nil {
		return nil, CompileErrors{errorAt(p.meta.matchLocation, "METADATA: custom.match: %v", err)}
	}
	return p, nil
}

// settle fills in what the metadata leaves open.
func (p *policy) settle() error {
	match := Match{}
	if p.meta.match != nil {
		match = *p.meta.match
	}
	if p.meta.enforcement == "" {
		p.meta.enforcement = EnforceDeny
	}
	if p.meta.timeout == 0 {
		p.meta.timeout = DefaultTimeout
	}
	var err error
	p.matcher, err = newMatcher(match)
	return err
}

// distinct removes what OPA says twice, and what it says of a rule that was added: it says the same
// of the rule.
func distinct(errs CompileErrors) CompileErrors {
	for i, err := range errs {
		if err.Column > 0 && path.Ext(err.File) != ".rego" {
			errs[i].Column = 0 // within a block of YAML it counts from the indentation
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err CompileError) bool {
		key := strings.ReplaceAll(err.Error(), bounds.ReservedPrefix, "")
		duplicate := seen[key]
		seen[key] = true
		return duplicate
	})
}

// ruleAt is the name of the rule that stands at a place: "" where none does.
func (p *policy) ruleAt(loc Location) string {
	name := ""
	for _, rule := range p.lines[loc.File] {
		if rule.line <= loc.Line {
			name = rule.name
		}
	}
	return name
}

func locationOf(loc *ast.Location) Location {
	if loc == nil {
		return Location{}
	}
	return Location{loc.File, loc.Row}
}
