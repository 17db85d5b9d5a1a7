package restriction

import "github.com/open-policy-agent/opa/v1/ast"

// textOf is a text that equal collections share. It is made of the formula of the elements,
// where that can be translated, so that collections written in different ways are equal.
// Arrays are equal only if they are written alike: the formula has neither the order nor the
// number of their elements.
func (t *translation) textOf(made collection, node *ast.Term, env *environment) (text string) {
	if made.kind == "is_array" {
		return t.text(node, env)
	}
	t.collectErrors(false, func() {
		_, failure := t.attempt(func() formula {
			text = t.writer.collection(made)
			return true
		})
		if failure != nil {
			text = t.text(node, env)
		}
	})
	return text
}

// made is the formula that evaluating a collection does not end with an error. Errors are
// noted. Where a reference reads one key, two values for another key are no error. An error
// in the bodies of the rules may or may not end the evaluation then: OPA evaluates only what
// is read, and Lintel evaluates the whole collection. References with one text have one
// outcome.
func (t *translation) made(c collection, node *ast.Term, env *environment, read reading) formula {
	if !t.fallible(node) {
		return true
	}
	var failure *unsupported
	var conflict formula = false
	inside := or(t.collectErrors(true, func() {
		_, failure = t.attempt(func() formula {
			if c.kind != "is_object" {
				return c.any()
			}
			conflict = c.each(func(key, value term) formula {
				return c.each(func(other, its term) formula {
					if substitute(its, other, key).key() == value.key() {
						return false
					}
					differ := not(equal(value, its))
					if read.at != nil {
						return and(equal(key, read.at), equal(other, read.at), differ)
					}
					return and(equal(key, other), differ)
				})
			})
			return true
		})
	})...)
	if failure != nil {
		return t.mayFail(t.text(node, env) + read.text)
	}
	if read.text != "" {
		unsure := atom{kind: isOpaque, left: opaque{"error of " + read.text}}
		inside = and(inside, unsure)
		if read.at == nil {
			conflict = and(conflict, unsure)
		}
	}
	inside = or(inside, conflict)
	if t.wantErrors && inside != false {
		t.errors = append(t.errors, inside)
	}
	return not(inside)
}
