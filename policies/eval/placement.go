package eval

import "github.com/open-policy-agent/opa/v1/ast"

// alike is how many elements a collection may have whose hashes are not looked at: so many can
// be compared with each other however alike they are.
const alike = 64

// fewElements is how many elements a collection may have even if these are large: their bytes
// cost as much as comparing them.
const fewElements = 8

// placement is how OPA places the elements of a collection by their hashes: a set gives an element
// the first free place from its hash on, and compares it with all that are in its way. An object
// compares a key with those of the same hash only, so that it takes no longer. The hash of a number
// is its integer part, and that of a list the sum of those of its elements: many elements that differ may be in the
// way of each other.
type placement struct {
	places  map[int]struct{}
	longest int64 // the most elements that were in the way of one
	isNew   bool  // no element was added since it was computed
}

// add places an element with a hash, and returns the number of elements in its way.
func (p *placement) add(hash int) (inWay int64) {
	for {
		if _, taken := p.places[hash]; !taken {
			break
		}
		hash++
		inWay++
	}
	p.places[hash] = struct{}{}
	p.longest = max(p.longest, inWay)
	return inWay
}

// placementOf returns the placement of a collection: that of the last call, or one that is
// computed from its elements.
func (m *machine) placementOf(collection ast.Value) *placement {
	if m.lastPlaced == collection {
		return m.lastPlacement
	}
	p := m.placements[collection]
	if p == nil {
		p = &placement{places: map[int]struct{}{}, isNew: true}
		add := func(key *ast.Term) bool {
			m.steps += placedSteps + p.add(key.Hash())*(probeSteps+m.keyWeight(key)/comparedPerStep)
			return !m.mayGoOn()
		}
		switch collection := collection.(type) {
		case ast.Set:
			collection.Until(add)
		case ast.Object:
			collection.Until(func(key, _ *ast.Term) bool { return add(key) })
		}
		if m.placements == nil {
			m.placements = map[ast.Value]*placement{}
		}
		m.placements[collection] = p
	}
	m.lastPlaced, m.lastPlacement = collection, p
	return p
}

// placedSteps is the cost of placing an element, and probeSteps that of each element in its way.
const (
	placedSteps = 2
	probeSteps  = 1
)

// keyWeight is the number of ordinary values that take as long to compare as a key, up to a limit
// that no key within the limit on bytes exceeds.
func (m *machine) keyWeight(key *ast.Term) int64 {
	switch value := key.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return 1 + comparedPerStep*scalarWeight(value)
	}
	return m.weigh(key, 1<<22)
}

// inserted charges for an insertion into a collection, which had so many elements before.
func (m *machine) inserted(collection ast.Value, key *ast.Term, before, after int) {
	if before < fewElements {
		return
	}
	weight := int64(1)
	if _, isString := key.Value.(ast.String); !isString {
		weight = m.keyWeight(key)
	}
	if int64(before)*weight < alike {
		return
	}
	p := m.placementOf(collection)
	inWay := p.longest
	if after > before && !p.isNew {
		inWay = p.add(key.Hash())
	}
	p.isNew = false
	m.steps += placedSteps + inWay*(probeSteps+weight/comparedPerStep)
}

// mayFind charges the cost of finding a key in a collection: it is hashed, and compared with those
// in its way. It reports whether enough steps are left.
func (m *machine) mayFind(key *ast.Term, collection ast.Value) bool {
	if text, isString := key.Value.(ast.String); isString {
		m.steps += int64(len(text) / bytesComparedPerStep)
		if p := m.placements[collection]; p != nil { // keys that are read are not alike
			m.steps += p.longest * probeSteps
		}
		return m.mayGoOn()
	}
	weight, inWay := m.keyWeight(key), int64(0)
	if int64(keysOf(collection))*weight > alike {
		inWay = m.placementOf(collection).longest
	}
	m.steps += weight/comparedPerStep + inWay*(probeSteps+weight/comparedPerStep)
	return m.mayGoOn()
}
