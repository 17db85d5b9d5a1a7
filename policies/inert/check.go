package inert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

var operations = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// impossible explains why a comparison is with constants that no request has; empty if a request
// may have them.
func impossible(a *atom) string {
	var valid func(string) bool
	var instead func(value string) string
	oneOf := func(names ...string) {
		valid = func(value string) bool { return slices.Contains(names, value) }
		instead = func(value string) string {
			if near := admission.Nearest(value, names); near != "" {
				return fmt.Sprintf("did you mean %s?", near)
			}
			return "it is one of " + strings.Join(names, ", ")
		}
	}
	switch a.path {
	case "request.operation":
		oneOf(operations...)
	case "kind":
		oneOf("AdmissionReview")
		instead = func(string) string { return definition.InsteadOfObject + ": write input.request.kind.kind" }
	case "apiVersion":
		oneOf("admission.k8s.io/v1")
		instead = func(string) string {
			return definition.InsteadOfObject + ": write input.request.object.apiVersion"
		}
	case "scope.level":
		var levels []string
		for _, level := range hierarchy.AllLevels {
			levels = append(levels, string(level))
		}
		oneOf(levels...)
	case "request.namespace":
		valid = func(value string) bool { return value == "" || len(validation.IsDNS1123Label(value)) == 0 }
		instead = func(string) string { return "no namespace has that name; for a pattern, call glob.match or startswith" }
	case "request.kind.group", "request.resource.group":
		valid = func(value string) bool { return value == "" || len(validation.IsDNS1123Subdomain(value)) == 0 }
		instead = func(string) string {
			return `no API group has that name; write it without version, "" for the core group`
		}
	case "request.resource.resource":
		valid = func(value string) bool { return len(validation.IsDNS1123Label(value)) == 0 }
		instead = func(value string) string {
			return "no resource has that name; write its plural in lower case, or compare input.request.kind.kind"
		}
	default:
		return ""
	}
	if slices.ContainsFunc(a.values, valid) || len(a.values) == 0 {
		return ""
	}
	return fmt.Sprintf("input.%s is never %s; %s", a.path, quoted(a.values), instead(a.values[0]))
}

func quoted(values []string) string {
	var out []string
	for _, value := range values {
		out = append(out, fmt.Sprintf("%q", value))
	}
	return strings.Join(out, " or ")
}

// Check finds the rules that can never fire, for the match of their policy and the kinds of
// a cluster.
func (p *Policy) Check(match definition.Match, resources *admission.Resources) (found definition.CompileErrorList) {
	add := func(at definition.CompileError, why string) {
		at.Message = why
		found = append(found, at)
	}
	for _, one := range p.entries {
		c := context{match: match, resources: resources, operations: operationsOf(match, one.name)}
		if len(c.operations) == 0 {
			add(one.at, fmt.Sprintf("%s is never evaluated: objects are changed on CREATE and UPDATE only, and custom.match.operations lists neither", one.name))
			continue
		}
		if at, why := one.needs.first(c.never); at != nil && at.at.File == one.at.File {
			add(at.at, why)
		} else if at != nil { // in a library, where other policies may be right
			add(one.at, fmt.Sprintf("%s never fires: %s (%s:%d)", one.name, why, at.at.File, at.at.Line))
		}
		if at := c.silentOnCreate(one.needs); at != nil && at.at.File == one.at.File {
			add(at.at, silentText(at))
		} else if at != nil {
			add(one.at, fmt.Sprintf("%s (%s:%d)", silentText(at), at.at.File, at.at.Line))
		}
		for i := range one.absent {
			if why := c.undefined(one.absent[i].path); why != "" && !strings.HasSuffix(one.absent[i].path, "namespace") {
				add(one.absent[i].at, why)
			}
		}
	}
	if p.ephemeral != nil && match.NamesKind(admission.PodKind) && len(match.Kinds) > 0 && !slices.Contains(operationsOf(match, ""), "DELETE") &&
		!slices.Contains(match.Subresources, "ephemeralcontainers") && !slices.Contains(match.Subresources, "*") {
		add(*p.ephemeral, "ephemeral containers are added through the subresource ephemeralcontainers only, for which the policy is not evaluated; list it in custom.match.subresources")
	}
	return definition.Distinct(found)
}

// operationsOf are those for which an entry point is evaluated.
func operationsOf(match definition.Match, entry string) []string {
	changes := entry == definition.EntryPatch || entry == definition.EntryDefaults
	switch {
	case len(match.Operations) == 0 && changes:
		return []string{"CREATE"}
	case len(match.Operations) == 0:
		return []string{"CREATE", "UPDATE"}
	case changes:
		return slices.DeleteFunc(slices.Clone(match.Operations), func(name string) bool { return name != "CREATE" && name != "UPDATE" })
	default:
		return match.Operations
	}
}

// context describes the requests for which a rule is evaluated, as far as known.
type context struct {
	match      definition.Match
	resources  *admission.Resources
	operations []string
}

