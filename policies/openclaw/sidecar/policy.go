// Package sidecar reads policies for the OPA sidecar of OpenClaw gateways, composes the policies
// of all scopes to one bundle, and signs it.
//
// Invariant: a bundle evaluates the meet of its policies, so that adding a policy of a narrower
// scope never permits more. No policy can refer to another policy or to the rules that join
// them. The effort of reading policies is counted and bounded before OPA reads them. An OPA that
// trusts the key of a signed bundle loads no other bundle.
package sidecar

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// Level is the breadth of a scope. A narrower one can restrict what the broader ones
// allow, never widen it.
type Level = hierarchy.Level

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	if level := Level(name); slices.Contains(hierarchy.AllLevels, level) {
		return level, nil
	}
	return "", fmt.Errorf("unknown scope %q: it is one of enterprise, org, team, user", name)
}

// Domain is an area of decisions. Only policies of one domain meet.
type Domain struct {
	Name string
	// Packages are the packages that policies of the domain may declare, and where
	// the answer is found: the first is the usual one, the others stand for it.
	Packages []string
}

// Source is the text of one policy of a scope.
type Source struct {
	// Level is the scope of the policy.
	Level Level
	// Name is unique among the policies of the chain, such as bundle/policy.
	Name string
	// Domain is what the policy decides about.
	Domain Domain
	// Content is Rego, v1 or v0.
	Content string
}

// Policy is a parsed policy of a scope.
type Policy struct {
	Source
	// Decisions are the names of the rules of the package that have a value, sorted.
	Decisions []string
	// Effort is the cost of reading the policy, in the unit of MaxEffort.
	Effort int
	// Path is that of its package, data included.
	Path ast.Ref

	hidden   int             // of its effort, what its words do not show
	compiler *ast.Compiler   // has compiled the policy alone; nil where it is only to be composed
	programs *programs       // of its decisions
	isolated string          // as Rego v1, in a package of its own
	forms    map[string]form // of its decisions
}

// ParseErrors is all that is wrong with the text of a policy, whose name stands for a file.
type ParseErrors []definition.CompileError

func (e ParseErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "; ")
}

// maxParseErrors is how many errors people are shown.
const maxParseErrors = 20

// first are the first of them, and how many more there are. OPA itself stops sooner.
func (e ParseErrors) first() ParseErrors {
	if len(e) <= maxParseErrors {
		return e
	}
	return append(e[:maxParseErrors:maxParseErrors], definition.CompileError{File: e[0].File, Message: fmt.Sprintf("and %d more errors", len(e)-maxParseErrors)})
}

// reservedRoots are the documents below data that a policy may not name, except its
// own package: the policies of other scopes, and what joins them.
var reservedRoots = []string{"lintel", "openclaw", "system"}

// Parse reads a policy and compiles it by itself, with the functions that a gateway's
// OPA has. The error is ParseErrors.
func Parse(source Source) (*Policy, error) {
	p := &Policy{Source: source}
	var effort Effort
	if err := effort.AddText(source.Name, source.Content); err != nil {
		return nil, err
	}
	module, err := parseModule(source)
	if err != nil {
		return nil, err
	}
	p.readHeads(module)
	if name := strings.TrimPrefix(module.Package.Path.String(), "data."); !slices.Contains(source.Domain.Packages, name) {
		return nil, ParseErrors{p.errorAt(module.Package.Location, "it is in package %s; a policy of domain %q must be in package %s",
			name, source.Domain.Name, strings.Join(source.Domain.Packages, " or "))}
	}
	if err := policyBounds.CheckNesting(module); err != nil {
		return nil, p.compileErrors(ast.Errors{err})
	}
	var errs ParseErrors
	errs = append(errs, p.removedFunctions(module)...)
	errs = append(errs, p.foreignReferences(module)...)
	errs = append(errs, p.namelessRules(module)...)
	if len(errs) > 0 {
		return nil, errs.first()
	}
	var work bounds.Work
	compiler, compileErrs := compile(policyBounds, &work, map[string]*ast.Module{source.Name: module})
	if len(compileErrs) > 0 {
		return nil, p.compileErrors(compileErrs)
	}
	p.hidden = hiddenEffort(p, work)
	if err := effort.AddPolicy(p); err != nil {
		return nil, err
	}
	p.Effort = effort.total
	compiler.Modules[source.Name].Comments = nil
	p.compiler, p.programs = compiler, &programs{}
	if p.isolated, err = p.isolate(module); err != nil {
		return nil, err
	}
	p.readForms()
	return p, nil
}

