package restriction

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// maxTries limits the random inputs of a search.
const maxTries = 300

// search searches for a counterexample if the solver has found none. It evaluates random
// inputs with the paths and constants of the policies, and then mutations of the inputs and
// models that came closest.
func (c *comparison) search(r *replay, models []ast.Value) (example *candidate) {
	defer ignoreExhaustion()
	policies := append([]*sidecar.Policy{c.child}, c.definers...)
	if slices.ContainsFunc(policies, func(p *sidecar.Policy) bool { return repeatable(p) != nil }) {
		return nil
	}
	s := &searcher{comparison: c, replay: r, random: rand.New(rand.NewPCG(1, 1)), paths: inputPaths(policies), values: searchedValues(policies), constants: distinctScalars(policies)}
	if len(s.paths) == 0 {
		return nil
	}
	for _, model := range models {
		if f := s.try(model); f != nil {
			return f
		}
		if model != nil {
			s.models = append(s.models, model)
		}
	}
	for range maxTries {
		if f := s.try(s.randomInput()); f != nil {
			return f
		}
	}
	for range c.changes {
		if f := s.try(s.mutation()); f != nil {
			return f
		}
	}
	return nil
}

func searchedValues(policies []*sidecar.Policy) []ast.Value {
	values := distinctScalars(policies)
	var texts []ast.String
	for _, value := range slices.Clone(values) {
		values = append(values, neighbors(value)...)
		if text, ok := value.(ast.String); ok && len(texts) < 12 {
			texts = append(texts, text)
		}
		for _, piece := range piecesOf(value) {
			values = append(values, piece)
		}
	}
	for _, one := range texts { // what a prefix is taken from, or parts are joined to
		for _, other := range texts {
			values = append(values, one+other)
		}
	}
	return append(values, ast.Boolean(true), ast.Boolean(false), ast.NullTerm().Value, ast.String("x"), ast.Number("0"), ast.Number("1e6"), ast.NewArray(), ast.NewObject())
}

// inputPaths are the paths of the input in the policies, the shortest first. * in a path is
// any element.
func inputPaths(policies []*sidecar.Policy) [][]string {
	seen := map[string]bool{}
	var paths [][]string
	add := func(path []string) {
		if key := strings.Join(path, "\x00"); len(path) > 0 && !seen[key] && len(paths) < 100 {
			seen[key] = true
			paths = append(paths, path)
		}
	}
	for _, p := range policies {
		for _, rule := range p.AllRules() {
			known := map[ast.Var][]string{}
			for range 3 { // a variable may be used before its definition
				ast.WalkExprs(rule, func(expr *ast.Expr) bool {
					if every, ok := expr.Terms.(*ast.Every); ok {
						if domain, ok := pathOf(every.Domain.Value, known); ok {
							known[every.Value.Value.(ast.Var)] = append(slices.Clone(domain), "*")
						}
					}
					if expr.IsEquality() {
						bindPath(expr.Operand(0), expr.Operand(1), known)
						bindPath(expr.Operand(1), expr.Operand(0), known)
					}
					if expr.IsCall() && expr.Operator().String() == ast.Member.Name {
						if list, ok := pathOf(expr.Operand(1).Value, known); ok {
							add(append(slices.Clone(list), "*"))
						}
					}
					return false
				})
			}
			ast.WalkTerms(rule, func(t *ast.Term) bool {
				if path, ok := pathOf(t.Value, known); ok {
					add(path)
				}
				return false
			})
		}
	}
	slices.SortStableFunc(paths, func(a, b []string) int { return len(a) - len(b) })
	return paths
}

func bindPath(name, value *ast.Term, known map[ast.Var][]string) {
	if variable, ok := name.Value.(ast.Var); ok {
		if path, ok := pathOf(value.Value, known); ok {
			known[variable] = path
		}
	}
}

func pathOf(value ast.Value, known map[ast.Var][]string) ([]string, bool) {
	if name, ok := value.(ast.Var); ok {
		path, found := known[name]
		return path, found
	}
	ref, ok := value.(ast.Ref)
	if !ok {
		return nil, false
	}
	var path []string
	if !ref.HasPrefix(ast.InputRootRef) {
		name, isVar := ref[0].Value.(ast.Var)
		from, found := known[name]
		if !isVar || !found {
			return nil, false
		}
		path = slices.Clone(from)
	}
	for _, at := range ref[1:] {
		if text, ok := at.Value.(ast.String); ok {
			path = append(path, string(text))
		} else {
			path = append(path, "*")
		}
	}
	return path, true
}

// distinctScalars are the distinct scalars in the policies.
func distinctScalars(policies []*sidecar.Policy) []ast.Value {
	seen := map[string]bool{}
	var out []ast.Value
	for _, p := range policies {
		for _, rule := range p.AllRules() {
			ast.WalkTerms(rule, func(t *ast.Term) bool {
				text := t.Value.String()
				if ast.IsScalar(t.Value) && !seen[text] && len(text) < 256 && len(out) < 200 && !strings.HasPrefix(text, `"openclaw`) {
					seen[text] = true
					out = append(out, t.Value)
				}
				return false
			})
		}
	}
	return out
}
