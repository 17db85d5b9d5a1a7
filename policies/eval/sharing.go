package eval

import (
	"crypto/sha256"
	"unique"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// class identifies functions that have equal results, at equal costs, for equal parts of input and equal
// arguments, of one program or of several. It is the digest of the plan of the function and of all
// functions that it calls, without their names and places.
type class = unique.Handle[[sha256.Size]byte]

// sharing is what the plan of a function says about sharing its results.
type sharing struct {
	// isShared says that results are shared, and isTiny that a call is cheaper than looking for
	// its result: neither shared nor remembered.
	isShared, isTiny bool
	class            class
	// parts are what the function reads of input.
	parts []inputPart
	// height is how deep the functions may be that it calls.
	height int
	// prepares says that it may call a function that prepares operands.
	prepares bool
}

const (
	// maxParts is how many parts of input a function may read before larger parts count, and then all
	// of input.
	maxParts = 3
	// maxArguments is how many arguments a function may have whose results are shared.
	maxArguments = 4
	// tinyWeight is the weight of the largest tiny function: a statement is one, and a call of a
	// function of OPA builtinWeight.
	tinyWeight    = 12
	builtinWeight = 4
)

// studied is the analysis of a function.
type studied struct {
	digest [sha256.Size]byte
	// isPure says that the result depends on arguments and input alone, and is not an error of the
	// place where it is computed.
	isPure, loops bool
	weight        int
	height        int
	wholeInput    bool
	readsPresence bool // whether there is input
	parts         []partPath
	prepares      bool
}

// sharingStudy finds the functions whose results can be shared.
type sharingStudy struct {
	*compiler
	plans map[string]*ir.Func
	known map[string]*studied
}

// studySharing says of each function whether its results are shared. All functions are compiled.
func (c *compiler) studySharing() {
	s := &sharingStudy{compiler: c, plans: map[string]*ir.Func{}, known: map[string]*studied{}}
	for _, f := range c.policy.Funcs.Funcs {
		s.plans[f.Name] = f
	}
	for _, f := range c.policy.Funcs.Funcs {
		found := s.of(f.Name)
		if !found.isPure {
			continue
		}
		one := sharing{class: unique.Make(found.digest), prepares: found.prepares, height: found.height}
		one.isTiny = !found.loops && found.weight <= tinyWeight
		one.isShared = !one.isTiny
		for _, path := range found.parts {
			part := inputPart{key: ast.StringTerm(path.key)}
			if path.inner != "" {
				part.inner = ast.StringTerm(path.inner)
			}
			one.parts = append(one.parts, part)
		}
		c.byName[f.Name].sharing = one
	}
}

// of studies a function, and those that it calls.
func (s *sharingStudy) of(name string) *studied {
	if found := s.known[name]; found != nil {
		return found
	}
	s.known[name] = &studied{} // a function that calls itself is not pure
	f := s.plans[name]
	w := &planDigest{study: s, out: sha256.New(), found: &studied{isPure: true}}
	w.ints(int64(len(f.Params)), int64(f.Return))
	for _, parameter := range f.Params {
		w.ints(int64(parameter))
	}
	found := w.found
	w.reads.found = found
	for _, block := range f.Blocks {
		w.reads.begin(block)
		w.blocks([]*ir.Block{block})
		w.reads.end()
	}
	w.out.Sum(found.digest[:0])
	if found.parts = reducedParts(found.parts); len(found.parts) > maxParts || len(found.parts) == 0 && found.readsPresence {
		found.wholeInput = true
	}
	// Input as a whole is that of one policy. The places of rules decide on conflicts of rules with
	// paths of different length.
	found.isPure = found.isPure && !found.wholeInput && !s.byName[name].isMixed() && len(f.Params) <= 2+maxArguments
	s.known[name] = found
	return found
}