// parseModule reads Rego v1, else v0. Text that is neither shows the errors of v0 where
// it is written as v0 is: by rules without if.
func parseModule(source Source) (*ast.Module, error) {
	options := ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: gatewayCapabilities()}
	module, errV1 := ast.ParseModuleWithOpts(source.Name, source.Content, options)
	if errV1 == nil {
		return module, nil
	}
	options.RegoVersion = ast.RegoV0
	module, errV0 := ast.ParseModuleWithOpts(source.Name, source.Content, options)
	if errV0 == nil {
		return module, nil
	}
	err := errV1
	if !strings.Contains(source.Content, " if ") && !strings.Contains(source.Content, "import rego.v1") {
		err = errV0
	}
	return nil, (&Policy{Source: source}).parseErrors(err)
}

func (p *Policy) parseErrors(err error) ParseErrors {
	errs, ok := err.(ast.Errors)
	if !ok {
		return ParseErrors{{File: p.Name, Message: err.Error()}}
	}
	return p.compileErrors(errs)
}

func (p *Policy) compileErrors(errs ast.Errors) ParseErrors {
	out := make(ParseErrors, len(errs))
	for i, err := range errs {
		out[i] = p.errorAt(err.Location, "%s: %s", err.Code, err.Message)
		if name, undefined := strings.CutPrefix(err.Message, "undefined function "); undefined && slices.Contains(withheld, name) {
			out[i].Message = name + " reaches the network or the environment, and is not available to policies"
		}
	}
	return out
}

func (p *Policy) errorAt(location *ast.Location, format string, args ...any) definition.CompileError {
	err := definition.ErrorAt(location, format, args...)
	err.File = p.Name
	return err
}

// replacements maps functions that were removed in Rego v1 to their successors.
var replacements = map[string]string{
	"any":              "true in <collection>",
	"all":              "every x in <collection> { x }",
	"cast_array":       "a comprehension [x | some x in <collection>]",
	"cast_set":         "a comprehension {x | some x in <collection>}",
	"cast_string":      "is_string",
	"cast_boolean":     "is_boolean",
	"cast_null":        "is_null",
	"cast_object":      "is_object",
	"re_match":         "regex.match",
	"set_diff":         "the operator -",
	"net.cidr_overlap": "net.cidr_contains",
}

func (p *Policy) removedFunctions(module *ast.Module) ParseErrors {
	var errs ParseErrors
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		if replacement, removed := replacements[ref.String()]; removed {
			errs = append(errs, p.errorAt(ref[0].Location, "%s is not part of Rego v1; use %s", ref, replacement))
		}
		return false
	})
	return errs
}

// foreignReferences refuses to name other policies: in data, imports and withs.
func (p *Policy) foreignReferences(module *ast.Module) ParseErrors {
	var errs ParseErrors
	own := p.Path
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		switch {
		case !ref.HasPrefix(ast.DefaultRootRef) || ref.HasPrefix(own):
		case len(ref) == 1 || !isString(ref[1]):
			errs = append(errs, p.errorAt(ref[0].Location, "data is read as a whole or by a computed key: name the document, such as data.settings"))
		case slices.Contains(reservedRoots, string(ref[1].Value.(ast.String))):
			errs = append(errs, p.errorAt(ref[0].Location, "%s belongs to another policy; a policy reads input, its own rules and data of its own names", ref))
		}
		return false
	})
	return errs
}

// namelessRules rejects rules with the name _, which cannot be referenced.
func (p *Policy) namelessRules(module *ast.Module) ParseErrors {
	var errs ParseErrors
	for _, rule := range module.Rules {
		if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && name.IsWildcard() {
			errs = append(errs, p.errorAt(rule.Location, "a rule cannot be named _"))
		}
	}
	return errs
}

func isString(term *ast.Term) bool {
	_, ok := term.Value.(ast.String)
	return ok
}

// readHeads finds the package and the names of the rules.
func (p *Policy) readHeads(module *ast.Module) {
	p.Path = module.Package.Path.Copy()
	names := map[string]bool{}
	for _, rule := range module.Rules {
		if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && len(rule.Head.Args) == 0 {
			names[string(name)] = true
		}
	}
	p.Decisions = slices.Sorted(maps.Keys(names))
}

// Defines says whether the policy has a rule of that name.
func (p *Policy) Defines(decision string) bool {
	_, found := slices.BinarySearch(p.Decisions, decision)
	return found
}

// AllRules are the compiled rules.
func (p *Policy) AllRules() []*ast.Rule { return p.compiler.Modules[p.Name].Rules }

// Rules are the compiled rules of a name, default and function rules among them.
func (p *Policy) Rules(name string) []*ast.Rule {
	var rules []*ast.Rule
	for _, rule := range p.AllRules() {
		if head, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && string(head) == name {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Ref is what stands for the rules of a name.
func (p *Policy) Ref(name string) ast.Ref {
	return append(slices.Clone(p.Path), ast.StringTerm(name))
}

// RuleName is the name of the rules of the policy that a reference is about.
func (p *Policy) RuleName(ref ast.Ref) (string, bool) {
	own := p.Path
	if len(ref) <= len(own) || !ref.HasPrefix(own) || !isString(ref[len(own)]) {
		return "", false
	}
	return string(ref[len(own)].Value.(ast.String)), true
}
