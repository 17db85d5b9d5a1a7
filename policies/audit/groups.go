package audit

import (
	"cmp"
	"maps"
	"slices"
)

// Group is the content of one report.
type Group struct {
	GroupKey
	// Counts are those of all results, also of those that Details omits.
	Counts Counts
	// Details are sorted by policy and object.
	Details []Detail
}

// TakeChanged returns the groups that have changed since the last call, also those that are empty
// now, and forgets the changes.
func (l *Ledger) TakeChanged() (keys []GroupKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys = slices.SortedFunc(maps.Keys(l.changed), func(a, b GroupKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Source, b.Source))
	})
	clear(l.changed)
	return keys
}

// Groups lists the groups that have results.
func (l *Ledger) Groups() []GroupKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.groups))
}

// Group returns a group: one without results if there is none.
func (l *Ledger) Group(at GroupKey) Group {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Group{GroupKey: at, Counts: Counts{}}
	g := l.groups[at]
	if g == nil {
		return out
	}
	out.Counts = maps.Clone(g.counts)
	for _, details := range g.details {
		out.Details = append(out.Details, details...)
	}
	slices.SortFunc(out.Details, compareDetails)
	return out
}

// Details returns the results of one policy with one of the outcomes, sorted by object, up to
// limit.
func (l *Ledger) Details(policy PolicyKey, limit int, outcomes ...Outcome) []Detail {
	return l.DetailsOf(policy.Source, limit, outcomes...)[policy]
}

// DetailsOf returns the results of the policies of a source with one of the outcomes, sorted by
// object, up to limit of each policy.
func (l *Ledger) DetailsOf(source string, limit int, outcomes ...Outcome) map[PolicyKey][]Detail {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[PolicyKey][]Detail{}
	for at, g := range l.groups {
		if at.Source != source {
			continue
		}
		for _, details := range g.details {
			for _, detail := range details {
				if slices.Contains(outcomes, detail.Result.Outcome) {
					found[detail.Result.Key()] = append(found[detail.Result.Key()], detail)
				}
			}
		}
	}
	for policy, details := range found {
		slices.SortFunc(details, compareDetails)
		found[policy] = details[:min(len(details), limit)]
	}
	return found
}

func compareDetails(a, b Detail) int {
	return cmp.Or(
		a.Result.Key().compare(b.Result.Key()),
		cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Kind.String(), b.Object.Kind.String()),
		cmp.Compare(a.Object.Name, b.Object.Name),
		a.Result.compare(b.Result),
	)
}
