package restriction

import (
	"math/rand/v2"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// searcher looks for a counterexample by changing the inputs that came closest to one.
type searcher struct {
	*comparison
	*replay
	random *rand.Rand
	paths  [][]string
	values []ast.Value
	// constants are the values that occur in the policies.
	constants []ast.Value
	// granted are inputs on which the child permits a request, and nearest are the inputs on
	// which most of its statements were evaluated.
	granted []ast.Value
	nearest []scored
	// models are inputs from the solver.
	models []ast.Value
}

type scored struct {
	input   ast.Value
	reached int
}

// maxSeeds limits the stored inputs of each kind.
const maxSeeds = 40

// try evaluates an input, and stores it as a seed if its mutations are promising.
func (s *searcher) try(input ast.Value) *candidate {
	var coverage eval.Coverage
	value, err := s.evaluate(s.child, s.decision, input, &coverage)
	if s.ctx.Err() != nil {
		panic(outOfTime)
	}
	permits := err == nil && value != nil && (s.order != sidecar.Grant || ast.Compare(value, ast.Boolean(true)) == 0)
	if permits { // otherwise, the child permits no more
		if f := s.confirmViolation(s.replay, input); f != nil {
			return &candidate{input, f}
		}
	}
	if input == nil {
		return nil
	}
	if permits {
		if len(s.granted) == maxSeeds {
			s.granted[s.random.IntN(maxSeeds)] = input
		} else {
			s.granted = append(s.granted, input)
		}
		return nil
	}
	reached := len(coverage.Outcomes())
	at, _ := slices.BinarySearchFunc(s.nearest, reached, func(one scored, reached int) int { return reached - one.reached })
	if at < maxSeeds {
		s.nearest = slices.Insert(s.nearest, at, scored{input, reached})
		s.nearest = s.nearest[:min(len(s.nearest), maxSeeds)]
	}
	return nil
}

// mutation returns a stored input with a few mutations.
func (s *searcher) mutation() ast.Value {
	input := s.seed()
	if s.random.IntN(4) == 0 {
		input = s.crossover(input, s.seed())
	}
	for range 1 + s.random.IntN(3) {
		if s.random.IntN(2) == 0 {
			input = s.with(input, s.paths[s.random.IntN(len(s.paths))])
		} else {
			input = s.mutatePart(input)
		}
	}
	return input
}

// seed selects a stored input.
func (s *searcher) seed() ast.Value {
	switch {
	case len(s.models) > 0 && s.random.IntN(4) == 0:
		return s.models[s.random.IntN(len(s.models))]
	case len(s.granted) > 0 && (len(s.nearest) == 0 || s.random.IntN(2) == 0):
		return s.granted[s.random.IntN(len(s.granted))]
	case len(s.nearest) > 0:
		return s.nearest[min(s.random.IntN(len(s.nearest)), s.random.IntN(len(s.nearest)))].input
	}
	return s.randomInput()
}

// crossover returns an input with some members of another input, to combine the conditions on
// different members.
func (s *searcher) crossover(input, other ast.Value) ast.Value {
	one, isObject := input.(ast.Object)
	two, alsoObject := other.(ast.Object)
	if !isObject || !alsoObject {
		return input
	}
	out := one.Copy()
	two.Foreach(func(k, v *ast.Term) {
		if s.random.IntN(2) == 0 {
			out.Insert(k, v)
		}
	})
	return out
}

func (s *searcher) value() ast.Value {
	if len(s.constants) > 0 && s.random.IntN(2) == 0 {
		return s.constants[s.random.IntN(len(s.constants))]
	}
	return s.values[s.random.IntN(len(s.values))]
}

// with sets the value at a path. * in the path is an existing element or a new one.
func (s *searcher) with(value ast.Value, path []string) ast.Value {
	if len(path) == 0 {
		return s.value()
	}
	array, isArray := value.(*ast.Array)
	object, isObject := value.(ast.Object)
	switch {
	case path[0] != "*" && !isObject:
		object, isObject = ast.NewObject(), true
	case path[0] == "*" && !isArray && !isObject:
		array, isArray = ast.NewArray(), true
	}
	if isArray {
		all := elementsOfArray(array)
		at := s.random.IntN(len(all) + 1)
		if at == len(all) {
			return ast.NewArray(append(all, ast.NewTerm(s.with(ast.NewObject(), path[1:])))...)
		}
		all[at] = ast.NewTerm(s.with(all[at].Value, path[1:]))
		return ast.NewArray(all...)
	}
	key := ast.StringTerm(path[0])
	if path[0] == "*" {
		key = s.key(object)
	}
	var inner ast.Value = ast.NullTerm().Value
	if existing := object.Get(key); existing != nil {
		inner = existing.Value
	}
	changed := object.Copy()
	changed.Insert(key, ast.NewTerm(s.with(inner, path[1:])))
	return changed
}

// key selects an existing key of an object, or a new one.
func (s *searcher) key(object ast.Object) *ast.Term {
	if keys := object.Keys(); len(keys) > 0 && s.random.IntN(3) > 0 {
		return keys[s.random.IntN(len(keys))]
	}
	if text, ok := s.value().(ast.String); ok {
		return ast.NewTerm(text)
	}
	return ast.StringTerm("x")
}

// mutatePart mutates one part of a value: it removes, duplicates or replaces the part.
func (s *searcher) mutatePart(value ast.Value) ast.Value {
	switch value := value.(type) {
	case ast.Object:
		if value.Len() == 0 {
			return value
		}
		key := value.Keys()[s.random.IntN(value.Len())]
		if s.random.IntN(4) == 0 {
			return without(value, key)
		}
		changed := value.Copy()
		changed.Insert(key, ast.NewTerm(s.mutatePart(value.Get(key).Value)))
		return changed
	case *ast.Array:
		all := elementsOfArray(value)
		if len(all) == 0 {
			return ast.NewArray(ast.NewTerm(s.value()))
		}
		at := s.random.IntN(len(all))
		switch s.random.IntN(5) {
		case 0:
			return ast.NewArray(slices.Delete(all, at, at+1)...)
		case 1:
			return ast.NewArray(append(all, all[at])...)
		case 2:
			return ast.NewArray(append(all, ast.NewTerm(s.mutatePart(all[at].Value)))...)
		}
		all[at] = ast.NewTerm(s.mutatePart(all[at].Value))
		return ast.NewArray(all...)
	}
	return s.value()
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

// randomInput sets most of the paths to random values, short paths first, so that longer
// paths extend them.
func (s *searcher) randomInput() ast.Value {
	var input ast.Value = ast.NewObject()
	for _, path := range s.paths {
		if s.random.IntN(5) > 0 {
			input = s.with(input, path)
		}
	}
	return input
}
