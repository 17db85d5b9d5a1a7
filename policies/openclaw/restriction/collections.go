package restriction

import "github.com/open-policy-agent/opa/v1/ast"

// textOf is a text that identifies a collection. It is the formula of the elements if they
// can be translated, so that different notations of a collection are equal. Arrays are equal
// only in the same notation, because the formula has neither the order nor the number of
// their elements.
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

// evaluationSucceeds is the formula that evaluating a collection does not end with an error.
// It records errors. If a reference reads one key, two values for another key are not an
// error. An error in the bodies of the rules may end that evaluation: OPA evaluates only the
// referenced part, and Lintel evaluates the whole collection. References with equal texts have
// equal outcomes.
func (t *translation) evaluationSucceeds(c collection, node *ast.Term, env *environment, read reading) formula {
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
		inconclusive := atom{kind: isOpaque, left: opaque{"error of " + read.text}}
		inside = and(inside, inconclusive)
		if read.at == nil {
			conflict = and(conflict, inconclusive)
		}
	}
	inside = or(inside, conflict)
	if t.negations > 0 && inside != false {
		inside = and(inside, atom{kind: isOpaque, left: opaque{"negation of " + t.text(node, env) + read.text}})
	}
	if t.wantErrors && inside != false {
		t.errors = append(t.errors, inside)
	}
	return not(inside)
}
