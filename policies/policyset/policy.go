package policyset

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/inert"
)

// Policy is one compiled policy: a package with entry points, or a constraint of a template.
type Policy struct {
	Name     string // the package without "data.", or the name of the constraint
	Meta     definition.Metadata
	Matcher  *definition.Matcher
	Location definition.Location
	// EntryRules are the rules of the entry points.
	EntryRules definition.RuleList
	// Bodies are the rules of the entry points with their conditions, for explanations; nil
	// unless the set is of CompileForTest.
	Bodies []RuleBody
	// Validate and Mutate are nil if the policy has no such entry points.
	Validate, Mutate *Query
	// ReadsNamespace reports that the policy can read input.namespace.
	ReadsNamespace bool
	// InputRead are the parts of the input that the policy can read; nil means all.
	InputRead *clusterdata.Fields
	// Constraint is nil for a package.
	Constraint *definition.Constraint
	// Mutators is set if the policy is the mutators of the source, which are not Rego.
	Mutators *definition.Mutators
	// Evaluator is set if the policy is not written in Rego, and Check if it is not a constraint,
	// either. Validate is then an empty query.
	Evaluator definition.Evaluator
	Check     *definition.Check
	// LastOverrun is the last limit that an evaluation has reached. It is here because it
	// outlives a snapshot: a new one is created with each change of any source.
	LastOverrun *atomic.Pointer[Overrun]
	// Cost is the work of the evaluations since the set was compiled.
	Cost *Cost

	path ast.Ref
	// lines holds, per file, the rules by their first line, to locate errors.
	lines map[string][]ruleLine
	// requires are the requirements of its rules for a request; nil for constraints.
	requires *inert.Policy
	// RequestReads are the rules that read fields that only a request has.
	RequestReads []NotAuditable
	// UserRead is the first reference to the user of the request in deny and warn; nil if there
	// is none.
	UserRead *NotAuditable
}

// Cost is the work of the evaluations of a policy, in steps.
type Cost struct {
	evaluations, steps, most atomic.Int64
}

// Add counts an evaluation.
func (c *Cost) Add(steps int64) {
	c.evaluations.Add(1)
	c.steps.Add(steps)
	for most := c.most.Load(); steps > most; most = c.most.Load() {
		if c.most.CompareAndSwap(most, steps) {
			return
		}
	}
}

// Load returns the number of evaluations, the steps of all of them, and the most of one.
func (c *Cost) Load() (evaluations, steps, most int64) {
	return c.evaluations.Load(), c.steps.Load(), c.most.Load()
}

// Overrun is an evaluation that a limit ended.
type Overrun struct {
	Limit string // steps, bytes, timeout, function, result or source
	At    time.Time
}

type ruleLine struct {
	line int
	name string // a copy, so that the text of the module is not retained
}

// rulePositions are the first lines of the rules of modules, by file.
func rulePositions(modules []*ast.Module) map[string][]ruleLine {
	lines := map[string][]ruleLine{}
	for _, module := range modules {
		file := module.Package.Location.File
		for _, rule := range module.Rules {
			lines[file] = append(lines[file], ruleLine{rule.Location.Row, strings.Clone(rule.Head.Ref().String())})
		}
	}
	return lines
}

// newPolicy reads one package: its metadata, and its entry points. Libraries give nil.
func newPolicy(name string, modules []*ast.Module) (*Policy, definition.CompileErrorList) {
	var errs definition.CompileErrorList
	p := &Policy{Name: name, path: modules[0].Package.Path, lines: rulePositions(modules), Location: definition.LocationOf(modules[0].Package.Location)}
	p.Meta, errs = definition.ReadMetadata(name, modules)
	var entryErrs definition.CompileErrorList
	p.EntryRules, entryErrs = definition.ReadEntries(modules, definition.EntryOf)
	if errs = append(errs, entryErrs...); len(errs) > 0 {
		return nil, errs
	}
	if len(p.EntryRules) == 0 {
		if p.Meta.Match != nil {
			return nil, definition.CompileErrorList{definition.ErrorAt(p.Meta.MatchLocation, "package %s has a match but none of deny, warn, patch, defaults: nothing would ever be asked%s", name, definition.MisnamedEntries(modules))}
		}
		if len(p.Meta.Requires) > 0 {
			return nil, definition.CompileErrorList{definition.ErrorAt(modules[0].Package.Location, "package %s requires cluster objects but has none of deny, warn, patch, defaults; put requires into the packages that use it, so that they are asked only when the objects are at hand", name)}
		}
		if len(p.Meta.External) > 0 {
			return nil, definition.CompileErrorList{definition.ErrorAt(modules[0].Package.Location, "package %s names DataSources (custom.external) but has none of deny, warn, patch, defaults; put external into the packages that use it, so that they are evaluated only while the data is available", name)}
		}
		return nil, nil
	}
	if err := p.setDefaults(); err != nil {
		return nil, definition.CompileErrorList{definition.ErrorAt(p.Meta.MatchLocation, "METADATA: custom.match: %v", err)}
	}
	return p, nil
}

// setDefaults fills in what the metadata leaves open.
func (p *Policy) setDefaults() error {
	match := definition.Match{}
	if p.Meta.Match != nil {
		match = *p.Meta.Match
	}
	if p.Meta.Enforcement == "" {
		p.Meta.Enforcement = definition.EnforceDeny
	}
	if p.Meta.Timeout == 0 {
		p.Meta.Timeout = definition.DefaultTimeout
	}
	var err error
	p.Matcher, err = definition.NewMatcher(match)
	return err
}

// newMutatorPolicy makes a policy of the mutators of a source.
func newMutatorPolicy(source string, mutators *definition.Mutators) (*Policy, error) {
	p := &Policy{
		Name: definition.MutatorsName(source), Location: mutators.Location, Mutators: mutators,
		ReadsNamespace: mutators.ReadsNamespaceLabels,
		Meta:           definition.Metadata{Match: &mutators.Match},
	}
	return p, p.setDefaults()
}

// Changes reports whether the policy can change objects.
func (p *Policy) Changes() bool { return p.Mutate != nil || p.Mutators != nil }

// RuleAt returns the name of the rule at a location, or "".
func (p *Policy) RuleAt(loc definition.Location) string {
	name := ""
	for _, rule := range p.lines[loc.File] {
		if rule.line <= loc.Line {
			name = rule.name
		}
	}
	return name
}
