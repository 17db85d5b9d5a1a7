package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// maxOverwritten bounds how many existing values a policy of a scope below the enterprise may
// change: for each, the policies of broader scopes are evaluated again.
const maxOverwritten = 32

// Steps of the comparison with broader scopes, in addition to those of their policies:
// comparisonSteps for a path that is compared with another, and copiedSteps for each value of an object that is
// converted, changed and converted back.
const (
	comparisonSteps = 5
	copiedSteps     = 10
	bytesPerValue   = 1024 // of its strings, which take as long as a value
)

// protect records the paths that the members of a round set, of policies that have scopes below
// them.
func (m *mutator) protect(root any, members []member) {
	claims := newReservations(func() any { return root })
	for i := range members {
		by := &members[i]
		if !by.policy.source.place.Parent || m.excluded[by.policy] {
			continue
		}
		for _, op := range by.ops {
			for _, claim := range claims.effects(op, by) {
				if claim.change {
					m.protected = append(m.protected, protectedBy(claim, root))
				}
			}
		}
	}
}

// overrides returns the conflict of a member of a narrower scope with a broader one. The work of
// the comparison counts for the source of the member.
func (m *mutator) overrides(by member, above *parents) *conflict {
	if !by.policy.source.place.Below {
		return nil
	}
	usage := above.e.usage
	defer usage.payFor(by.policy.source.Name)()
	rank := by.policy.rank()
	claims := newReservations(above.root)
	for _, op := range by.ops {
		for _, own := range claims.effects(op, &by) {
			usage.charge(by.policy, int64(comparisonSteps*(1+len(own.path)+len(m.protected))))
			if !own.change {
				continue
			}
			for _, theirs := range m.protected {
				if theirs.member.policy.rank() < rank && theirs.touches(own) {
					return &conflict{jsonpatch.Pointer(own.path), theirs.member, "changes", "sets"}
				}
			}
			if conflict := m.exceedsComparisons(own, above); conflict != nil {
				return conflict
			}
			if conflict := above.conflictOf(own); conflict != nil {
				return conflict
			}
		}
	}
	return nil
}

// exceedsComparisons bounds how often the policies of broader scopes are evaluated again.
func (m *mutator) exceedsComparisons(own claim, above *parents) *conflict {
	if above.e.usage.bySource[own.member.policy.source.Name] >= sourceSteps {
		return &conflict{path: jsonpatch.Pointer(own.path), mine: fmt.Sprintf("changes what takes more than the %d steps that its source has to compare with the policies of broader scopes, such as", sourceSteps)}
	}
	if have, err := jsonpatch.Get(above.root(), own.path); err != nil || have == nil {
		return nil
	}
	if m.overwritten[own.member.policy]++; m.overwritten[own.member.policy] > maxOverwritten {
		return &conflict{path: jsonpatch.Pointer(own.path), mine: fmt.Sprintf("changes more than %d places that hold something already, the last of them", maxOverwritten)}
	}
	return nil
}

// parents are the policies of broader scopes in one round, of all entries: the API server
// calls each entry on its own.
type parents struct {
	mutator *mutator
	e       *evaluation
	root    func() any
	// proposed are their members for the object without the value at a path, and for the whole
	// object at "".
	proposed map[string][]proposal
}

// proposal is a member that a policy would apply to an object.
type proposal struct {
	member *member
	root   func() any // the object
}

// parentsOf returns the policies of broader scopes for an object.
func (m *mutator) parentsOf(e *evaluation, root func() any) *parents {
	return &parents{m, e, root, map[string][]proposal{}}
}

// conflictOf returns the conflict if broader scopes set the path of a change, or have set it when
// the object was created, in an earlier call, or by a value around it.
func (p *parents) conflictOf(own claim) *conflict {
	proposals := p.propose(nil)
	p.e.usage.charge(own.member.policy, int64(comparisonSteps*len(proposals)*(1+len(own.path))))
	for _, now := range proposals {
		if now.isBroader(own) && now.sets(own) {
			return &conflict{jsonpatch.Pointer(own.path), now.member, "changes", "sets"}
		}
	}
	for n := len(own.path); n > 0; n-- {
		at := own.path[:n]
		if have, err := jsonpatch.Get(p.root(), at); err != nil || have == nil {
			continue
		}
		for _, without := range p.propose(at) {
			if !without.isBroader(own) || p.stillProposes(without) {
				continue
			}
			if n == len(own.path) && without.sets(own) || without.accountsFor(own, at, p.root()) {
				return &conflict{jsonpatch.Pointer(own.path), without.member, "changes", "sets where it is absent"}
			}
		}
	}
	return nil
}

