package policyset

// Unchanged returns the packages whose policies decide the same as those of an earlier set for
// every request: neither they nor their dependencies changed. The set must be a Recompile with
// the earlier set, under the same settings.
func (s *Set) Unchanged(before *Set) map[string]bool {
	unchanged := map[string]bool{}
	if before == nil || s.dataDigest != before.dataDigest || string(s.source.Parameters) != string(before.source.Parameters) {
		return unchanged
	}
	known := map[*unit]bool{}
	for _, u := range before.units {
		known[u] = true
	}
	for _, u := range s.units {
		if known[u] && !u.isTemplate() {
			unchanged[u.Name] = true
		}
	}
	return unchanged
}
