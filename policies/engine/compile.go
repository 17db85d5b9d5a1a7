package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/eval"
)

// PolicySet is one compiled source. It is immutable.
type PolicySet struct {
	source     Source
	digest     string
	compiler   *ast.Compiler
	data       ast.Object
	parameters *ast.Term
	scope      *ast.Term
	policies   []*policy
	required   map[string]GroupVersionKind // by their key in data.cluster
	reads      Reads                       // of what is required
	rules      int
	warnings   []string
	place      *place // nil where no snapshot has given it one
	// readsRequest says that a policy can read input.csr.
	readsRequest bool
	prints       bool // keeps the calls of print
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
	// constraint is what a policy of a template adds: nil for Lintel's own.
	constraint *constraint
	// needsNamespace says that the policy can read input.namespace.
	needsNamespace bool
}

type ruleLine struct {
	line int
	name string
}

// Name is the name of the source.
func (s *PolicySet) Name() string { return s.source.Name }

// Digest is the digest of the source's files.
func (s *PolicySet) Digest() string { return s.digest }

// Revision is what the source calls this state.
func (s *PolicySet) Revision() string { return s.source.Revision }

// Files are the source's files; not to be changed.
func (s *PolicySet) Files() map[string]string { return s.source.Files }

// CompiledFrom says whether compiling a source would give this set again: the same
// files at the same revision under the same settings.
func (s *PolicySet) CompiledFrom(source Source) bool { return s.Identity() == source.Identity() }

// Identity is that of the source.
func (s *PolicySet) Identity() string { return digestOf([]*PolicySet{s}) }

// Identity is equal for sources that compile to the same set: the same files at the
// same revision under the same settings.
func (s Source) Identity() string { return digestOf([]*PolicySet{newPolicySet(s)}) }

// Settings is equal for sources that differ in their files alone.
func (s Source) Settings() string { return newPolicySet(s).settings() }

func (s *PolicySet) settings() string {
	same := *s
	same.digest = ""
	return same.Identity()
}

// Policies counts the packages with entry points.
func (s *PolicySet) Policies() int { return len(s.policies) }

// Rules counts the rules of all packages.
func (s *PolicySet) Rules() int { return s.rules }

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
	var templates []Template
	for _, dialect := range dialects {
		found, dialectErrs := dialect(s.source.Files)
		templates, errs = append(templates, found...), append(errs, dialectErrs...)
	}
	if len(errs) > 0 {
		return nil, distinct(errs)
	}
	if errs := s.build(modules, templates); len(errs) > 0 {
		return nil, distinct(errs)
	}
	return s, nil
}

// newPolicySet fills in what the source leaves open; nothing is compiled yet.
func newPolicySet(source Source) *PolicySet {
	if source.FailurePolicy == "" {
		source.FailurePolicy = Fail
	}
	if source.Scope.Level == "" {
		source.Scope.Level = Enterprise
	}
	set := &PolicySet{source: source, digest: source.Digest(), data: ast.NewObject()}
	if set.source.Revision == "" {
		set.source.Revision = set.digest
	}
	set.scope = ast.ObjectTerm(
		ast.Item(ast.InternedTerm("level"), ast.InternedTerm(string(source.Scope.Level))),
		ast.Item(ast.InternedTerm("name"), ast.InternedTerm(source.Scope.Name)),
	)
	return set
}

func (s *PolicySet) readParameters() error {
	s.parameters = ast.ObjectTerm()
	if len(s.source.Parameters) == 0 {
		return nil
	}
	term, err := decodeJSON(s.source.Parameters)
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
	var modules []*ast.Module
	var errs CompileErrors
	for _, name := range sortedKeys(s.source.Files) {
		switch classify(name) {
		case fileRego:
			module, moduleErrs := parseModule(name, s.source.Files[name])
			errs = append(errs, moduleErrs...)
			if module != nil {
				modules = append(modules, module)
				s.rules += len(module.Rules)
			}
		case fileData:
			if err := s.readData(name, s.source.Files[name]); err != nil {
				errs = append(errs, CompileError{File: name, Message: err.Error()})
			}
		}
	}
	return modules, errs
}

// parseModule reads Rego v1, else v0. A module that is neither shows the errors of
// the version it declares by its imports, else v1's.
func parseModule(name, text string) (*ast.Module, CompileErrors) {
	parse := func(version ast.RegoVersion) (*ast.Module, error) {
		options := parserOptions(version)
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
		return nil, compileErrors(errV0)
	default:
		return nil, compileErrors(errV1)
	}
}

// What a data file may come to once the aliases of its YAML are written out.
const (
	maxUnfoldedValues = 1 << 20
	maxUnfoldedBytes  = 64 << 20
)

// readData puts a data file at its folder's place under data.
func (s *PolicySet) readData(name, text string) error {
	if values, bytes := unfold(text); values > maxUnfoldedValues || bytes > maxUnfoldedBytes {
		return fmt.Errorf("reading data: its aliases stand for more than %d values or %d MiB; write fewer of them", maxUnfoldedValues, maxUnfoldedBytes>>20)
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return fmt.Errorf("reading data: %w", err)
	}
	term, err := decodeJSON(asJSON)
	if err != nil {
		return fmt.Errorf("reading data: %w", err)
	}
	if _, ok := term.Value.(ast.Object); !ok {
		return fmt.Errorf("data files hold an object at the top")
	}
	folders := strings.Split(name, "/")
	for _, folder := range slices.Backward(folders[:len(folders)-1]) {
		term = ast.ObjectTerm(ast.Item(ast.StringTerm(folder), term))
	}
	for _, reserved := range reservedKeys {
		if lookup(term.Value.(ast.Object), reserved) != nil {
			return fmt.Errorf("data.%s is reserved; use another key", reserved)
		}
	}
	merged, ok := s.data.Merge(term.Value.(ast.Object))
	if !ok {
		return fmt.Errorf("sets a value that another data file sets, too")
	}
	s.data = merged
	return nil
}

