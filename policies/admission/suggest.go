package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest is the candidate that a word is most likely a misspelling of; empty if none
// is near. Case does not count, and the longer the word, the more letters may be wrong.
func Nearest(word string, candidates []string) string {
	best, least := "", max(1, min(3, len(word)/3))+1
	for _, candidate := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Suggest is "; did you mean …?" for a kind that the table does not have: one of the same
// name, or nearly, in this or another group, or the kind of a resource of the name. It
// is empty if nothing is near.
func (t *Resources) Suggest(group, kind string) string {
	all := t.All()
	inGroup := func(r ServedResource) bool { return r.Group == group }
	all = slices.Concat(slices.DeleteFunc(slices.Clone(all), func(r ServedResource) bool { return !inGroup(r) }), slices.DeleteFunc(all, inGroup))
	i := slices.IndexFunc(all, func(r ServedResource) bool { return strings.EqualFold(r.Kind, kind) || strings.EqualFold(r.Name, kind) })
	if i < 0 {
		var names []string
		for _, r := range all {
			if inGroup(r) {
				names = append(names, r.Kind)
			}
		}
		near := Nearest(kind, names)
		i = slices.IndexFunc(all, func(r ServedResource) bool { return near != "" && inGroup(r) && r.Kind == near })
	}
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean kind %s in group %q?", all[i].Kind, all[i].Group)
}