// never explains why an atom does not hold for any of the requests; empty if it may.
func (c context) never(a *atom) string {
	if why := c.undefined(a.path); why != "" {
		return why
	}
	if len(a.values) == 0 {
		return ""
	}
	holds := func(value string) bool { return slices.Contains(a.values, value) != a.not }
	is := "never"
	if a.not {
		is = "always"
	}
	switch a.path {
	case "request.operation":
		if slices.ContainsFunc(c.operations, holds) {
			return ""
		}
		why := fmt.Sprintf("input.request.operation is %s %s here: the rule is evaluated for %s only", is, quoted(a.values), strings.Join(c.operations, " and "))
		if !a.not {
			why += "; list the operation in custom.match.operations"
		}
		return why
	case "request.kind.kind", "request.object.kind", "request.oldObject.kind":
		if kinds := c.kinds(); len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind admission.GroupVersionKind) bool { return holds(kind.Kind) }) {
			return fmt.Sprintf("input.%s is %s %s here: the policy matches %s only (custom.match.kinds)", a.path, is, quoted(a.values), kindNames(kinds))
		}
	case "request.kind.group":
		if kinds := c.kinds(); len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind admission.GroupVersionKind) bool { return holds(kind.Group) }) {
			return fmt.Sprintf("input.%s is %s %s here: the policy matches %s only (custom.match.kinds)", a.path, is, quoted(a.values), kindNames(kinds))
		}
	case "request.subResource":
		if !slices.Contains(c.match.Subresources, "*") && !a.not && !slices.ContainsFunc(append([]string{""}, c.match.Subresources...), holds) {
			return fmt.Sprintf("input.request.subResource is never %s here; list it in custom.match.subresources", quoted(a.values))
		}
	case "request.namespace":
		outside := func(name string) bool {
			return name != "" && (len(c.match.Namespaces) > 0 && !admission.MatchesAny(c.match.Namespaces, name) || admission.MatchesAny(c.match.ExcludedNamespaces, name))
		}
		if !a.not && !slices.ContainsFunc(a.values, func(name string) bool { return !outside(name) }) {
			return fmt.Sprintf("input.request.namespace is never %s here: custom.match leaves the namespace out", quoted(a.values))
		}
	}
	return ""
}

// undefined explains why a part of the input is undefined for all of the requests; empty if it
// may be defined.
func (c context) undefined(path string) string {
	only := func(operation string) bool {
		return slices.Equal(slices.Compact(slices.Clone(c.operations)), []string{operation})
	}
	switch {
	case strings.HasPrefix(path, "request.object.") && only("DELETE"):
		return fmt.Sprintf("input.%s is undefined: the policy matches DELETE alone, where input.request.object is null; read input.request.oldObject", path)
	case strings.HasPrefix(path, "request.oldObject.") && only("CREATE"):
		return fmt.Sprintf("input.%s is undefined: the rule is evaluated for CREATE only, where input.request.oldObject is null; list UPDATE in custom.match.operations", path)
	case (path == "namespace" || strings.HasPrefix(path, "namespace.")) && c.clusterScoped(true):
		return fmt.Sprintf("input.%s is undefined: %s are cluster-scoped, and input.namespace is the Namespace of a namespaced object", path, kindNames(c.match.Kinds))
	case path == "request.namespace" && c.clusterScoped(false):
		return fmt.Sprintf("input.%s is undefined: %s are cluster-scoped", path, kindNames(c.match.Kinds))
	}
	return ""
}

// clusterScoped reports whether all kinds of the policy are known to be cluster-scoped. The
// request about a Namespace has a namespace, which is itself.
func (c context) clusterScoped(namespacesToo bool) bool {
	return len(c.match.Kinds) > 0 && !slices.ContainsFunc(c.match.Kinds, func(kind admission.GroupVersionKind) bool {
		resource, known := c.resources.ByKind(kind.Group, kind.Kind)
		isNamespace := kind.Group == "" && kind.Kind == "Namespace"
		return !known || resource.Namespaced || isNamespace && !namespacesToo
	})
}

// kinds are all kinds that the requests can have: none if there may be others.
func (c context) kinds() []admission.GroupVersionKind {
	if !c.match.NamesObjects() {
		return nil
	}
	return c.match.Kinds
}

func kindNames(kinds []admission.GroupVersionKind) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.WithoutVersion().String())
	}
	return strings.Join(slices.Compact(names), ", ")
}

// MatchesSomeName reports whether a pattern of path.Match matches the name of any namespace.
func MatchesSomeName(glob string) bool {
	const letters, inner = "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789-"
	parts := split(glob)
	single := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "*" })
	if len(parts) == 0 || len(single) > validation.DNS1123LabelMaxLength {
		return false
	}
	for i, part := range parts {
		allowed := inner
		if i == 0 || i == len(parts)-1 {
			allowed = letters
		}
		if part != "*" && !strings.ContainsFunc(allowed, func(letter rune) bool {
			matches, err := path.Match(part, string(letter))
			return err == nil && matches
		}) {
			return false
		}
	}
	return true
}

// split takes a pattern apart: each part but * is for one character.
func split(glob string) (parts []string) {
	for len(glob) > 0 {
		n := 1
		switch {
		case glob[0] == '\\':
			n = min(2, len(glob))
		case glob[0] == '[':
			for n < len(glob) && (glob[n] != ']' || n == 1) {
				if glob[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(glob))
		}
		parts, glob = append(parts, glob[:n]), glob[n:]
	}
	return parts
}
