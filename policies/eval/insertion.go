package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// insertedSteps is the cost of an insertion, in addition to its statement.
const insertedSteps = 3

// insertion compiles a statement that puts a value into a collection of the policy's own:
// nil for others.
func (c *compiler) insertion(s ir.Stmt) op {
	switch s := s.(type) {
	case *ir.ArrayAppendStmt:
		array, value := int(s.Array), c.operand(s.Value)
		return func(m *machine, r []*ast.Term) ctl {
			v := value.value(m, r)
			if v == nil {
				return undef
			}
			m.charge(v)
			m.steps += insertedSteps
			if r[array] == emptyArray {
				r[array] = ast.NewTerm(ast.NewArray(v))
			} else {
				r[array].Value = r[array].Value.(*ast.Array).Append(v)
			}
			return next
		}
	case *ir.SetAddStmt:
		set, value, shared := int(s.Set), c.operand(s.Value), c.dotted[s.Set]
		place, isResult, conflict := c.place(s), int(s.Set) == c.current.result, c.conflictOf(s.Set)
		if conflict != 0 && !isResult {
			c.current.makes(c.building[s.Set] - 1)
		}
		return func(m *machine, r []*ast.Term) ctl {
			v := value.value(m, r)
			if v == nil {
				return undef
			}
			m.charge(v)
			if isResult && m.gathers() {
				m.given = append(m.given, Given{v, place})
			}
			if _, isSet := r[set].Value.(ast.Set); !isSet {
				return m.conflictAt(r, set, conflict, place)
			}
			if m.partial && !m.mayDiffer(r[set].Value.(ast.Set), v) {
				return failed
			}
			into := m.writable(r, set, shared).(ast.Set)
			before := into.Len()
			m.steps += insertedSteps
			m.chargeOrder(v)
			into.Add(v)
			m.inserted(into, v, before, into.Len())
			return next
		}
	case *ir.ObjectInsertStmt:
		return c.insert(s, s.Object, s.Key, s.Value, false)
	case *ir.ObjectInsertOnceStmt:
		return c.insert(s, s.Object, s.Key, s.Value, true)
	case *ir.ObjectMergeStmt:
		return c.merge(s)
	}
	return nil
}

// insert puts a value under a key, of which with once there is none or the same.
func (c *compiler) insert(s ir.Stmt, into ir.Local, at, what ir.Operand, once bool) op {
	object, key, value, shared := int(into), c.operand(at), c.operand(what), c.dotted[into]
	place, conflict, f := c.place(s), c.conflictOf(into), c.current
	if once && conflict != 0 {
		f.makes(c.building[into])
	}
	return func(m *machine, r []*ast.Term) ctl {
		k, v := key.value(m, r), value.raw(r)
		if v != nil {
			if _, isConflict := v.Value.(*conflicted); !isConflict || conflict == 0 || once {
				v = m.whole(v)
			}
		}
		if v == nil || k == nil {
			if once {
				return undef
			}
			return next // missing parts of a composed document are omitted
		}
		have, isObject := r[object].Value.(ast.Object)
		if !isObject {
			return m.conflictAt(r, object, conflict, place)
		}
		if !m.knows(k) {
			return failed
		}
		m.steps += insertedSteps
		m.chargeOrder(k)
		if once {
			if old := have.Get(k); old != nil {
				if v = m.second(old, v, place, conflict == 0, conflict != 0 && r[conflict] != nil); v == nil {
					return next
				}
				if conflict == 0 {
					return m.fail(keyConflict(place))
				}
				r[conflict] = v
			}
		} else if conflict != 0 && f.isMixed() {
			if part, isPart := v.Value.(ast.Object); isPart {
				m.noteBuilt(part, place)
			}
		}
		m.charge(k)
		m.charge(v)
		m.put(r, object, shared, k, v)
		return next
	}
}

// second is the conflict of a value with one that its key has: nil where there is none, or
// where it is there already. conflicts says that the object may have some within.
func (m *machine) second(old, v *ast.Term, place *ast.Location, fails, conflicts bool) *ast.Term {
	if was, isConflict := old.Value.(*conflicted); isConflict {
		if was.short == nil || m.equal(was.short, v) {
			return nil
		}
		return conflictTerm(place)
	}
	if object, isObject := old.Value.(ast.Object); isObject && !fails {
		if b := m.built[object]; b != nil {
			return m.overlaid(b, old, v, place, conflicts)
		}
	}
	if m.equal(old, v) {
		return nil
	}
	return conflictTerm(place)
}

