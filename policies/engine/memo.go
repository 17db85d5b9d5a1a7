package engine

import (
	"encoding/binary"
	"hash/maphash"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MemoMode says what becomes of verdicts that are remembered.
type MemoMode string

// The modes of a memo.
const (
	// MemoOn reuses them.
	MemoOn MemoMode = "on"
	// MemoCheck evaluates all the same, and reports where that gives another verdict.
	MemoCheck MemoMode = "check"
	// MemoOff remembers nothing.
	MemoOff MemoMode = "off"
)

// MemoModes are all of them.
var MemoModes = []MemoMode{MemoOn, MemoOff, MemoCheck}

// DefaultMemoBytes is how much a memo holds.
const DefaultMemoBytes = 32 << 20

// memoSample is of how many verdicts that are known one is evaluated all the same.
const memoSample = 128

// Memo has snapshots remember verdicts: that a policy has nothing to say about a
// request is said again, without evaluating it, about requests that are the same in all
// that it can read. Nothing else is remembered: no denial or warning, which have to be
// worded, and no error. Each snapshot starts with nothing.
//
// What a policy can read is derived from its rules (readFinder). That is the verdict of
// the rules. Where a policy fails, it may fail sooner or later by what no rule reads: by
// which of several members comes first, or by how large a value is that is only handed
// on. An error of that kind is not met where the verdict is remembered.
//
// One in many verdicts is evaluated all the same, at random. Where that gives another, the
// derivation is wrong about the policy: it is remembered no more.
type Memo struct {
	mode   MemoMode
	bytes  int
	sample uint32 // one in so many is checked; 0 is none
	logger *slog.Logger

	hits, misses, evictions, differences atomic.Uint64
	current                              atomic.Pointer[memory]
}

// NewMemo makes a memo that holds up to a number of bytes, or DefaultMemoBytes if 0. It
// tells the logger about differences; without one, none are looked for with MemoOn. With
// MemoOff it is nil.
func NewMemo(mode MemoMode, bytes int, logger *slog.Logger) *Memo {
	if mode == MemoOff {
		return nil
	}
	if bytes <= 0 {
		bytes = DefaultMemoBytes
	}
	memo := &Memo{mode: mode, bytes: bytes, logger: logger}
	if logger != nil {
		memo.sample = memoSample
	}
	return memo
}

// MemoStats counts what became of the questions to policies that could be remembered.
type MemoStats struct {
	// Hits and Misses are policies that were not evaluated, and that were.
	Hits, Misses uint64
	// Evictions are keys that made room for others.
	Evictions uint64
	// Differences are verdicts that were found to be wrong.
	Differences uint64
	// Bytes and Entries are held now.
	Bytes, Entries int
}

// Stats are those so far; of a nil memo all are 0.
func (m *Memo) Stats() MemoStats {
	if m == nil {
		return MemoStats{}
	}
	stats := MemoStats{Hits: m.hits.Load(), Misses: m.misses.Load(), Evictions: m.evictions.Load(), Differences: m.differences.Load()}
	if held := m.current.Load(); held != nil {
		held.mu.RLock()
		defer held.mu.RUnlock()
		stats.Bytes, stats.Entries = held.young.bytes+held.old.bytes, len(held.young.entries)+len(held.old.entries)
	}
	return stats
}

// Remembering is the snapshot with a memory of its own; it gives the snapshot back. What
// policies read is derived here for all that the memo was last asked for.
func (s *Snapshot) Remembering(memo *Memo) *Snapshot {
	if memo == nil {
		s.memory = nil
		return s
	}
	s.memory = &memory{memo: memo, seed: maphash.MakeSeed(), plans: map[planKey]*memoPlan{}}
	for _, key := range memo.current.Swap(s.memory).planned() {
		s.plan(key.kind, key.operation) // and no request waits for it
	}
	return s
}

// memory is what a snapshot remembers. Keys are compared by all of their bytes.
type memory struct {
	memo *Memo
	seed maphash.Seed

	mu sync.RWMutex
	// young takes what is new until it has half of the room; then it becomes old, and
	// what was old and has not been asked for since is forgotten.
	young, old generation

	// distrusted are the policies of which a verdict was found to be wrong.
	distrusted sync.Map

	planning sync.RWMutex
	plans    map[planKey]*memoPlan

	// seen are hashes of keys that have been seen once. Who sends nothing but what is new
	// fills these and nothing else; two keys with the same hash are remembered too early,
	// and that is all.
	seen [1 << 14]atomic.Uint32
}

type generation struct {
	entries map[string]verdicts
	bytes   int
}

// verdicts says, by its place in the plan, which policies have nothing to say. They are
// replaced, not changed.
type verdicts []uint64

func (v verdicts) has(i int) bool { return i/64 < len(v) && v[i/64]&(1<<(i%64)) != 0 }

func (v verdicts) with(places []int) verdicts {
	out := slices.Clone(v)
	for _, i := range places {
		for len(out) <= i/64 {
			out = append(out, 0)
		}
		out[i/64] |= 1 << (i % 64)
	}
	return out
}

// entryOverhead is about what a map takes for an entry beside its key.
const entryOverhead = 128

func (m *memory) get(key []byte) verdicts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if found, ok := m.young.entries[string(key)]; ok {
		return found
	}
	return m.old.entries[string(key)]
}

