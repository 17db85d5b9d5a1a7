package audit

import (
	"maps"
	"slices"
	"sync"
	"time"
	"unique"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Object names a stored object.
type Object struct {
	Kind            admission.GroupVersionKind
	Namespace, Name string
	UID             string
}

// objectKey is the identity of an object: its version and UID may change. Objects share the text of
// their kinds and namespaces, because there is a key for each object of the cluster.
type objectKey struct {
	kind      unique.Handle[admission.GroupVersionKind] // without version
	namespace unique.Handle[string]
	name      string
}

func (o Object) key() objectKey {
	return objectKey{unique.Make(o.Kind.WithoutVersion()), unique.Make(o.Namespace), o.Name}
}

// object is the object without version and UID.
func (k objectKey) object() Object {
	return Object{Kind: k.kind.Value(), Namespace: k.namespace.Value(), Name: k.name}
}

// group is the key of the group with the results of a source.
func (k objectKey) group(source string) GroupKey { return GroupKey{k.namespace.Value(), source} }

// GroupKey names the results that belong in one report: those of one source in one namespace,
// which is empty for cluster-scoped objects.
type GroupKey struct{ Namespace, Source string }

// Counts are numbers of results by outcome.
type Counts map[Outcome]int

// Total is the number of results.
func (c Counts) Total() (total int) {
	for _, n := range c {
		total += n
	}
	return total
}

// Violations is the number of results that no exception exempts.
func (c Counts) Violations() int { return c.Total() - c[Skip] }

// limited is the number of results that share a limit with those of an outcome. Skips have their
// own, so that they do not take the room of violations.
func (c Counts) limited(outcome Outcome) int {
	if outcome == Skip {
		return c[Skip]
	}
	return c.Violations()
}

func (c Counts) add(outcome Outcome, n int) {
	if c[outcome] += n; c[outcome] == 0 {
		delete(c, outcome)
	}
}

// Digest identifies the content of an object that policies read.
type Digest [16]byte

// record contains the results of an object. Most objects have no results.
type record struct {
	digest Digest
	// totals are the counts of results by policy.
	totals map[PolicyKey]Counts
}

// Detail is a result of an object, with the time since which it holds.
type Detail struct {
	Object Object
	Result Result
	Since  time.Time
}

// groupResults contains the results of one report.
type groupResults struct {
	counts  Counts
	details map[objectKey][]Detail
}

// tally contains the counts of one policy.
type tally struct {
	counts Counts
	// detailed counts the results in groups: at most the limit of violations, and of skips.
	detailed Counts
}

// Ledger keeps the results of all objects. Its memory depends on the number of objects and on the
// limit of results per policy, and not on the size of objects. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex // over the fields below
	limit    int
	objects  map[objectKey]record
	groups   map[GroupKey]*groupResults
	policies map[PolicyKey]*tally
	changed  map[GroupKey]bool
}

// NewLedger returns an empty ledger that keeps up to limit results of each policy, and the number
// of the others.
func NewLedger(limit int) *Ledger {
	return &Ledger{
		limit: limit, objects: map[objectKey]record{}, groups: map[GroupKey]*groupResults{},
		policies: map[PolicyKey]*tally{}, changed: map[GroupKey]bool{},
	}
}

// Has reports whether the object was evaluated with this content.
func (l *Ledger) Has(object Object, digest Digest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.objects[object.key()]
	return found && known.digest == digest
}

// Len is the number of objects.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects)
}

// Set records the results of an object, in place of its earlier ones.
func (l *Ledger) Set(object Object, digest Digest, results []Result, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := object.key()
	object.Namespace = key.namespace.Value() // the details share it, too
	before, next := l.known(key), record{digest: digest}
	if before == nil && len(results) == 0 {
		l.objects[key] = next
		return
	}
	for i := range results {
		results[i].Revision = "" // it may change without an evaluation
		if next.totals == nil {
			next.totals = map[PolicyKey]Counts{}
		}
		counts := next.totals[results[i].Key()]
		if counts == nil {
			counts = Counts{}
			next.totals[results[i].Key()] = counts
		}
		counts.add(results[i].Outcome, 1)
	}
	old := l.detailsOf(key, before)
	l.forget(key, before)
	l.objects[key] = next
	l.count(key, &next, 1)
	l.detail(object, results, old, now)
	l.noteChanges(key, before, &next, old)
}

// known is the record of an object: nil if there is none.
func (l *Ledger) known(key objectKey) *record {
	if known, found := l.objects[key]; found {
		return &known
	}
	return nil
}

// detailsOf are the results of an object that the groups contain, by source.
func (l *Ledger) detailsOf(key objectKey, known *record) map[string][]Detail {
	found := map[string][]Detail{}
	if known == nil {
		return found
	}
	for policy := range known.totals {
		if g := l.groups[key.group(policy.Source)]; g != nil && len(g.details[key]) > 0 {
			found[policy.Source] = g.details[key]
		}
	}
	return found
}

