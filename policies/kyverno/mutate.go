package kyverno

// mutate translates mutate.
func (r *rule) mutate(f field) {
	r.add(f, "mutate", "write the rule as patch or defaults")
}
