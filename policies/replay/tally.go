package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lintel-policy/lintel/policies/record"
)

// Counts are the numbers of requests by outcome.
type Counts struct {
	NewlyDenied     int64 `json:"newlyDenied"`
	NewlyAdmitted   int64 `json:"newlyAdmitted"`
	Undecided       int64 `json:"undecided"`
	PatchChanged    int64 `json:"patchChanged"`
	WarningsChanged int64 `json:"warningsChanged"`
}

func (c *Counts) of(outcome Outcome) *int64 {
	switch outcome {
	case NewlyDenied:
		return &c.NewlyDenied
	case NewlyAdmitted:
		return &c.NewlyAdmitted
	case Undecided:
		return &c.Undecided
	case PatchChanged:
		return &c.PatchChanged
	case WarningsChanged:
		return &c.WarningsChanged
	}
	return nil
}

// Get is the number of an outcome other than Same.
func (c Counts) Get(outcome Outcome) int64 { return *c.of(outcome) }

func (c Counts) total() int64 {
	return c.NewlyDenied + c.NewlyAdmitted + c.Undecided + c.PatchChanged + c.WarningsChanged
}

const (
	// maxGroups bounds the groups of one kind, such as users.
	maxGroups = 10_000
	// otherGroups are those beyond.
	otherGroups = "(others)"
	// maxReasons bounds the different reasons for undecided and skipped requests.
	maxReasons = 1000
)

// Reason is why requests are undecided, or why records are skipped.
type Reason struct {
	Policy string `json:"policy,omitempty"`
	Reason string `json:"reason"`
	// Requests is the number of requests, or of skipped records, as far as it is known.
	Requests int64  `json:"requests"`
	First    string `json:"first"`
}

// Tally counts results. It is as large for ten million requests as for ten thousand. A result counts
// as often as its records state.
type Tally struct {
	Records  int64 `json:"records"`
	Requests int64 `json:"requests"`
	// Evaluated is the number of different requests.
	Evaluated int64 `json:"evaluated"`
	Same      int64 `json:"same"`
	Counts
	// NewWarnings counts the admitted requests with a warning that the other decision lacks.
	NewWarnings int64 `json:"newWarnings"`
	// StepsBefore and StepsAfter are the evaluated statements; before only with a baseline.
	StepsBefore int64 `json:"stepsBefore,omitempty"`
	StepsAfter  int64 `json:"stepsAfter"`
	// Groups by policy (source/policy), namespace, user and workload.
	Policies   map[string]*Counts `json:"policies"`
	Namespaces map[string]*Counts `json:"namespaces"`
	Users      map[string]*Counts `json:"users"`
	Workloads  map[string]*Counts `json:"workloads"`
	// UndecidedReasons and Skipped are the first different reasons.
	UndecidedReasons []Reason `json:"undecidedReasons"`
	Skipped          []Reason `json:"skipped"`
	// Examples are the first results of each outcome and policy.
	Examples []*Result `json:"examples"`
	// Shown are the different requests by outcome and policy, as far as they may be examples.
	Shown map[string]int `json:"shown,omitempty"`
	// Replaced and OtherSources count requests with recorded findings of sources that the candidate
	// replaces, and of others.
	Replaced     int64 `json:"replaced"`
	OtherSources int64 `json:"otherSources"`
}

// NewTally counts nothing yet.
func NewTally() *Tally {
	return &Tally{
		Policies: map[string]*Counts{}, Namespaces: map[string]*Counts{}, Users: map[string]*Counts{}, Workloads: map[string]*Counts{},
		UndecidedReasons: []Reason{}, Skipped: []Reason{}, Examples: []*Result{},
	}
}

