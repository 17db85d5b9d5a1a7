package eval

import (
	"cmp"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// partPath is a part of input that a function reads: input[key], or input[key][inner] if inner is
// not empty.
type partPath struct{ key, inner string }

func (p partPath) compare(other partPath) int {
	return cmp.Or(cmp.Compare(p.key, other.key), cmp.Compare(p.inner, other.inner))
}

// reducedParts sorts parts, and drops those within others. If there are more than maxParts, it returns
// the keys of input alone.
func reducedParts(parts []partPath) []partPath {
	for {
		slices.SortFunc(parts, partPath.compare)
		out := parts[:0:0]
		for _, part := range parts {
			if n := len(out); n > 0 && out[n-1].key == part.key && (out[n-1].inner == "" || out[n-1] == part) {
				continue
			}
			out = append(out, part)
		}
		if len(out) <= maxParts || !slices.ContainsFunc(out, func(p partPath) bool { return p.inner != "" }) {
			return out
		}
		for i := range out {
			out[i].inner = ""
		}
		parts = out
	}
}

// inputPart is a partPath as terms; inner may be nil.
type inputPart struct{ key, inner *ast.Term }

// What identifies a missing part: which key is missing.
var (
	noKey   = ast.StringTerm("no key")
	noInner = ast.StringTerm("no inner key")
)

// of returns the value that identifies the part of an input. If the value at the first key is not an
// object, that is all of it.
func (p inputPart) of(input *ast.Term) *ast.Term {
	part := get(input, p.key)
	if part == nil {
		return noKey
	}
	if p.inner == nil {
		return part
	}
	object, isObject := part.Value.(ast.Object)
	if !isObject {
		return part
	}
	if inner := object.Get(p.inner); inner != nil {
		return inner
	}
	return noInner
}

// alias is what a register holds, and nothing else: input, or the value at a key of it.
type alias struct {
	isInput bool
	key     string
}

// inputReads are the parts of input that a block of a function reads.
type inputReads struct {
	found   *studied
	writers map[ir.Local]int
	aliases map[ir.Local]alias
}

// begin begins with a block of a function: blocks share registers, but not their values.
func (r *inputReads) begin(block *ir.Block) {
	r.writers, r.aliases = map[ir.Local]int{}, map[ir.Local]alias{ir.Input: {isInput: true}}
	walkStatements(block, func(s ir.Stmt) {
		registersOf(s, func(ir.Local) {}, func(local ir.Local) { r.writers[local]++ })
	})
}

// end adds the keys of which only the presence was read.
func (r *inputReads) end() {
	for _, of := range r.aliases {
		if !of.isInput && !slices.ContainsFunc(r.found.parts, func(p partPath) bool { return p.key == of.key }) {
			r.add(of.key, "")
		}
	}
}

func (r *inputReads) add(key, inner string) {
	r.found.parts = append(r.found.parts, partPath{key, inner})
}

// presence notes that a function reads whether a register has a value.
func (r *inputReads) presence(local ir.Local) {
	if r.aliases[local].isInput {
		r.found.readsPresence = true
		return
	}
	r.whole(local)
}

// whole notes that a register is read as a whole.
func (r *inputReads) whole(local ir.Local) {
	if local == ir.Data {
		r.found.isPure = false
	}
	switch of, isAlias := r.aliases[local]; {
	case of.isInput:
		r.found.wholeInput = true
	case isAlias:
		r.add(of.key, "")
	}
}

// isAliased notes that a register becomes an alias, if no other statement sets it.
func (r *inputReads) isAliased(target ir.Local, of alias) bool {
	if r.writers[target] != 1 || target <= ir.Data {
		return false
	}
	r.aliases[target] = of
	return true
}

// assigned notes that a register is copied to another.
func (r *inputReads) assigned(local, target ir.Local) {
	of, known := r.aliases[local]
	if !known || !r.isAliased(target, of) {
		r.whole(local)
	}
}

// part notes that only one key of a register is read, into another register.
func (r *inputReads) part(local ir.Local, key string, target ir.Local) {
	of, known := r.aliases[local]
	switch {
	case !known || !of.isInput && key == "":
		r.whole(local)
	case !of.isInput:
		r.add(of.key, key)
	case !r.isAliased(target, alias{key: key}):
		r.add(key, "")
	}
}
