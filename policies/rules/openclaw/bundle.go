package openclaw

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/scope"
)

// Bundle is what the rules read of a PolicyBundle.
type Bundle struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Policies         []Policy              `json:"policies"`
		InstanceSelector *metav1.LabelSelector `json:"instanceSelector,omitempty"`
	} `json:"spec"`
}

// Policy is one policy of a bundle.
type Policy struct {
	Scope   engine.ScopeLevel `json:"scope"`
	Domain  string            `json:"domain"`
	Name    string            `json:"name"`
	Content string            `json:"content"`
}

// ReadBundle reads a PolicyBundle in JSON.
func ReadBundle(text []byte) (*Bundle, error) {
	bundle := &Bundle{}
	if err := json.Unmarshal(text, bundle); err != nil {
		return nil, fmt.Errorf("reading the PolicyBundle: %w", err)
	}
	return bundle, nil
}

// FullName tells a policy from those of all other bundles of its namespace.
func (b *Bundle) FullName(p Policy) string { return b.Metadata.Name + "/" + p.Name }

// Parse reads a policy of the bundle. The error is scope.ParseErrors.
func (b *Bundle) Parse(p Policy) (*scope.Policy, error) {
	domain, known := Domain(p.Domain)
	if !known {
		return nil, scope.ParseErrors{{Policy: b.FullName(p), Message: fmt.Sprintf("unknown domain %q", p.Domain)}}
	}
	level, err := scope.ParseLevel(string(p.Scope))
	if err != nil {
		return nil, scope.ParseErrors{{Policy: b.FullName(p), Message: err.Error()}}
	}
	return scope.Parse(scope.Source{Level: level, Name: b.FullName(p), Domain: domain, Content: p.Content})
}

// meets says whether a policy of another bundle may apply to an instance that a policy
// of this one applies to. Enterprise policies apply to every instance of their
// namespace, those of the root namespace to every instance there is.
func (b *Bundle) meets(p Policy, other *Bundle, q Policy, root string) bool {
	if p.Domain != q.Domain {
		return false
	}
	if b.Metadata.Namespace != other.Metadata.Namespace {
		return isRooted(other, q, root) || isRooted(b, p, root)
	}
	return p.Scope == engine.Enterprise || q.Scope == engine.Enterprise ||
		!disjoint(b.Spec.InstanceSelector, other.Spec.InstanceSelector)
}

func isRooted(b *Bundle, p Policy, root string) bool {
	return root != "" && b.Metadata.Namespace == root && p.Scope == engine.Enterprise
}

// disjoint says whether certainly no labels are selected by both.
func disjoint(a, b *metav1.LabelSelector) bool {
	if a == nil || b == nil {
		return false
	}
	wanted := requirements(a)
	for _, other := range requirements(b) {
		if slices.ContainsFunc(wanted, func(one metav1.LabelSelectorRequirement) bool { return contradict(one, other) }) {
			return true
		}
	}
	return false
}

func requirements(selector *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	all := slices.Clone(selector.MatchExpressions)
	for key, value := range selector.MatchLabels {
		all = append(all, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	return all
}

func contradict(a, b metav1.LabelSelectorRequirement) bool {
	if a.Key != b.Key {
		return false
	}
	if a.Operator != metav1.LabelSelectorOpIn && (b.Operator == metav1.LabelSelectorOpIn || a.Operator != metav1.LabelSelectorOpExists) {
		a, b = b, a
	}
	switch {
	case a.Operator == metav1.LabelSelectorOpIn && b.Operator == metav1.LabelSelectorOpIn:
		return !slices.ContainsFunc(a.Values, func(value string) bool { return slices.Contains(b.Values, value) })
	case a.Operator == metav1.LabelSelectorOpIn && b.Operator == metav1.LabelSelectorOpNotIn:
		return !slices.ContainsFunc(a.Values, func(value string) bool { return !slices.Contains(b.Values, value) })
	case a.Operator == metav1.LabelSelectorOpIn || a.Operator == metav1.LabelSelectorOpExists:
		return b.Operator == metav1.LabelSelectorOpDoesNotExist
	}
	return false
}
