package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
)

// EntryPoints are the rules of a policy that are asked; all others help them.
var EntryPoints = []string{entryDeny, entryWarn, entryPatch, entryDefaults}

// Misnamed says what a rule may have been meant to be whose name is nearly that of an
// entry point, or Gatekeeper's; empty for all others.
func Misnamed(rule string) string {
	switch near := Nearest(rule, EntryPoints); {
	case slices.Contains(EntryPoints, rule):
		return ""
	case rule == "violation":
		return "it is Gatekeeper's; name it deny, or bring the policy as a ConstraintTemplate"
	case near != "":
		return fmt.Sprintf("did you mean %s?", near)
	default:
		return ""
	}
}

// misnamedEntries is for a package that has no entry point.
func misnamedEntries(modules []*ast.Module) string {
	for _, module := range modules {
		for _, rule := range module.Rules {
			name := string(rule.Head.Ref()[0].Value.(ast.Var))
			if why := Misnamed(name); why != "" {
				return fmt.Sprintf("; line %d has a rule %s: %s", rule.Location.Row, name, why)
			}
		}
	}
	return ""
}

// Nearest is the candidate that a word is most likely a misspelling of; empty where none
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
// is empty where nothing is near.
func (t *Resources) Suggest(group, kind string) string {
	all := t.All()
	inGroup := func(r Resource) bool { return r.Group == group }
	all = slices.Concat(slices.DeleteFunc(slices.Clone(all), func(r Resource) bool { return !inGroup(r) }), slices.DeleteFunc(all, inGroup))
	i := slices.IndexFunc(all, func(r Resource) bool { return strings.EqualFold(r.Kind, kind) || strings.EqualFold(r.Name, kind) })
	if i < 0 {
		var names []string
		for _, r := range all {
			if inGroup(r) {
				names = append(names, r.Kind)
			}
		}
		near := Nearest(kind, names)
		i = slices.IndexFunc(all, func(r Resource) bool { return near != "" && inGroup(r) && r.Kind == near })
	}
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean kind %s in group %q?", all[i].Kind, all[i].Group)
}