// detail adds the results to their groups, up to the limit of each policy. Results that are not
// new keep their time.
func (l *Ledger) detail(object Object, results []Result, old map[string][]Detail, now time.Time) {
	key := object.key()
	for _, result := range results {
		t := l.policies[result.Key()]
		if t.detailed.limited(result.Outcome) >= l.limit {
			continue
		}
		t.detailed.add(result.Outcome, 1)
		since := now
		for _, detail := range old[result.Source] {
			if detail.Result.same(result) {
				since = detail.Since
				break
			}
		}
		g := l.groups[key.group(result.Source)]
		g.details[key] = append(g.details[key], Detail{Object: object, Result: result, Since: since})
	}
}

// noteChanges notes the groups in which something has changed.
func (l *Ledger) noteChanges(key objectKey, before, next *record, old map[string][]Detail) {
	sources := map[string]bool{}
	for _, known := range []*record{before, next} {
		if known == nil {
			continue
		}
		for policy := range known.totals {
			sources[policy.Source] = true
		}
	}
	for source := range sources {
		at := key.group(source)
		var details []Detail
		if g := l.groups[at]; g != nil {
			details = g.details[key]
		}
		same := slices.EqualFunc(old[source], details, func(a, b Detail) bool { return a.Object == b.Object && a.Result.same(b.Result) })
		if !same || !equalTotals(before, next, source) {
			l.changed[at] = true
		}
	}
}

func equalTotals(before, next *record, source string) bool {
	of := func(known *record) map[PolicyKey]Counts {
		out := map[PolicyKey]Counts{}
		if known != nil {
			for policy, counts := range known.totals {
				if policy.Source == source {
					out[policy] = counts
				}
			}
		}
		return out
	}
	return maps.EqualFunc(of(before), of(next), func(a, b Counts) bool { return maps.Equal(a, b) })
}

// Remove forgets an object.
func (l *Ledger) Remove(object Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(object.key())
}

func (l *Ledger) remove(key objectKey) {
	known := l.known(key)
	if known == nil {
		return
	}
	for policy := range known.totals {
		l.changed[key.group(policy.Source)] = true
	}
	l.forget(key, known)
	delete(l.objects, key)
}

// forget takes the results of an object out of the counts and groups.
func (l *Ledger) forget(key objectKey, known *record) {
	if known == nil {
		return
	}
	for policy := range known.totals {
		g := l.groups[key.group(policy.Source)]
		if g == nil {
			continue
		}
		for _, detail := range g.details[key] {
			l.policies[detail.Result.Key()].detailed.add(detail.Result.Outcome, -1)
		}
		delete(g.details, key)
	}
	l.count(key, known, -1)
}

// count adds the totals of an object to those of its groups and policies, or subtracts them.
func (l *Ledger) count(key objectKey, known *record, sign int) {
	for policy, counts := range known.totals {
		at := key.group(policy.Source)
		g, t := l.groups[at], l.policies[policy]
		if g == nil {
			g = &groupResults{counts: Counts{}, details: map[objectKey][]Detail{}}
			l.groups[at] = g
		}
		if t == nil {
			t = &tally{counts: Counts{}, detailed: Counts{}}
			l.policies[policy] = t
		}
		for outcome, n := range counts {
			g.counts.add(outcome, sign*n)
			t.counts.add(outcome, sign*n)
		}
		if len(g.counts) == 0 {
			delete(l.groups, at)
		}
		if len(t.counts) == 0 {
			delete(l.policies, policy)
		}
	}
}

// Retain forgets the objects for which keep is false.
func (l *Ledger) Retain(keep func(Object) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.objects {
		if !keep(key.object()) {
			l.remove(key)
		}
	}
}

// Expire makes the objects that match count as not evaluated. Their results stay until they are
// evaluated again.
func (l *Ledger) Expire(match func(Object) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, known := range l.objects {
		if match(key.object()) {
			known.digest = Digest{}
			l.objects[key] = known
		}
	}
}

// Totals are the counts of all results, by policy.
func (l *Ledger) Totals() map[PolicyKey]Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	totals := map[PolicyKey]Counts{}
	for policy, t := range l.policies {
		totals[policy] = maps.Clone(t.counts)
	}
	return totals
}

// Truncated returns objects with results that the groups do not contain although there is room
// for them again: evaluate them once more.
func (l *Ledger) Truncated() (objects []Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, outcome := range []Outcome{Fail, Skip} {
		room := map[PolicyKey]int{}
		for policy, t := range l.policies {
			if detailed := t.detailed.limited(outcome); detailed < l.limit && detailed < t.counts.limited(outcome) {
				room[policy] = l.limit - detailed
			}
		}
		if len(room) > 0 {
			objects = append(objects, l.truncated(outcome, room)...)
		}
	}
	return objects
}

// truncated returns objects with results that the groups do not contain, as far as there is room
// for results with the limit of an outcome.
func (l *Ledger) truncated(outcome Outcome, room map[PolicyKey]int) (objects []Object) {
	for key, known := range l.objects {
		for policy, counts := range known.totals {
			n := counts.limited(outcome)
			if room[policy] > 0 && l.groups[key.group(policy.Source)].of(key, policy).limited(outcome) < n {
				room[policy] -= n
				objects = append(objects, key.object())
				break
			}
		}
	}
	return objects
}

// of counts the results of an object by one policy that the group contains.
func (g *groupResults) of(key objectKey, policy PolicyKey) Counts {
	found := Counts{}
	for _, detail := range g.details[key] {
		if detail.Result.Key() == policy {
			found.add(detail.Result.Outcome, 1)
		}
	}
	return found
}
