package policyset

// Known are the facts of a set from which another process compiles its changes.
type Known struct {
	Units   []UnitFacts  `json:"units"`
	Batches []BatchFacts `json:"batches"`
	// Data is the digest of the data files.
	Data string `json:"data"`
}

// Known returns the facts of the set.
func (s *Set) Known() Known {
	known := Known{Data: s.dataDigest}
	indices := map[*batch]int{}
	for _, u := range s.units {
		i, seen := indices[u.batch]
		if !seen {
			i = len(known.Batches)
			indices[u.batch] = i
			known.Batches = append(known.Batches, u.batch.BatchFacts)
		}
		facts := u.UnitFacts
		facts.Batch = i
		known.Units = append(known.Units, facts)
	}
	return known
}

// knownSet is a set of which only the facts are known.
func knownSet(known Known) *Set {
	batches := make([]*batch, len(known.Batches))
	for i, facts := range known.Batches {
		batches[i] = &batch{BatchFacts: facts}
	}
	s := &Set{dataDigest: known.Data}
	for _, facts := range known.Units {
		if facts.Batch < 0 || facts.Batch >= len(batches) {
			return nil // not the result of Set.Known
		}
		s.units = append(s.units, &unit{UnitFacts: facts, batch: batches[facts.Batch], entry: &templateEntry{}})
	}
	return s
}

// Reused lists the packages of a set of Verify that were not compiled.
func (s *Set) Reused() (names []string) {
	for _, u := range s.units {
		if u.batch.program == nil && !u.isTemplate() {
			names = append(names, u.Name)
		}
	}
	return names
}