// put notes that policies have nothing to say, if the key has been seen before.
func (m *memory) put(key []byte, places []int) {
	hash := maphash.Bytes(m.seed, key)
	slot := &m.seen[hash%uint64(len(m.seen))]
	if mark := uint32(hash>>32) | 1; slot.Swap(mark) != mark {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, ok := m.young.entries[string(key)]
	if !ok {
		before = m.old.entries[string(key)]
		m.makeRoom(len(key) + entryOverhead)
	}
	m.young.entries[string(key)] = before.with(places)
}

func (m *memory) makeRoom(bytes int) {
	if m.young.entries == nil || m.young.bytes+bytes > m.memo.bytes/2 {
		m.memo.evictions.Add(uint64(len(m.old.entries)))
		m.old = m.young
		m.young = generation{entries: map[string]verdicts{}}
	}
	m.young.bytes += bytes
}

// planKey is what the parts are derived for.
type planKey struct {
	kind      GroupVersionKind
	operation string
}

// memoPlan says how the policies about a kind are remembered.
type memoPlan struct {
	number int
	places map[*policy]int // of those that can be
	groups []memoGroup     // by the parts they read; the first is all that are stable together
	group  []int           // of a place
	stable []bool          // of a place
}

// memoGroup are policies with one key.
type memoGroup struct {
	node  *keyNode
	kinds []GroupVersionKind
}

// planned is what the memory has been asked for.
func (m *memory) planned() []planKey {
	if m == nil {
		return nil
	}
	m.planning.RLock()
	defer m.planning.RUnlock()
	return slices.Collect(maps.Keys(m.plans))
}

// plan is made when it is first asked for, or was asked for of the snapshot before.
func (s *Snapshot) plan(kind GroupVersionKind, operation string) *memoPlan {
	kind = GroupVersionKind{Group: kind.Group, Kind: kind.Kind}
	if _, named := s.byKind[kind]; !named {
		kind = GroupVersionKind{} // whatever the kind, the same policies may match
	}
	key := planKey{kind, operation}
	s.memory.planning.RLock()
	plan := s.memory.plans[key]
	s.memory.planning.RUnlock()
	if plan != nil {
		return plan
	}
	plan = newPlan(s.candidates(kind), operation)
	s.memory.planning.Lock()
	defer s.memory.planning.Unlock()
	if first := s.memory.plans[key]; first != nil {
		return first
	}
	plan.number = len(s.memory.plans)
	s.memory.plans[key] = plan
	return plan
}

func newPlan(policies []*policy, operation string) *memoPlan {
	plan := &memoPlan{places: map[*policy]int{}, groups: []memoGroup{{}}}
	together, kinds := &demand{}, map[GroupVersionKind]bool{}
	byParts := map[string]int{}
	for _, p := range policies {
		if p.validate == nil {
			continue
		}
		d := p.decisiveFor(operation)
		if d.reason != "" {
			continue
		}
		name := describeParts(d)
		if _, ok := byParts[name]; !ok {
			byParts[name] = len(plan.groups)
			plan.groups = append(plan.groups, memoGroup{newKeyNode(d.parts), d.kinds})
		}
		plan.places[p] = len(plan.group)
		plan.group = append(plan.group, byParts[name])
		plan.stable = append(plan.stable, d.isStable())
		if d.isStable() {
			together.add(d.parts, 0, nil)
			for _, kind := range d.kinds {
				kinds[kind] = true
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(kinds), func(a, b GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	plan.groups[0] = memoGroup{newKeyNode(together), all}
	return plan
}

func describeParts(d *decisive) string {
	var out strings.Builder
	for _, kind := range d.kinds {
		out.WriteString(kind.String() + "\n")
	}
	d.parts.spell(&out)
	return out.String()
}

// recalled is what is to be learned from the answers to the questions that are left.
type recalled struct {
	memory *memory
	writer *keyWriter
	// batches are for the request and for the Pod template in it.
	batches []*batch
}

// batch are questions about one object.
type batch struct {
	plan  *memoPlan
	keys  []span // of the groups
	asked []asked
	first int // index of the first of asked among all questions that are left
	// found are the places that the key of the first group does not know yet.
	found    []int
	together verdicts // of the first group
}

// asked is a question that is left.
type asked struct {
	policy *policy
	place  int  // in the plan: -1 where it is not to be remembered
	known  bool // there is a verdict, to be checked
}

// span is a key in the writer's bytes; it ends at 0 before it has been written, and at
// -1 where it would be too long.
type span struct{ start, end int }

var keyWriters = sync.Pool{New: func() any { return &keyWriter{} }}

// recall gives the questions that have to be asked, and counts the others in the
// decision: those to which the answer is known to be nothing.
func (s *Snapshot) recall(questions []question, decision *Decision) (rest []question, out *recalled) {
	if s.memory == nil || len(questions) == 0 || observed(questions[0].evaluation.options) {
		return questions, nil
	}
	defer func() {
		if recover() != nil { // whose fault it is, asking tells
			rest, out = questions, nil
		}
	}()
	return s.recallAll(questions, decision)
}

// observed says that somebody wants to see the evaluation.
func observed(options Options) bool { return options.Coverage != nil || options.Print != nil }

func (s *Snapshot) recallAll(questions []question, decision *Decision) ([]question, *recalled) {
	r := &recalled{memory: s.memory, writer: keyWriters.Get().(*keyWriter)}
	r.writer.bytes = r.writer.bytes[:0]
	rest := make([]question, 0, len(questions))
	hits := 0
	for start := 0; start < len(questions); {
		end := start + 1
		for end < len(questions) && questions[end].evaluation == questions[start].evaluation {
			end++
		}
		var known int
		rest, known = s.recallBatch(r, questions[start:end], rest)
		hits += known
		start = end
	}
	decision.Policies += hits
	return rest, r
}

// recallBatch adds the questions that are left to the rest, and counts the others.
func (s *Snapshot) recallBatch(r *recalled, questions []question, rest []question) ([]question, int) {
	e := questions[0].evaluation
	if !slices.Contains(operationsKnown, e.review.Operation) {
		return append(rest, questions...), 0
	}
	b := &batch{plan: s.plan(s.resources.KindOf(e.review), e.review.Operation), first: len(rest)}
	b.keys = make([]span, len(b.plan.groups))
	hits := 0
	for _, q := range questions {
		place, planned := b.plan.places[q.policy]
		if !planned || !q.matches || s.memory.distrusts(q.policy) {
			place = -1
		}
		known := place >= 0 && r.knows(b, place, e)
		if known && !s.memory.memo.checks() {
			hits++
			continue
		}
		rest, b.asked = append(rest, q), append(b.asked, asked{q.policy, place, known})
	}
	s.memory.memo.hits.Add(uint64(hits))
	r.batches = append(r.batches, b)
	return rest, hits
}

// knows says whether the policy at a place is known to have nothing to say.
func (r *recalled) knows(b *batch, place int, e *evaluation) bool {
	if b.plan.stable[place] {
		if b.keys[0].end == 0 {
			b.together = r.memory.get(r.key(b, 0, e))
		}
		if b.together.has(place) {
			return true
		}
	}
	if !r.memory.get(r.key(b, b.plan.group[place], e)).has(place) {
		return false
	}
	if b.plan.stable[place] {
		b.found = append(b.found, place)
	}
	return true
}

// key is the key of a group: nil where it would be too long.
func (r *recalled) key(b *batch, group int, e *evaluation) []byte {
	if b.keys[group].end == 0 {
		w := r.writer
		w.start = len(w.bytes)
		w.bytes = binary.BigEndian.AppendUint32(w.bytes, uint32(b.plan.number))
		w.bytes = binary.BigEndian.AppendUint32(w.bytes, uint32(group))
		w.review(b.plan.groups[group].node, e)
		w.versions(b.plan.groups[group].kinds, e.options.Cluster)
		b.keys[group] = span{w.start, len(w.bytes)}
		if w.full() {
			w.bytes = w.bytes[:w.start]
			b.keys[group] = span{end: -1}
		}
	}
	return r.written(b, group)
}

func (r *recalled) written(b *batch, group int) []byte {
	key := b.keys[group]
	if key.end <= 0 {
		return nil
	}
	return r.writer.bytes[key.start:key.end]
}

// learn remembers which of the policies that were asked had nothing to say.
func (r *recalled) learn(answers []*Decision) {
	if r == nil {
		return
	}
	for _, b := range r.batches {
		silent := make([][]int, len(b.plan.groups))
		silent[0] = b.found
		for i, a := range b.asked {
			if a.place < 0 {
				continue
			}
			r.memory.memo.misses.Add(1)
			answer := answers[b.first+i]
			if !answer.isSilent() {
				if a.known {
					r.memory.differ(a.policy, answer)
				}
				continue
			}
			group := b.plan.group[a.place]
			silent[group] = append(silent[group], a.place)
			if b.plan.stable[a.place] {
				silent[0] = append(silent[0], a.place)
			}
		}
		for group, places := range silent {
			if key := r.written(b, group); key != nil && len(places) > 0 {
				r.memory.put(key, places)
			}
		}
	}
	if cap(r.writer.bytes) < 64*maxKeyBytes {
		keyWriters.Put(r.writer)
	}
}

// isSilent says that a policy was asked and had nothing to say.
func (d *Decision) isSilent() bool {
	return d.Policies == 1 && len(d.Denials)+len(d.Warnings)+len(d.Audits)+len(d.Undecided) == 0
}

// checks says whether a verdict that is known is evaluated all the same.
func (m *Memo) checks() bool {
	return m.mode == MemoCheck || m.sample > 0 && rand.Uint32N(m.sample) == 0
}

func (m *memory) distrusts(p *policy) bool {
	_, found := m.distrusted.Load(p)
	return found
}

// differ reports a verdict that was remembered wrongly, and has no other of the policy
// used. A limit that was reached says nothing about the verdict.
func (m *memory) differ(p *policy, answer *Decision) {
	for _, finding := range slices.Concat(answer.Denials, answer.Warnings, answer.Audits) {
		if finding.Limit != "" {
			continue
		}
		m.distrusted.Store(p, true)
		m.memo.differences.Add(1)
		if m.memo.logger != nil {
			m.memo.logger.Error("the decision memo is wrong about a policy, of which it remembers nothing from now on: report it, and run with --decision-memo=off until it is mended",
				"source", p.set.source.Name, "policy", p.name, "finding", finding.Text())
		}
		return
	}
}
