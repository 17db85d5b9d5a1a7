package restriction

import (
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unify is the formula that two sides are equal, and binds the variables of both.
func (t *translation) unify(left, right *ast.Term, env *environment, then withBinding) formula {
	if t.unbound(left, env) && !t.unbound(right, env) {
		left, right = right, left
	}
	return t.term(left, env, func(value term, env *environment) formula {
		return and(defined(value), t.match(right, value, env, then))
	})
}

// unbound reports whether a term has unbound variables. References bind their own variables.
func (t *translation) unbound(pattern *ast.Term, env *environment) bool {
	switch v := pattern.Value.(type) {
	case ast.Var:
		_, bound := env.lookup(v)
		return !bound
	case *ast.Array, ast.Object:
		for name := range variables(pattern) {
			if _, bound := env.lookup(name); !bound {
				return true
			}
		}
	}
	return false
}

// match binds a pattern to a defined value.
func (t *translation) match(pattern *ast.Term, value term, env *environment, then withBinding) formula {
	t.step()
	if name, ok := pattern.Value.(ast.Var); ok {
		if _, bound := env.lookup(name); !bound {
			return then(env.with(name, value))
		}
	}
	if array, ok := pattern.Value.(*ast.Array); ok && t.unbound(pattern, env) {
		return t.matchArray(array, value, pattern.Location, env, then)
	}
	if t.unbound(pattern, env) {
		panic(unsupported{"a pattern", pattern.Location})
	}
	return t.term(pattern, env, func(other term, env *environment) formula {
		return and(defined(other), equal(value, other), then(env))
	})
}

func (t *translation) matchArray(array *ast.Array, value term, location *ast.Location, env *environment, then withBinding) formula {
	length := applicationTerm("count", value)
	var shape formula
	switch v := value.(type) {
	case list:
		shape = len(v.elements) == array.Len()
	case constant:
		other, ok := v.value.(*ast.Array)
		shape = ok && other.Len() == array.Len()
	default:
		shape = and(isOf("is_array", value), equal(length, constantTerm(ast.Number(fmt.Sprint(array.Len())))))
	}
	if shape == false {
		return false
	}
	var element func(i int, env *environment) formula
	element = func(i int, env *environment) formula {
		if i == array.Len() {
			return then(env)
		}
		return t.at(value, constantTerm(ast.Number(fmt.Sprint(i))), location, func(part term) formula {
			return and(defined(part), t.match(array.Elem(i), part, env, func(env *environment) formula { return element(i+1, env) }))
		})
	}
	return and(shape, element(0, env))
}

func (t *translation) terms(list []*ast.Term, env *environment, then func([]term, *environment) formula) formula {
	if len(list) == 0 {
		return then(nil, env)
	}
	return t.term(list[0], env, func(first term, env *environment) formula {
		return t.terms(list[1:], env, func(others []term, env *environment) formula {
			return then(append([]term{first}, others...), env)
		})
	})
}

// term is the formula that an expression has a value for which then holds. The value may
// still be undefined.
func (t *translation) term(node *ast.Term, env *environment, then withValueAndBinding) formula {
	t.step()
	if value, ok := constantOf(node); ok {
		return then(value, env)
	}
	switch v := node.Value.(type) {
	case ast.Var:
		value, bound := env.lookup(v)
		if !bound {
			panic(unsupported{"a variable without a value", node.Location})
		}
		return then(value, env)
	case ast.Ref:
		return t.reference(v, node.Location, env, then)
	case *ast.Array:
		return t.list(elementsOfArray(v), env, then)
	case ast.Set:
		// Membership in such a set differs between releases of OPA.
		panic(unsupported{"a set whose members are not constant", node.Location})
	case *ast.SetComprehension:
		made, succeeds := t.comprehension(node, "is_set", v.Body, v.Term, nil, env)
		return and(succeeds, then(made, env))
	case *ast.ArrayComprehension:
		made, succeeds := t.comprehension(node, "is_array", v.Body, v.Term, nil, env)
		return and(succeeds, then(made, env))
	case *ast.ObjectComprehension:
		made, succeeds := t.comprehension(node, "is_object", v.Body, v.Value, v.Key, env)
		return and(succeeds, then(made, env))
	case ast.Object:
		return t.object(node, v, env, then)
	}
	panic(unsupported{"a value such as " + node.String(), node.Location})
}

func (t *translation) list(elements []*ast.Term, env *environment, then withValueAndBinding) formula {
	return t.terms(elements, env, func(values []term, env *environment) formula {
		return and(forAll(values, defined), then(listTerm(values), env))
	})
}

// object translates an object literal with constant keys.
func (t *translation) object(node *ast.Term, object ast.Object, env *environment, then withValueAndBinding) formula {
	var nodes []*ast.Term
	for _, key := range object.Keys() {
		if _, ok := constantOf(key); !ok {
			panic(unsupported{"an object with computed keys", node.Location})
		}
		nodes = append(nodes, object.Get(key))
	}
	return t.terms(nodes, env, func(values []term, env *environment) formula {
		text := "object"
		for i, key := range object.Keys() {
			text += fmt.Sprintf(" %s: %s", key, values[i].key())
		}
		made := collection{storedKey: storedKey{keyOf(text)}, kind: "is_object", each: func(then func(key, value term) formula) formula {
			var each []formula
			for i, key := range object.Keys() {
				each = append(each, then(constantTerm(key.Value), values[i]))
			}
			return or(each...)
		}}
		return and(forAll(values, defined), then(made, env))
	})
}

func (t *translation) comprehension(node *ast.Term, kind string, body ast.Body, value, key *ast.Term, env *environment) (collection, formula) {
	made := collection{kind: kind}
	made.each = func(then func(key, value term) formula) formula {
		return t.body(body, env, func(env *environment) formula {
			return t.term(value, env, func(element term, env *environment) formula {
				if key == nil {
					if kind == "is_array" {
						*t.fresh++
						return and(defined(element), then(opaque{fmt.Sprintf("index %d", *t.fresh)}, element))
					}
					return and(defined(element), then(element, element))
				}
				return t.term(key, env, func(at term, _ *environment) formula {
					return and(defined(at), defined(element), then(at, element))
				})
			})
		})
	}
	made.text = t.textOf(made, node, env)
	return made, t.evaluationSucceeds(made, node, env, whole)
}

// reference follows a path from a variable, input or a rule.
func (t *translation) reference(ref ast.Ref, location *ast.Location, env *environment, then withValueAndBinding) formula {
	own := t.policy.Path
	head, isVar := ref[0].Value.(ast.Var)
	switch {
	case !isVar:
		return t.term(ref[0], env, func(from term, env *environment) formula { return t.path(from, ref[1:], location, env, then) })
	case ref.HasPrefix(own):
		name, ok := t.policy.RuleName(ref)
		rules := t.policy.Rules(name)
		if !ok || len(rules) == 0 || len(rules[0].Head.Args) > 0 {
			panic(unsupported{ref.String(), location})
		}
		path, read := ref[len(own)+1:], whole
		if len(path) > 0 {
			read.text = t.text(ast.NewTerm(ref), env)
			if key, isConstant := constantOf(path[0]); isConstant {
				read.at = key
			} else if name, isVar := path[0].Value.(ast.Var); isVar {
				if value, bound := env.lookup(name); bound {
					read.at = value
				}
			}
		}
		return t.value(name, read, func(from term) formula { return t.path(from, path, location, env, then) })
	case ref.HasPrefix(ast.InputRootRef):
		return t.path(document{"input"}, ref[1:], location, env, then)
	case ref.HasPrefix(ast.DefaultRootRef):
		return t.path(document{"data"}, ref[1:], location, env, then)
	}
	from, bound := env.lookup(head)
	if !bound {
		panic(unsupported{"a variable without a value", location})
	}
	return t.path(from, ref[1:], location, env, then)
}

func (t *translation) path(from term, rest ast.Ref, location *ast.Location, env *environment, then withValueAndBinding) formula {
	if len(rest) == 0 {
		return then(from, env)
	}
	if name, ok := rest[0].Value.(ast.Var); ok {
		if _, bound := env.lookup(name); !bound {
			return t.iterate(from, location, func(key, value term) formula {
				return t.path(value, rest[1:], location, env.with(name, key), then)
			})
		}
	}
	return t.term(rest[0], env, func(key term, env *environment) formula {
		return t.at(from, key, location, func(element term) formula { return t.path(element, rest[1:], location, env, then) })
	})
}

// at is the formula that then holds for the value at a key.
func (t *translation) at(from, key term, location *ast.Location, then withValue) formula {
	t.step()
	switch from := from.(type) {
	case constant, list, collection:
		if made, ok := from.(collection); ok && made.kind == "is_array" {
			panic(unsupported{"an index into a comprehension", location})
		}
		return t.iterate(from, location, func(at, value term) formula { return and(equal(at, key), then(value)) })
	case application, opaque:
		call, ok := from.(application)
		if ok && call.function == ast.ArrayConcat.Name {
			if f, known := t.atJoined(call, key, location, then); known {
				return f
			}
		}
		if ok && resultOf[call.function] == "is_array" {
			break
		}
		// The result of a function may be a set, whose members are their own keys.
		panic(unsupported{"a path into the result of a function", location})
	}
	if from.key() == "data" {
		// Only the names of other documents are known.
		t.note(&unsupported{"a document of data", location})
	}
	element := memberTerm(from, key)
	return and(defined(element), then(element))
}

// atJoined is at for the result of array.concat, if its first array is a literal, or if it is
// part of the input and the key is 0: an array without a first element is empty. Both operands
// are arrays.
func (t *translation) atJoined(call application, key term, location *ast.Location, then withValue) (formula, bool) {
	at, isConstant := key.(constant)
	if !isConstant {
		return nil, false
	}
	index, isNumber := at.value.(ast.Number)
	n, isInteger := index.Int()
	if !isNumber || !isInteger || n < 0 || strconv.Itoa(n) != string(index) { // OPA reads -0 and 0.0, too
		return nil, false
	}
	first, second := call.operands[0], call.operands[1]
	if elements, ok := written(first); ok {
		if n < len(elements) {
			return then(elements[n]), true
		}
		return t.at(second, constantTerm(ast.Number(strconv.Itoa(n-len(elements)))), location, then), true
	}
	if n != 0 || !ofInput(first) {
		return nil, false
	}
	element := memberTerm(first, key)
	return or(and(defined(element), then(element)), and(not(defined(element)), t.at(second, key, location, then))), true
}

// iterate is the formula that then holds for one of the elements of a value.
func (t *translation) iterate(in term, location *ast.Location, then func(key, value term) formula) formula {
	t.step()
	t.iterations++
	switch in := in.(type) {
	case constant:
		return or(elementsOf(in.value, then)...)
	case list:
		var all []formula
		for i, element := range in.elements {
			all = append(all, then(constantTerm(ast.Number(fmt.Sprint(i))), element))
		}
		return or(all...)
	case collection:
		return in.each(then)
	}
	if call, ok := in.(application); !ofInput(in) && !(ok && resultOf[call.function] == "is_array") {
		panic(unsupported{"an iteration over the result of a function or a document of data", location})
	}
	return t.existence(in, then)
}

// existence translates the body once for an arbitrary element, so that errors and unsupported
// constructs are recorded here.
func (t *translation) existence(in term, then func(key, value term) formula) formula {
	*t.fresh++
	any := witnessTerm(-*t.fresh)
	var body formula
	inside := t.collectErrors(t.wantErrors, func() { body = then(any, memberTerm(in, any)) })
	if len(inside) > 0 {
		t.errors = append(t.errors, existence{in, func(key, value term) formula {
			return or(t.collectErrors(true, func() { then(key, value) })...)
		}})
	}
	if body == false {
		return false
	}
	return existence{in, func(key, value term) (body formula) {
		t.collectErrors(t.wantErrors, func() { body = then(key, value) })
		return body
	}}
}
