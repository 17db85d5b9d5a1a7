package clusterdata

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// common are the values that many objects have: labels, images, owners.
var common = sharedTerms{seen: map[int]*ast.Term{}, shared: map[int]*ast.Term{}}

// The limits of the table of shared terms.
const (
	maxSharedTerms = 4096
	maxSharedBytes = 128
)

// sharedTerms keeps one term for each value that was seen twice lately, by its hash.
// Terms never change.
type sharedTerms struct {
	mu           sync.Mutex // over both
	seen, shared map[int]*ast.Term
}

func (s *sharedTerms) share(term *ast.Term) *ast.Term {
	if len(term.String()) > maxSharedBytes {
		return term
	}
	hash := term.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.shared[hash]; ok && known.Equal(term) {
		return known
	}
	known, again := s.seen[hash]
	if again && known.Equal(term) {
		delete(s.seen, hash)
		keep(s.shared, hash, known)
		return known
	}
	keep(s.seen, hash, term)
	return term
}

func keep(terms map[int]*ast.Term, hash int, term *ast.Term) {
	if len(terms) >= maxSharedTerms {
		clear(terms)
	}
	terms[hash] = term
}
