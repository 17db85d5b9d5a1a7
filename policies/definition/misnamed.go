package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Misnamed suggests an entry point for a rule whose name is similar to it or to Gatekeeper's;
// empty for all others.
func Misnamed(rule string) string {
	switch near := admission.Nearest(rule, EntryPoints); {
	case slices.Contains(EntryPoints, rule):
		return ""
	case rule == "violation":
		return "it is Gatekeeper's; name it deny, or bring the policy as a ConstraintTemplate"
	case conftestEntry(rule) != "":
		return fmt.Sprintf("conftest evaluates every rule of that prefix; name it %s", conftestEntry(rule))
	case near != "":
		return fmt.Sprintf("did you mean %s?", near)
	default:
		return ""
	}
}

// conftestEntry is the entry point for a rule that only conftest evaluates, by its prefix:
// empty for other rules.
func conftestEntry(rule string) string {
	switch prefix, _, _ := strings.Cut(rule, "_"); {
	case prefix == rule:
		return ""
	case prefix == EntryDeny, prefix == EntryViolation:
		return EntryDeny
	case prefix == EntryWarn:
		return EntryWarn
	default:
		return ""
	}
}

// MisnamedEntries is for a package that has no entry point.
func MisnamedEntries(modules []*ast.Module) string {
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