// put sets a key of the object in a register. OPA's Insert forgets other keys with the same
// hash, such as 1 and [1], when it replaces a value. An object with such keys is rebuilt.
func (m *machine) put(r []*ast.Term, register int, shared bool, k, v *ast.Term) {
	object := m.writable(r, register, shared).(ast.Object)
	had := object.Len()
	object.Insert(k, v)
	m.inserted(object, k, had, object.Len())
	hashes := m.hashes[object]
	if object.Len() > had {
		if hashes != nil {
			hashes.add(k)
		}
		return
	}
	m.steps += int64(had) // the hash of the object is computed again
	if hashes == nil {
		hashes = &keyHashes{seen: make(map[int]struct{}, had)}
		object.Foreach(func(k, _ *ast.Term) { hashes.add(k) })
		if m.hashes == nil {
			m.hashes = map[ast.Object]*keyHashes{}
		}
		m.hashes[object] = hashes
	}
	if !hashes.collide {
		return
	}
	rebuilt := ast.NewObjectWithCapacity(had)
	object.Foreach(func(k, v *ast.Term) { rebuilt.Insert(k, v) })
	r[register], m.hashes[rebuilt] = ast.NewTerm(rebuilt), hashes
	if b := m.built[object]; b != nil {
		m.built[rebuilt] = b
	}
	delete(m.hashes, object)
	if shared {
		m.owned[rebuilt] = true
	}
}

// keyHashes are the hashes of an object's keys, and whether two keys have the same.
type keyHashes struct {
	seen    map[int]struct{}
	collide bool
}

func (h *keyHashes) add(key *ast.Term) {
	hash := key.Hash()
	if _, has := h.seen[hash]; has {
		h.collide = true
	}
	h.seen[hash] = struct{}{}
}

// writable is the set or object in a register, to which values may be added. An empty one is
// created here. A collection that may become a part of another is recorded as created here, and
// one from other rules is copied first.
func (m *machine) writable(r []*ast.Term, register int, shared bool) ast.Value {
	t := r[register]
	switch value := t.Value.(type) {
	case ast.Set:
		if t == emptySet {
			t = ast.NewTerm(ast.NewSet())
		} else if shared && !m.owned[value] {
			m.charge(t)
			t = ast.NewTerm(value.Copy())
		}
	case ast.Object:
		if t == emptyObject {
			t = ast.NewTerm(ast.NewObject())
		} else if shared && !m.owned[value] {
			m.charge(t)
			t = ast.NewTerm(value.Copy())
		}
	}
	if shared && t != r[register] {
		if m.owned == nil {
			m.owned = map[ast.Value]bool{}
		}
		m.owned[t.Value] = true
	}
	r[register] = t
	return t.Value
}

// merge combines the values of rules with those of data; data takes precedence, as in OPA.
func (c *compiler) merge(s *ir.ObjectMergeStmt) op {
	a, b, target := int(s.A), int(s.B), int(s.Target)
	return func(m *machine, r []*ast.Term) ctl {
		data := m.whole(r[a])
		if data == nil {
			return undef
		}
		base, isObject := data.Value.(ast.Object)
		rules := m.whole(r[b])
		if rules == nil {
			return undef
		}
		if !m.knows(rules) {
			return failed
		}
		virtual, alsoObject := rules.Value.(ast.Object)
		if !isObject || !alsoObject {
			r[target] = rules
			return next
		}
		r[target] = ast.NewTerm(merged(base, virtual))
		m.charge(r[target])
		return next
	}
}

func merged(base, virtual ast.Object) ast.Object {
	out, _ := base.MergeWith(virtual, func(ours, theirs *ast.Term) (*ast.Term, bool) {
		return over(ours, theirs), false
	})
	return out
}

// over is one value laid over another: objects are merged, anything else wins.
func over(ours, theirs *ast.Term) *ast.Term {
	a, isObject := ours.Value.(ast.Object)
	b, alsoObject := theirs.Value.(ast.Object)
	if isObject && alsoObject {
		return ast.NewTerm(merged(a, b))
	}
	return ours
}
