package replay

import (
	"cmp"
	"hash/fnv"
	"iter"
	"slices"
)

// Part is one of several shares of the requests. The zero value is all of them.
//
// All parts join the same records to requests, and each evaluates its own: the records of a request
// are in segments of several replicas, so that shares of segments would count some requests twice.
type Part struct{ Index, Of int }

// Requests returns the requests of the part. Records that cannot be read are those of the first
// part.
func (p Part) Requests(all iter.Seq2[*Request, error]) iter.Seq2[*Request, error] {
	if p.Of <= 1 {
		return all
	}
	return func(yield func(*Request, error) bool) {
		for request, err := range all {
			if (err != nil && p.Index == 0 || err == nil && p.has(request)) && !yield(request, err) {
				return
			}
		}
	}
}

func (p Part) has(request *Request) bool {
	hash := fnv.New32a()
	hash.Write([]byte(request.UID)) // never fails
	mixed := hash.Sum32()
	mixed ^= mixed >> 16
	mixed *= 0x45d9f3b
	mixed ^= mixed >> 16
	return int(uint64(mixed)%uint64(p.Of)) == p.Index
}

// Merge adds the results of other requests. Call SelectExamples after the last one.
func (t *Tally) Merge(other *Tally) {
	t.Records += other.Records
	t.Requests += other.Requests
	t.Evaluated += other.Evaluated
	t.Same += other.Same
	t.Counts.add(other.Counts)
	t.NewWarnings += other.NewWarnings
	t.StepsBefore += other.StepsBefore
	t.StepsAfter += other.StepsAfter
	t.Replaced += other.Replaced
	t.OtherSources += other.OtherSources
	for _, groups := range []struct{ to, from map[string]*Counts }{
		{t.Policies, other.Policies}, {t.Namespaces, other.Namespaces}, {t.Users, other.Users}, {t.Workloads, other.Workloads},
	} {
		for name, counts := range groups.from {
			groupCounts(groups.to, name).add(*counts)
		}
	}
	for _, reason := range other.UndecidedReasons {
		t.UndecidedReasons = addReason(t.UndecidedReasons, reason)
	}
	for _, reason := range other.Skipped {
		t.Skipped = addReason(t.Skipped, reason)
	}
	t.Examples = append(t.Examples, other.Examples...)
}

func (c *Counts) add(other Counts) {
	for _, outcome := range AllOutcomes {
		if outcome != Same {
			*c.of(outcome) += *other.of(outcome)
		}
	}
}

// SelectExamples selects the examples that Add selects if all requests are those of one run: the
// first of each outcome and policy.
func (t *Tally) SelectExamples(examples int) {
	slices.SortStableFunc(t.Examples, func(a, b *Result) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.UID, b.UID))
	})
	selection := NewTally()
	for _, one := range t.Examples {
		selection.Add(one, examples)
	}
	t.Examples, t.Shown = selection.Examples, nil
}
