package audit

// SetLimit changes how many results of each policy the ledger keeps. Results above a lower limit are
// removed, and still counted; those that a higher limit has room for are Truncated.
func (l *Ledger) SetLimit(limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lower := limit < l.limit
	if l.limit = limit; !lower {
		return
	}
	for at, g := range l.groups {
		for key, details := range g.details {
			kept := details[:0:0]
			for _, detail := range details {
				t := l.policies[detail.Result.Key()]
				if t.detailed.limited(detail.Result.Outcome) > limit {
					t.detailed.add(detail.Result.Outcome, -1)
					l.changed[at] = true
					continue
				}
				kept = append(kept, detail)
			}
			if g.details[key] = kept; len(kept) == 0 {
				delete(g.details, key)
			}
		}
	}
}