// build compiles everything and prepares the policies' queries.
func (s *PolicySet) build(modules []*ast.Module, templates []Template) CompileErrors {
	var errs CompileErrors
	packages := map[string][]*ast.Module{}
	byFile := map[string]*ast.Module{}
	for _, module := range modules {
		name := strings.TrimPrefix(module.Package.Path.String(), "data.")
		packages[name] = append(packages[name], module)
		byFile[module.Package.Location.File] = module
	}
	for _, name := range sortedKeys(packages) {
		p, err := s.newPolicy(name, packages[name])
		errs = append(errs, err...)
		if p != nil {
			s.policies = append(s.policies, p)
		}
	}
	for _, template := range templates {
		found, err := s.newTemplate(template, byFile)
		s.policies, errs = append(s.policies, found...), append(errs, err...)
	}
	s.readRequires()
	errs = append(errs, checkPackages(modules)...)
	if len(errs) > 0 {
		return errs
	}
	s.compiler = SourceBounds.On(ast.NewCompiler()).WithCapabilities(capabilities()).
		WithEvalMode(ast.EvalModeIR).
		WithEnablePrintStatements(s.prints).
		WithPathConflictsCheck(func(path []string) (bool, error) {
			return s.hasData(path), nil
		})
	s.compiler.Compile(byFile)
	if s.compiler.Failed() {
		for _, err := range compileErrors(s.compiler.Errors) {
			err.Message = readable(err.Message)
			errs = append(errs, explainBuiltin(err))
		}
		return errs
	}
	errs = append(errs, s.unrequired()...)
	s.findReads()
	rules := rulesByPackage(s.compiler)
	program, planErrs := s.plan()
	if errs = append(errs, planErrs...); len(errs) > 0 {
		return errs
	}
	for _, p := range s.policies {
		p.prepare(program)
		if p.constraint == nil {
			p.needsNamespace = readInput("namespace", rules[p.name], s.compiler.Graph)
			s.readsRequest = s.readsRequest || readInput("csr", rules[p.name], s.compiler.Graph)
		}
	}
	if !s.prints {
		return errs
	}
	for _, p := range s.policies {
		if p.constraint == nil {
			p.conditioned = readConditions(packages[p.name], s.compiler.Modules, entryOf)
		}
	}
	for _, template := range templates {
		conditioned := readConditions(template.Modules[:1], s.compiler.Modules, violationOf)
		for _, p := range s.policies {
			if p.path.Equal(template.Modules[0].Package.Path) {
				p.conditioned = conditioned
			}
		}
	}
	return errs
}

func (s *PolicySet) hasData(path []string) bool {
	return descend(s.data, path) != nil
}

// newPolicy reads one package: its metadata, and its entry points. Libraries give nil.
func (s *PolicySet) newPolicy(name string, modules []*ast.Module) (*policy, CompileErrors) {
	var errs CompileErrors
	p := &policy{set: s, name: name, path: modules[0].Package.Path, lines: map[string][]ruleLine{}, limit: &lastLimit{}, location: locationOf(modules[0].Package.Location)}
	for _, module := range modules {
		errs = append(errs, misspelledMetadata(module)...)
		for _, annotations := range module.Annotations {
			for _, err := range misplaced(annotations) {
				errs = append(errs, errorAt(annotations.Location, "METADATA: %v", err))
			}
			if annotations.Scope != "package" {
				if _, ok := annotations.Custom["match"]; ok {
					errs = append(errs, errorAt(annotations.Location, "match is read from the METADATA of the package only, not of a %s; move it above `package %s`", annotations.Scope, name))
				}
				continue
			}
			for _, err := range p.meta.merge(annotations) {
				errs = append(errs, errorAt(annotations.Location, "METADATA: %v", err))
			}
		}
	}
	for _, module := range modules {
		if p.meta.clock {
			break
		}
		errs = append(errs, clockCalls(module)...)
	}
	for _, module := range modules {
		file := module.Package.Location.File
		for _, rule := range module.Rules {
			p.lines[file] = append(p.lines[file], ruleLine{rule.Location.Row, rule.Head.Ref().String()})
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

// prepare finds the entry points of the policy in the program.
func (p *policy) prepare(program *eval.Program) {
	ask := func(entries ...string) *query {
		q := &query{program: program, lenient: p.constraint != nil}
		found := false
		for _, entry := range entries {
			rule := program.Rule(p.entry(entry))
			q.rules, found = append(q.rules, rule), found || rule != nil
		}
		if !found {
			return nil
		}
		return q
	}
	if p.constraint != nil {
		p.validate = ask(entryViolation, "")
		return
	}
	p.validate, p.mutate = ask(entryDeny, entryWarn), ask(entryPatch, entryDefaults)
}

// entry is the rule that answers for an entry point.
func (p *policy) entry(entry string) ast.Ref {
	if entry == entryDefaults {
		entry = reservedPrefix + entry
	}
	return p.path.Copy().Append(ast.StringTerm(entry))
}

// clockCalls finds the calls that need `clock: true`.
func clockCalls(module *ast.Module) CompileErrors {
	var errs CompileErrors
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		if ref.String() == clockBuiltin {
			errs = append(errs, errorAt(ref[0].Location, "%s needs `clock: true` under custom in the METADATA of the package", clockBuiltin))
		}
		return false
	})
	return errs
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
		key := strings.ReplaceAll(err.Error(), reservedPrefix, "")
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
