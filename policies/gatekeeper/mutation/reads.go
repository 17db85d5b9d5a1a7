package mutation

// MayRead reports whether the result of the mutator may depend on the value at a path, which
// consists of names and indices: on the way to its location, at it or below it, or the key of an
// element of a list. The match of a mutator reads the metadata, except for annotations.
func (m *Mutator) MayRead(path []any) bool {
	if len(path) == 0 || path[0] == "metadata" && (len(path) == 1 || path[1] != "annotations") {
		return true
	}
	at := 0
	for _, s := range m.Location {
		if at == len(path) {
			return true
		}
		if s.isList() {
			if _, isIndex := path[at].(int); !isIndex || at+1 == len(path) || path[at+1] == s.key {
				return true
			}
			at++
			continue
		}
		if path[at] != s.field {
			return false
		}
		at++
	}
	return true
}
