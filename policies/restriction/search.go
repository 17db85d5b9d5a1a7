package restriction

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sidecar"
)

// maxTries bounds the search for a counterexample among inputs made at random, and
// maxChanges among those that are made of others by changes.
const (
	maxTries   = 300
	maxChanges = 5000
)

// search looks for a counterexample where the solver has found none: it tries inputs made of
// the paths and constants that occur in the policies, and then changes those inputs, and
// models of the formulas, that came closest.
func (c *comparison) search(r *replay, models []ast.Value) (found *candidate) {
	defer ignoreExhaustion()
	policies := append([]*sidecar.Policy{c.child}, c.definers...)
	if slices.ContainsFunc(policies, func(p *sidecar.Policy) bool { return repeatable(p) != nil }) {
		return nil
	}
	s := &searcher{comparison: c, replay: r, random: rand.New(rand.NewPCG(1, 1)), paths: inputPaths(policies), values: searchedValues(policies), constants: constants(policies)}
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
		if f := s.try(s.changed()); f != nil {
			return f
		}
	}
	return nil
}

func searchedValues(policies []*sidecar.Policy) []ast.Value {
	values := constants(policies)
	var texts []ast.String
	for _, value := range slices.Clone(values) {
		values = append(values, near(value)...)
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

// randomInput sets most of the paths to some of the values, short paths first, so that
// longer ones find room below.
func (s *searcher) randomInput() ast.Value {
	var input ast.Value = ast.NewObject()
	for _, path := range s.paths {
		if s.random.IntN(5) > 0 {
			input = s.with(input, path)
		}
	}
	return input
}

// inputPaths are the paths of the input that policies speak of, the shortest first. * in a
// path is any element.
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
			for range 3 { // what a variable stands for may be said after its use
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

// maxShrinks bounds how many smaller inputs are tried.
const maxShrinks = 300

// shrink takes away and simplifies what the counterexample does not need.
func (c *comparison) shrink(r *replay, found *candidate) (smallest *candidate) {
	smallest = found
	defer ignoreExhaustion()
	tries := 0
	for improved := true; improved; {
		improved = false
		smaller := smallerThan(smallest.input)
		if _, isObject := smallest.input.(ast.Object); !isObject { // people expect one
			smaller = append([]ast.Value{ast.NewObject()}, smaller...)
		}
		for _, smaller := range smaller {
			if tries++; tries > maxShrinks {
				return smallest
			}
			if f := c.confirmed(r, smaller); f != nil {
				smallest, improved = &candidate{smaller, f}, true
				break
			}
		}
	}
	return smallest
}

// smallerThan are values with one part less, or with one part replaced by its own
// smaller forms.
func smallerThan(value ast.Value) []ast.Value {
	var out []ast.Value
	switch value := value.(type) {
	case ast.Object:
		for _, key := range value.Keys() {
			out = append(out, without(value, key))
		}
		for _, key := range value.Keys() {
			for _, smaller := range smallerThan(value.Get(key).Value) {
				changed := value.Copy()
				changed.Insert(key, ast.NewTerm(smaller))
				out = append(out, changed)
			}
		}
	case *ast.Array:
		all := elementsOfArray(value)
		for i := range all {
			out = append(out, ast.NewArray(slices.Delete(slices.Clone(all), i, i+1)...))
		}
		for i := range all {
			for _, smaller := range smallerThan(all[i].Value) {
				changed := slices.Clone(all)
				changed[i] = ast.NewTerm(smaller)
				out = append(out, ast.NewArray(changed...))
			}
		}
	case ast.String:
		if value != "x" {
			out = append(out, ast.String("x"))
		}
	case ast.Number:
		if value != "0" && value != "1" {
			out = append(out, ast.Number("1"))
		}
	}
	return out
}

func without(object ast.Object, key *ast.Term) ast.Value {
	out := ast.NewObject()
	object.Foreach(func(k, v *ast.Term) {
		if ast.Compare(k.Value, key.Value) != 0 {
			out.Insert(k, v)
		}
	})
	return out
}

// ignoreExhaustion leaves it at what was found when the time was over.
func ignoreExhaustion() {
	if stopped := recover(); stopped != nil {
		if _, ok := stopped.(exhausted); !ok {
			panic(stopped)
		}
	}
}
