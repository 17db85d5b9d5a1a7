package engine

import (
	"slices"
)

// claimTree finds the claims whose paths contain a path, or are below it, without a comparison
// with all claims: a policy may claim thousands of paths.
type claimTree struct {
	claims   []int // indices of the claims of exactly this path
	children map[string]*claimTree
}

// add adds the index of a claim.
func (t *claimTree) add(path []string, index int) {
	for _, key := range path {
		if t.children == nil {
			t.children = map[string]*claimTree{}
		}
		child := t.children[key]
		if child == nil {
			child = &claimTree{}
			t.children[key] = child
		}
		t = child
	}
	t.claims = append(t.claims, index)
}

// related returns the indices of the claims of which one path begins with the other, in the order
// of the claims.
func (t *claimTree) related(path []string) (found []int) {
	for _, key := range path {
		found = append(found, t.claims...)
		if t = t.children[key]; t == nil {
			slices.Sort(found)
			return found
		}
	}
	found = t.appendAll(found)
	slices.Sort(found)
	return found
}

func (t *claimTree) appendAll(found []int) []int {
	found = append(found, t.claims...)
	for _, child := range t.children {
		found = child.appendAll(found)
	}
	return found
}