// Add counts a result. An example is added if there are fewer than examples of its outcome and
// policies.
func (t *Tally) Add(r *Result, examples int) {
	count := r.Request.Count()
	t.Records += int64(len(r.Request.Records))
	t.Requests += count
	t.Evaluated++
	t.StepsBefore += count * r.StepsBefore
	t.StepsAfter += count * r.StepsAfter
	if r.Warns {
		t.NewWarnings += count
	}
	if r.Outcome == Same {
		t.Same += count
		return
	}
	*t.Counts.of(r.Outcome) += count
	isExample := false
	for _, policy := range r.Policies() {
		isExample = t.shows(r.Outcome, policy, examples) || isExample
		*groupCounts(t.Policies, policy).of(r.Outcome) += count
	}
	if len(r.Policies()) == 0 {
		isExample = t.shows(r.Outcome, "", examples)
	}
	for of, name := range map[*map[string]*Counts]string{&t.Namespaces: r.Namespace, &t.Users: r.User, &t.Workloads: r.workload()} {
		*groupCounts(*of, name).of(r.Outcome) += count
	}
	if r.Outcome == Undecided {
		for _, one := range r.Undecided {
			t.UndecidedReasons = addReason(t.UndecidedReasons, Reason{one.Policy, one.Reason, count, r.Title()})
		}
	}
	if isExample && len(t.Examples) < maxReasons {
		t.Examples = append(t.Examples, r)
	}
}

// shows reports whether a result is one of the first of its outcome and policy.
func (t *Tally) shows(outcome Outcome, policy string, examples int) bool {
	if t.Shown == nil {
		t.Shown = map[string]int{}
	}
	key := string(outcome) + " " + policy
	if t.Shown[key] >= examples || t.Shown[key] == 0 && len(t.Shown) >= maxGroups {
		return false
	}
	t.Shown[key]++
	return true
}

// Skip counts records that could not be read.
func (t *Tally) Skip(where, reason string, records int64) {
	t.Skipped = addReason(t.Skipped, Reason{"", reason, records, where})
}

func addReason(all []Reason, one Reason) []Reason {
	i := slices.IndexFunc(all, func(other Reason) bool { return other.Policy == one.Policy && other.Reason == one.Reason })
	switch {
	case i >= 0:
		all[i].Requests += one.Requests
	case len(all) < maxReasons:
		all = append(all, one)
	default:
		all[len(all)-1].Requests += one.Requests
	}
	return all
}

func groupCounts(groups map[string]*Counts, name string) *Counts {
	if groups[name] == nil {
		if len(groups) >= maxGroups {
			name = otherGroups
		}
		if groups[name] == nil {
			groups[name] = &Counts{}
		}
	}
	return groups[name]
}

// IsComplete reports whether the tally has all groups, as one that was written by a run.
func (t *Tally) IsComplete() bool {
	return t.Policies != nil && t.Namespaces != nil && t.Users != nil && t.Workloads != nil
}

// workload has the namespace of the workload.
func (r *Result) workload() string {
	if r.Namespace == "" {
		return r.Workload
	}
	return r.Namespace + "/" + r.Workload
}

// Policies are the policies that make the difference, as source/policy. For an undecided request,
// they have no source.
func (r *Result) Policies() (names []string) {
	add := func(findings []record.Finding) {
		for _, f := range findings {
			if name := f.Source + "/" + f.Policy; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch r.Outcome {
	case NewlyDenied:
		add(r.After.Denials)
	case NewlyAdmitted:
		add(r.Before.Denials)
	case WarningsChanged:
		add(r.After.Warnings)
		add(r.Before.Warnings)
	case Undecided:
		for _, one := range r.Undecided {
			if one.Policy != "" && !slices.Contains(names, one.Policy) {
				names = append(names, one.Policy)
			}
		}
	}
	return names
}

// Group is a named group.
type Group struct {
	Name string `json:"name"`
	Counts
}

// Sorted are groups, those with the most newly denied requests first.
func Sorted(groups map[string]*Counts) []Group {
	sorted := make([]Group, 0, len(groups))
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, Group{name, *groups[name]})
	}
	slices.SortStableFunc(sorted, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.NewlyDenied, a.NewlyDenied), cmp.Compare(b.total(), a.total()))
	})
	return sorted
}
