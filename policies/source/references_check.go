package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/lintel-policy/lintel/policies/engine"
)

// checkReferences finds the references that nothing a policy matches can have. The
// modules compile. Policies that no check names are not checked, nor are the rules that
// they come to.
//
// Rules are checked by OPA's own type checker, once for each check, so that variables
// are followed to what they stand for. A rule that several policies come to is wrong
// where it is wrong for all of them.
func checkReferences(modules map[string]*ast.Module, policies []matched, checks []ReferenceCheck) engine.CompileErrors {
	if len(checks) == 0 {
		return nil
	}
	graph := newRuleGraph(modules)
	unchecked := graph.replaced()
	for rule := range graph.reach(graph.without(policies, checks)) {
		unchecked[rule] = true
	}
	users := map[*ast.Rule][]int{} // the checks that come to a rule
	found := map[place]*suspect{}
	for i, check := range checks {
		reached := graph.reach(graph.rulesOf(check.Packages))
		for rule := range reached {
			users[rule] = append(users[rule], i)
		}
		for _, failure := range typeErrors(graph.modulesOf(modules, reached), check.Input) {
			rule := graph.ruleAt(failure.at)
			if rule == nil || !reached[rule] || unchecked[rule] {
				continue
			}
			one := found[failure.place]
			if one == nil {
				one = &suspect{failure: failure, rule: rule}
				found[failure.place] = one
			}
			one.checks = append(one.checks, i)
		}
	}
	var errs engine.CompileErrors
	for _, one := range found {
		if len(one.checks) == len(users[one.rule]) {
			errs = append(errs, one.error(checks))
		}
	}
	slices.SortFunc(errs, func(a, b engine.CompileError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return errs
}

// suspect is a reference that fails in some checks.
type suspect struct {
	failure
	rule   *ast.Rule
	checks []int
}

// failure is a reference that OPA cannot resolve.
type failure struct {
	place
	at *ast.Location
	// parent and key are what is referred to, as the author wrote it.
	parent, key string
	// scalar and list say what the parent is, where it is no object; fields are those
	// of an object.
	scalar, list bool
	fields       []string
	// envelope says that the parent is part of neither object.
	envelope bool
}

type place struct {
	file           string
	line, column   int
	reference, key string
}

// typeErrors are the references of the modules that an input cannot have.
func typeErrors(modules map[string]*ast.Module, input json.RawMessage) []failure {
	schemas := ast.NewSchemaSet()
	var document any
	if err := json.Unmarshal(input, &document); err != nil {
		return nil // the parent wrote it
	}
	schemas.Put(ast.SchemaRootRef, document)
	compiler := ast.NewCompiler().WithCapabilities(engine.Capabilities()).
		WithSchemas(schemas).WithOnlyStagesUpTo(ast.StageCheckTypes).SetErrorLimit(0)
	compiler.Compile(modules)
	seen := map[place]bool{}
	var out []failure
	for _, err := range compiler.Errors {
		if one, ok := readFailure(err); ok && !seen[one.place] {
			seen[one.place] = true
			out = append(out, one)
		}
	}
	return out
}

// readFailure reads an error of a key that is text: an index of another type is no
// name that somebody misspelled.
func readFailure(err *ast.Error) (failure, bool) {
	if err.Location == nil {
		return failure{}, false
	}
	one := failure{at: err.Location}
	var ref ast.Ref
	var position int
	switch detail := err.Details.(type) {
	case *ast.RefErrInvalidDetail:
		ref, position = detail.Ref, detail.Pos
		for _, value := range detail.OneOf {
			if name, ok := value.(ast.String); ok {
				one.fields = append(one.fields, string(name))
			}
		}
		one.list = types.Compare(detail.Want, types.N) == 0
	case *ast.RefErrUnsupportedDetail:
		ref, position = detail.Ref, detail.Pos+1
		one.scalar = true
	default:
		return failure{}, false
	}
	if position >= len(ref) {
		return failure{}, false
	}
	key, isText := ref[position].Value.(ast.String)
	if !isText {
		return failure{}, false
	}
	one.parent, one.key = ref[:position].String(), string(key)
	one.envelope = outsideObjects(ref, position)
	one.place = place{one.at.File, one.at.Row, one.at.Col, ref.String(), one.key}
	return one, true
}

// outsideObjects says whether a position is in the input but in neither object.
func outsideObjects(ref ast.Ref, position int) bool {
	if !ref[0].Equal(ast.InputRootDocument) {
		return false
	}
	return position < 3 || !ref[2].Equal(ast.StringTerm("object")) && !ref[2].Equal(ast.StringTerm("oldObject"))
}

func (s *suspect) error(checks []ReferenceCheck) engine.CompileError {
	err := engine.CompileError{File: s.at.File, Line: s.at.Row, Column: s.at.Col}
	whole := s.parent + "." + s.key
	if strings.Contains(s.parent, "__local") { // OPA's own name for what has none
		whole = s.key
	}
	where := s.kinds(checks)
	switch {
	case s.envelope:
		err.Message = fmt.Sprintf("%s is nothing that policies are given; %s", whole, s.instead())
	case s.list:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s: %s is a list; take its elements, with %s[_] or `some element in %s`", whole, where, s.parent, s.parent, s.parent)
	case s.scalar:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s: what it is looked for in is a single value without fields; remove .%s", whole, where, s.key)
	default:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s; %s", whole, where, s.instead())
	}
	return err
}

// kinds says what the policies match that come to the rule.
func (s *suspect) kinds(checks []ReferenceCheck) string {
	own := strings.TrimPrefix(s.rule.Module.Package.Path.String(), "data.")
	var all []string
	for _, i := range s.checks {
		all = append(all, checks[i].Kinds...)
		if slices.Contains(checks[i].Packages, own) {
			return fmt.Sprintf("that policy %s matches (%s)", own, strings.Join(checks[i].Kinds, ", "))
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("that the policies match which use package %s (%s)", own, strings.Join(slices.Compact(all), ", "))
}

// instead says what to write: the field whose name is nearest, where one is near.
func (s *suspect) instead() string {
	best, least := "", max(2, len(s.key)/4)+1
	for _, name := range slices.Sorted(slices.Values(s.fields)) {
		if distance := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(s.key)); distance < least {
			best, least = name, distance
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return fmt.Sprintf("correct it, or write object.get(%s, %q, null) where it is meant to be absent", s.parent, s.key)
}

// ruleGraph knows which rules come to which.
type ruleGraph struct {
	compiler *ast.Compiler
	byFile   map[string][]*ast.Rule // in the order of the text
}

func newRuleGraph(modules map[string]*ast.Module) *ruleGraph {
	compiler := ast.NewCompiler().WithCapabilities(engine.Capabilities()).WithOnlyStagesUpTo(ast.StageSetGraph)
	compiler.Compile(modules)
	g := &ruleGraph{compiler: compiler, byFile: map[string][]*ast.Rule{}}
	for name, module := range compiler.Modules {
		g.byFile[name] = module.Rules
		slices.SortStableFunc(g.byFile[name], func(a, b *ast.Rule) int { return cmp.Compare(a.Location.Offset, b.Location.Offset) })
	}
	return g
}

func packageOf(module *ast.Module) string {
	return strings.TrimPrefix(module.Package.Path.String(), "data.")
}

func (g *ruleGraph) rulesOf(packages []string) []*ast.Rule {
	var rules []*ast.Rule
	for _, module := range g.compiler.Modules {
		if slices.Contains(packages, packageOf(module)) {
			rules = append(rules, module.Rules...)
		}
	}
	return rules
}

// without are the rules of the policies that no check names.
func (g *ruleGraph) without(policies []matched, checks []ReferenceCheck) []*ast.Rule {
	checked := map[string]bool{}
	for _, check := range checks {
		for _, name := range check.Packages {
			checked[name] = true
		}
	}
	var rest []string
	for _, policy := range policies {
		if !checked[policy.Package] {
			rest = append(rest, policy.Package)
		}
	}
	return g.rulesOf(rest)
}

// reach are the rules and those that they come to.
func (g *ruleGraph) reach(rules []*ast.Rule) map[*ast.Rule]bool {
	reached := map[*ast.Rule]bool{}
	for len(rules) > 0 {
		rule := rules[len(rules)-1]
		rules = rules[:len(rules)-1]
		if reached[rule] {
			continue
		}
		reached[rule] = true
		for dependency := range g.compiler.Graph.Dependencies(rule) {
			if other, ok := dependency.(*ast.Rule); ok {
				rules = append(rules, other)
			}
		}
	}
	return reached
}

// replaced are the rules that can be asked with another input or other data, by `with`.
func (g *ruleGraph) replaced() map[*ast.Rule]bool {
	var roots []*ast.Rule
	for _, module := range g.compiler.Modules {
		for _, rule := range module.Rules {
			ast.WalkWiths(rule, func(*ast.With) bool {
				roots = append(roots, rule)
				return true
			})
		}
	}
	return g.reach(roots)
}

// modulesOf are the modules of rules, with all that those modules need.
func (g *ruleGraph) modulesOf(modules map[string]*ast.Module, rules map[*ast.Rule]bool) map[string]*ast.Module {
	out := map[string]*ast.Module{}
	for len(rules) > 0 {
		var more []*ast.Rule
		for rule := range rules {
			file := rule.Module.Package.Location.File
			if _, known := out[file]; !known {
				out[file] = modules[file]
				more = append(more, g.byFile[file]...)
			}
		}
		rules = g.reach(more)
		for rule := range rules {
			if _, known := out[rule.Module.Package.Location.File]; known {
				delete(rules, rule)
			}
		}
	}
	return out
}

// ruleAt is the rule that stands at a place.
func (g *ruleGraph) ruleAt(at *ast.Location) *ast.Rule {
	var found *ast.Rule
	for _, rule := range g.byFile[at.File] {
		if rule.Location.Offset <= at.Offset {
			found = rule
		}
	}
	return found
}
