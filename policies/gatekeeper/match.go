package gatekeeper

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// matchObject is spec.match of a constraint.
type matchObject struct {
	Kinds              []kindsObject         `json:"kinds"`
	Scope              string                `json:"scope"`
	Namespaces         []glob                `json:"namespaces"`
	ExcludedNamespaces []glob                `json:"excludedNamespaces"`
	LabelSelector      *metav1.LabelSelector `json:"labelSelector"`
	NamespaceSelector  *metav1.LabelSelector `json:"namespaceSelector"`
	Name               glob                  `json:"name"`
	Source             string                `json:"source"`
}

type kindsObject struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
}

// The values of scope and source.
const (
	anyScope        = "*"
	clusterScope    = "Cluster"
	namespacedScope = "Namespaced"
	sourceAll       = "All"
	sourceGenerated = "Generated"
	sourceOriginal  = "Original"
)

// glob is a name with a * at its front, its end, or both.
type glob string

var globPattern = regexp.MustCompile(`^\*?[-:a-z0-9]*\*?$`)

func (g glob) matches(name string) bool {
	text := string(g)
	front, back := strings.HasPrefix(text, "*"), strings.HasSuffix(text, "*")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "*"), "*")
	switch {
	case front && back:
		return strings.Contains(name, text)
	case front:
		return strings.HasSuffix(name, text)
	case back:
		return strings.HasPrefix(name, text)
	default:
		return name == text
	}
}

// matchesPrefix is matches for a generateName, of which the end is not known.
func (g glob) matchesPrefix(generateName string) bool {
	return strings.HasSuffix(string(g), "*") && g.matches(generateName)
}

func anyMatches(globs []glob, name string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return g.matches(name) })
}

// matcher is a match made ready.
type matcher struct {
	matchObject
	labels, namespaceLabels labels.Selector // nil = all
	excluded                []glob          // by the Config
}

// newMatcher returns an error for each invalid field.
func newMatcher(match matchObject, excluded []glob) (*matcher, map[string]error) {
	m := &matcher{matchObject: match, excluded: excluded}
	wrong := map[string]error{}
	if !slices.Contains([]string{"", anyScope, clusterScope, namespacedScope}, match.Scope) {
		wrong["scope"] = fmt.Errorf("%q is not one of *, Cluster, Namespaced", match.Scope)
	}
	if !slices.Contains([]string{"", sourceAll, sourceGenerated, sourceOriginal}, match.Source) {
		wrong["source"] = fmt.Errorf("%q is not one of All, Generated, Original", match.Source)
	}
	for field, globs := range map[string][]glob{
		"namespaces": match.Namespaces, "excludedNamespaces": match.ExcludedNamespaces, "name": {match.Name},
	} {
		for _, g := range globs {
			if !globPattern.MatchString(string(g)) {
				wrong[field] = fmt.Errorf("%q is not a name with * at its front or end at most", g)
			}
		}
	}
	var err error
	if m.labels, err = selector(match.LabelSelector); err != nil {
		wrong["labelSelector"] = err
	}
	if m.namespaceLabels, err = selector(match.NamespaceSelector); err != nil {
		wrong["namespaceSelector"] = err
	}
	return m, wrong
}

// without is the match outside other namespaces.
func (m *matcher) without(excluded []glob) *matcher {
	other := *m
	other.excluded = excluded
	return &other
}

func selector(in *metav1.LabelSelector) (labels.Selector, error) {
	if in == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(in)
}

// matches reports whether the constraint matches an object; missing names the data that is
// needed to decide this.
func (m *matcher) matches(s definition.Subject) (matches bool, missing string) {
	namespace := s.Namespace
	if s.IsNamespace() {
		namespace = s.Name
	}
	switch {
	case !m.matchesKind(s.Kind), !m.matchesName(s):
		return false, ""
	case m.Scope == clusterScope && s.Namespace != "", m.Scope == namespacedScope && s.Namespace == "": // a Namespace is cluster-scoped
		return false, ""
	case m.Source == sourceGenerated && !s.Generated, m.Source == sourceOriginal && s.Generated:
		return false, ""
	case namespace != "" && len(m.Namespaces) > 0 && !anyMatches(m.Namespaces, namespace):
		return false, ""
	case namespace != "" && (anyMatches(m.ExcludedNamespaces, namespace) || anyMatches(m.excluded, namespace)):
		return false, ""
	case m.labels != nil && !m.labels.Matches(labels.Set(s.Labels)):
		return false, ""
	}
	return m.matchesNamespaceLabels(s)
}

func (m *matcher) matchesKind(kind admission.GroupVersionKind) bool {
	matches := func(names []string, name string) bool {
		return len(names) == 0 || slices.Contains(names, "*") || slices.Contains(names, name)
	}
	return len(m.Kinds) == 0 || slices.ContainsFunc(m.Kinds, func(kinds kindsObject) bool {
		return matches(kinds.Kinds, kind.Kind) && matches(kinds.APIGroups, kind.Group)
	})
}

func (m *matcher) matchesName(s definition.Subject) bool {
	return m.Name == "" || m.Name.matches(s.Name) || m.Name.matchesPrefix(s.GenerateName)
}

// matchesNamespaceLabels matches Namespaces by their own labels; other cluster-scoped objects
// always match.
func (m *matcher) matchesNamespaceLabels(s definition.Subject) (matches bool, missing string) {
	switch {
	case m.namespaceLabels == nil:
		return true, ""
	case s.IsNamespace():
		return m.namespaceLabels.Matches(labels.Set(s.Labels)), ""
	case s.Namespace == "":
		return true, ""
	case s.NamespaceLabels == nil:
		if matches, known := definition.MatchesNamespaceName(m.namespaceLabels, s.Namespace); known {
			return matches, ""
		}
		return false, fmt.Sprintf("its namespaceSelector needs the labels of namespace %q", s.Namespace)
	default:
		return m.namespaceLabels.Matches(labels.Set(s.NamespaceLabels)), ""
	}
}

// registered is a match of the engine that is as wide, or wider. Requests with CONNECT are
// those of some subresources only: a constraint that names the kind of their objects gets
// them, unless its template names operations itself.
func (m *matcher) registered(operations []string, ofTemplate bool) definition.Match {
	match := definition.Match{Operations: operations}
	for _, one := range admission.GatekeeperSubresources() {
		named := slices.ContainsFunc(m.Kinds, func(kinds kindsObject) bool { return slices.Contains(kinds.Kinds, one.Kind.Kind) })
		switch {
		case !m.matchesKind(one.Kind):
			continue
		case !one.Connect || slices.Contains(operations, "CONNECT"):
		case named && !ofTemplate:
			match.Operations = append(slices.Clone(operations), "CONNECT")
		default:
			continue
		}
		match.Carriers = append(match.Carriers, one)
	}
	for _, kinds := range m.Kinds {
		for _, group := range orAny(kinds.APIGroups) {
			for _, kind := range orAny(kinds.Kinds) {
				match.Kinds = append(match.Kinds, admission.GroupVersionKind{Group: group, Kind: kind})
			}
		}
	}
	if slices.Contains(match.Kinds, admission.GroupVersionKind{Group: "*", Kind: "*"}) {
		match.Kinds = nil // every kind
	}
	return match
}

func orAny(names []string) []string {
	if len(names) == 0 {
		return []string{"*"}
	}
	return names
}
