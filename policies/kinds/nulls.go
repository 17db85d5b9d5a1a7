package kinds

// replaceNulls gives the fields of an object that are null the values that they have in another
// encoding of the object, and removes those that are missing there. It reports whether it changed
// anything.
func replaceNulls(object, other any) (changed bool) {
	switch object := object.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		for name, value := range object {
			if value != nil {
				changed = replaceNulls(value, others[name]) || changed
				continue
			}
			replacement, exists := others[name]
			switch {
			case !exists:
				delete(object, name)
				changed = true
			case replacement != nil:
				object[name] = replacement
				changed = true
			}
		}
	case []any:
		others, _ := other.([]any)
		for i, value := range object {
			if i >= len(others) {
				break
			}
			if value != nil {
				changed = replaceNulls(value, others[i]) || changed
			} else if others[i] != nil {
				object[i] = others[i]
				changed = true
			}
		}
	}
	return changed
}
