package mutation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// System is a set of mutators that are applied together.
type System struct {
	mutators []*Mutator
}

// NewSystem returns a system of mutators, which must not conflict.
func NewSystem(mutators []*Mutator) *System {
	mutators = slices.Clone(mutators)
	slices.SortFunc(mutators, func(a, b *Mutator) int {
		return cmp.Or(strings.Compare(a.ID.Kind, b.ID.Kind), strings.Compare(a.ID.Name, b.ID.Name))
	})
	return &System{mutators}
}

// maxApplications bounds the applications of mutators to one object. Without it, a system of
// thousands of mutators that does not converge would take minutes.
const maxApplications = 100_000

// Apply applies the mutators in place until the object no longer changes. It returns the mutators
// that were applied, in the order of their first application: nil if the object is unchanged. On
// an error, the object is partly changed.
func (s *System) Apply(ctx context.Context, object map[string]any) (applied []*Mutator, err error) {
	applications := 0
	for round := 0; round <= len(s.mutators); round++ {
		var before map[string]any
		for _, m := range s.mutators {
			if applications++; applications > maxApplications {
				return nil, fmt.Errorf("the mutators still change the object after %d applications", maxApplications)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			matches, err := m.Matches(object)
			if err != nil {
				return nil, err
			}
			if !matches {
				continue
			}
			if before == nil {
				before = clone(object).(map[string]any)
			}
			changed, err := m.apply(object)
			if err != nil {
				return nil, err
			}
			if changed && !slices.Contains(applied, m) {
				applied = append(applied, m)
			}
		}
		if before == nil || equal(before, object) {
			if round == 0 {
				return nil, nil
			}
			return applied, nil
		}
	}
	return nil, fmt.Errorf("the mutators %s do not converge: each round changes the object again", names(applied))
}

// names lists mutators.
func names(mutators []*Mutator) string {
	const shown = 5
	var all []string
	for _, m := range mutators[:min(shown, len(mutators))] {
		all = append(all, m.ID.String())
	}
	if len(mutators) > shown {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}