// stillProposes reports whether a policy proposes the same change for the unchanged object.
func (p *parents) stillProposes(one proposal) bool {
	return slices.ContainsFunc(p.propose(nil), func(now proposal) bool {
		return now.member.policy == one.member.policy && jsonpatch.Same(now.member.ops, one.member.ops)
	})
}

// propose evaluates the broader scopes for the object without the value at a path.
func (p *parents) propose(at []string) []proposal {
	key := jsonpatch.Pointer(at)
	if known, ok := p.proposed[key]; ok {
		return known
	}
	p.proposed[key] = nil
	e, root := p.without(at)
	if e == nil {
		return nil
	}
	evaluations := []*evaluation{e}
	if e.review.Operation == "UPDATE" {
		evaluations = append(evaluations, e.with(e.review.AsCreated()))
	}
	for _, e := range evaluations {
		for _, result := range p.mutator.evaluate(p.mutator.broader(len(hierarchy.AllLevels), e), e, root) {
			for i := range result.members {
				p.proposed[key] = append(p.proposed[key], proposal{&result.members[i], root})
			}
		}
	}
	return p.proposed[key]
}

// without is the object without the value at a path. An element of a list is replaced by an
// empty one, so that the indexes of the others stay the same.
func (p *parents) without(at []string) (*evaluation, func() any) {
	if len(at) == 0 {
		return p.e, p.root
	}
	values, bytes := eval.Measure(ast.NewTerm(p.e.review.New.Value()), math.MaxInt, math.MaxInt)
	p.e.usage.bySource[p.e.usage.payer] += int64(copiedSteps * (values + bytes/bytesPerValue))
	doc := &jsonpatch.Document{Root: toJSON(p.e.review.New.Value())}
	op := jsonpatch.Step{Op: "remove", Path: at}
	if jsonpatch.IsElement(doc.Root, at) {
		op.Op, op.Value = "replace", map[string]any{}
	}
	if err := doc.Apply(op); err != nil {
		return nil, nil
	}
	object, ok := fromJSON(doc.Root)
	if !ok {
		return nil, nil
	}
	return p.e.with(p.e.review.WithObject(object)), func() any { return doc.Root }
}

// isBroader reports whether the proposal is of a broader scope than the claim.
func (p proposal) isBroader(own claim) bool { return p.member.policy.rank() < own.member.policy.rank() }

// sets reports whether the proposal changes the path of a claim. The same change is not a
// conflict, and several proposals may append to a list.
func (p proposal) sets(own claim) bool {
	if jsonpatch.Same(p.member.ops, own.member.ops) {
		return false
	}
	claims := newReservations(p.root)
	for _, op := range p.member.ops {
		for _, theirs := range claims.effects(op, p.member) {
			both := theirs.appends && own.appends
			if theirs.change && !both && (protectedPath{theirs.path, -1, theirs.adds, nil}).touches(own) {
				return true
			}
		}
	}
	return false
}

// accountsFor reports whether the value at a path around the claim is the value that the proposal would
// put there.
func (p proposal) accountsFor(own claim, at []string, present any) bool {
	doc := &jsonpatch.Document{Root: runtime.DeepCopyJSONValue(p.root())}
	for _, op := range p.member.ops {
		if doc.Apply(op) != nil {
			return false
		}
	}
	return slices.ContainsFunc(p.member.ops, func(op jsonpatch.Step) bool {
		last := len(op.Path) - 1
		switch {
		case op.Op == "remove", op.Op == "test":
			return false
		case op.Path[last] == "-":
			return jsonpatch.IsElement(present, at) && slices.Equal(at[:len(at)-1], op.Path[:last]) && jsonpatch.Holds(jsonpatch.ValueAt(present, at), doc.At(op.Path))
		case slices.ContainsFunc(newReservations(p.root).effects(op, p.member), func(c claim) bool { return c.sharesBelow(own.path) }):
			return false // it is next to the added value
		default:
			return jsonpatch.IsPrefix(op.Path, own.path) && jsonpatch.Holds(jsonpatch.ValueAt(present, op.Path), doc.At(op.Path))
		}
	})
}
