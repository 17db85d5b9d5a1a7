package restriction

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A term is the symbolic value of an expression of Rego. It depends on the input and may be
// undefined. Terms with the same key have the same value on every input.
type term interface{ key() string }

// maxTermNodes limits the nodes of a term as a tree: after `x1 := [x0, x0]`,
// `x2 := [x1, x1]`, …, the term of x40 has 2^40 nodes.
const maxTermNodes = 2_000

// nodesOf counts the nodes of a term with these parts. It panics with exhausted if there are
// too many, because terms are traversed as trees.
func nodesOf(made ...term) int {
	count := 1
	for _, t := range made {
		if made, ok := t.(interface{ size() int }); ok {
			count += made.size()
		} else {
			count++
		}
		if count > maxTermNodes {
			panic(tooLarge)
		}
	}
	return count
}

// maxKey is the length in bytes above which a key is replaced by its hash.
const maxKey = 1_000

// keyOf is a key of limited length for a text.
func keyOf(text string) string {
	if len(text) <= maxKey {
		return text
	}
	return fmt.Sprintf("text %x", sha256.Sum256([]byte(text)))
}

// storedKey is embedded by terms that store their key.
type storedKey struct{ text string }

func (n storedKey) key() string { return n.text }

// compound is embedded by terms with subterms. It stores the number of nodes.
type compound struct {
	storedKey
	nodes int
}

func (c compound) size() int { return c.nodes }

func compoundOf(text string, parts ...term) compound {
	return compound{storedKey{keyOf(text)}, nodesOf(parts...)}
}

// constant does not depend on the input.
type constant struct {
	storedKey
	value ast.Value
}

func constantTerm(value ast.Value) constant { return constant{storedKey{keyOf(value.String())}, value} }

// document is input, or a document of data.
type document struct{ name string }

func (d document) key() string { return d.name }

// member is the value at a key of an object or an index of an array.
type member struct {
	compound
	of, at term
}

func memberTerm(of, at term) member {
	return member{compoundOf(of.key()+"["+at.key()+"]", of, at), of, at}
}

// witness is the key of some element of a collection that is known to exist.
type witness struct{ storedKey }

func witnessTerm(id int) witness { return witness{storedKey{fmt.Sprintf("witness%d", id)}} }

// application is the result of a builtin function.
type application struct {
	compound
	function string
	operands []term
}

func applicationTerm(function string, operands ...term) application {
	return application{compoundOf(function+"("+keys(operands)+")", operands...), function, operands}
}

// list is an array of which some elements are not constant.
type list struct {
	compound
	elements []term
}

func listTerm(elements []term) list {
	return list{compoundOf("["+keys(elements)+"]", elements...), elements}
}

// opaque is the value of an untranslated construct. Its text covers all dependencies, so
// equal texts mean equal values.
type opaque struct{ text string }

func (o opaque) key() string { return "opaque " + o.text }

func keys(terms []term) string {
	texts := make([]string, len(terms))
	for i, t := range terms {
		texts[i] = t.key()
	}
	return strings.Join(texts, ",")
}

// substitute returns a term in which another term replaces a part.
func substitute(t, part, by term) term {
	if t.key() == part.key() {
		return by
	}
	switch t := t.(type) {
	case member:
		return memberTerm(substitute(t.of, part, by), substitute(t.at, part, by))
	case application:
		operands := make([]term, len(t.operands))
		for i, operand := range t.operands {
			operands[i] = substitute(operand, part, by)
		}
		return applicationTerm(t.function, operands...)
	}
	return t
}

// parts are terms and their subterms, without nil.
func parts(terms ...term) iter.Seq[term] {
	return func(yield func(term) bool) { walkParts(terms, yield) }
}

func walkParts(terms []term, yield func(term) bool) (goOn bool) {
	for _, t := range terms {
		var inside []term
		switch t := t.(type) {
		case nil:
			continue
		case member:
			inside = []term{t.of, t.at}
		case application:
			inside = t.operands
		case list:
			inside = t.elements
		}
		if !yield(t) || !walkParts(inside, yield) {
			return false
		}
	}
	return true
}

// ofInput reports whether the value is a part of the input, and thus JSON.
func ofInput(t term) bool {
	switch t := t.(type) {
	case document:
		return t.name == "input"
	case member:
		return ofInput(t.of)
	}
	return false
}

// typeOf is the name of the function that tests for the type of a value, such as is_string.
func typeOf(value ast.Value) string { return "is_" + ast.ValueName(value) }

// typeRanks are the positions of types in OPA's order of all values, by the functions that
// test for them.
var typeRanks = map[string]int{
	"is_null": 0, "is_boolean": 1, "is_number": 2, "is_string": 3, "is_array": 6, "is_object": 7, "is_set": 8,
}

func elementsOfArray(array *ast.Array) (all []*ast.Term) {
	array.Foreach(func(t *ast.Term) { all = append(all, t) })
	return all
}
