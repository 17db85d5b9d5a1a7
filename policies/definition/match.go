package definition

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Expands reports whether the match includes the Pod templates of workload kinds.
func (m Match) Expands() bool {
	return m.Expand != ExpandNone && (&Matcher{Match: m}).MatchesKind(admission.PodKind)
}

// Match selects the requests for which a policy is evaluated: custom.match of its METADATA. An
// absent part matches everything, except Operations and Subresources.
type Match struct {
	// Kinds are the kinds of the resources; "*" matches any group but PolicyGroup, or any kind.
	// An empty list matches every kind but those of PolicyGroup.
	Kinds []admission.GroupVersionKind `json:"kinds,omitempty"`
	// Operations default to CREATE and UPDATE for deny and warn, and to CREATE for
	// patch and defaults.
	Operations []string `json:"operations,omitempty"`
	// Subresources of Kinds, in addition to the resources themselves; "*" matches any.
	Subresources []string `json:"subresources,omitempty"`
	// Carriers are the subresources whose requests carry an object of one of Kinds: only
	// constraints have them.
	Carriers []admission.Subresource `json:"-"`
	// Namespaces and ExcludedNamespaces are globs. A cluster-scoped object is in no
	// namespace, except that a Namespace counts as being in itself.
	Namespaces         []string              `json:"namespaces,omitempty"`
	ExcludedNamespaces []string              `json:"excludedNamespaces,omitempty"`
	NamespaceSelector  *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ObjectSelector     *metav1.LabelSelector `json:"objectSelector,omitempty"`
	// Expand also evaluates the Pod template of workload kinds, as a Pod.
	Expand Expand `json:"expand,omitempty"`
}

// Expand is the enforcement of violations in a workload's Pod template.
type Expand string

const (
	// ExpandNone does not look at Pod templates.
	ExpandNone Expand = ""
	// ExpandWarn warns when the workload is applied.
	ExpandWarn Expand = "warn"
	// ExpandDeny denies the workload.
	ExpandDeny Expand = "deny"
)

// PolicyGroup is the API group of the platform's own objects. A policy is evaluated for them
// only if it names the group: otherwise, a policy for all kinds could deny its own repair.
const PolicyGroup = "policy.lintel.dev"

// operationNames are the operations a policy may name.
var operationNames = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// Matcher is a Match made ready: selectors parsed once.
type Matcher struct {
	Match
	namespaceSelector labels.Selector // nil = all
	objectSelector    labels.Selector // nil = all
}

// NewMatcher compiles a Match. The error names an invalid selector.
func NewMatcher(match Match) (*Matcher, error) {
	m := &Matcher{Match: match}
	var err error
	if m.namespaceSelector, err = labelSelector("namespaceSelector", match.NamespaceSelector); err != nil {
		return nil, err
	}
	if m.objectSelector, err = labelSelector("objectSelector", match.ObjectSelector); err != nil {
		return nil, err
	}
	return m, nil
}

func labelSelector(field string, in *metav1.LabelSelector) (labels.Selector, error) {
	if in == nil || (len(in.MatchLabels) == 0 && len(in.MatchExpressions) == 0) {
		return nil, nil
	}
	out, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return out, nil
}

// MatchesKind compares with the kind of the parent resource.
func (m *Matcher) MatchesKind(kind admission.GroupVersionKind) bool {
	if len(m.Kinds) == 0 {
		return m.NamesKind(kind)
	}
	return slices.ContainsFunc(m.Kinds, func(want admission.GroupVersionKind) bool {
		return names(want, kind) && (want.Version == "" || want.Version == "*" || want.Version == kind.Version)
	})
}

// NamesKind reports whether the policy matches a kind, in any version.
func (m Match) NamesKind(kind admission.GroupVersionKind) bool {
	if len(m.Kinds) == 0 {
		return kind.Group != PolicyGroup
	}
	return slices.ContainsFunc(m.Kinds, func(want admission.GroupVersionKind) bool { return names(want, kind) })
}

// NamesGroup reports whether a kind of the policy has a group, by its name.
func (m Match) NamesGroup(group string) bool {
	return slices.ContainsFunc(m.Kinds, func(want admission.GroupVersionKind) bool { return want.Group == group })
}

// names compares group and kind, in which want may have "*": any group but PolicyGroup.
func names(want, kind admission.GroupVersionKind) bool {
	anyGroup := want.Group == "*" && kind.Group != PolicyGroup
	return (anyGroup || want.Group == kind.Group) && (want.Kind == "*" || want.Kind == kind.Kind)
}

// HasWildcard reports that the policy may match kinds that it does not name.
func (m Match) HasWildcard() bool {
	return len(m.Kinds) == 0 || slices.ContainsFunc(m.Kinds, func(want admission.GroupVersionKind) bool {
		return want.Group == "*" || want.Kind == "*"
	})
}

// MatchesVerb checks operation and subresource for deny and warn.
func (m *Matcher) MatchesVerb(r *admission.Review) bool {
	if r.SubResource != "" && !m.TakesSubresource(r) {
		return false
	}
	if len(m.Operations) == 0 {
		return r.Operation == "CREATE" || r.Operation == "UPDATE"
	}
	return slices.Contains(m.Operations, r.Operation)
}

// TakesSubresource reports whether the policy matches the subresource of a review.
func (m Match) TakesSubresource(r *admission.Review) bool {
	return slices.Contains(m.Subresources, r.SubResource) || slices.Contains(m.Subresources, "*") ||
		slices.ContainsFunc(m.Carriers, func(one admission.Subresource) bool {
			return one.Group == r.Resource.Group && one.Resource == r.Resource.Resource && one.Name == r.SubResource
		})
}

// SubresourceNames are the subresources that the policy is about.
func (m Match) SubresourceNames() []string {
	out := slices.Clone(m.Subresources)
	for _, one := range m.Carriers {
		out = append(out, one.Resource+"/"+one.Name)
	}
	return out
}

// Mutates checks operation and subresource for patch and defaults: CREATE unless
// the policy names UPDATE, never a subresource.
func (m *Matcher) Mutates(r *admission.Review) bool {
	if r.SubResource != "" || r.New == nil {
		return false
	}
	switch r.Operation {
	case "CREATE":
		return len(m.Operations) == 0 || slices.Contains(m.Operations, "CREATE")
	case "UPDATE":
		return slices.Contains(m.Operations, "UPDATE")
	default:
		return false
	}
}

// MatchesObject checks objectSelector as the API server does: the object or the
// old object matches.
func (m *Matcher) MatchesObject(r *admission.Review) bool {
	if m.objectSelector == nil {
		return true
	}
	for _, object := range []*admission.Object{r.New, r.Old} {
		if object != nil && m.objectSelector.Matches(object.Labels()) {
			return true
		}
	}
	return false
}

// MatchesNamespaceLabels checks namespaceSelector as the API server does: writes of a Namespace
// are matched by its own labels; other cluster-scoped objects always match. known is false if
// the labels are needed and namespace is nil.
func (m *Matcher) MatchesNamespaceLabels(r *admission.Review, namespace *admission.Object) (matches, known bool) {
	switch {
	case m.namespaceSelector == nil:
		return true, true
	case r.IsNamespace() && r.New != nil:
		return m.namespaceSelector.Matches(r.New.Labels()), true
	case r.IsNamespace() && r.Old != nil:
		return m.namespaceSelector.Matches(r.Old.Labels()), true
	case r.Namespace == "" && !r.IsNamespace():
		return true, true
	case namespace == nil:
		return false, false
	default:
		return m.namespaceSelector.Matches(namespace.Labels()), true
	}
}

// ownSubresources are those whose requests carry the object itself.
var ownSubresources = []string{"status", "ephemeralcontainers", "resize", "finalizers", "finalize", "approval"}

// NamesObjects reports whether all objects that a match accepts are of kinds that it names:
// objects of other subresources have different kinds.
func (m Match) NamesObjects() bool {
	return len(m.Kinds) > 0 &&
		!slices.ContainsFunc(m.Kinds, func(kind admission.GroupVersionKind) bool {
			return kind.Group == "*" || kind.Kind == "*" || kind.Version == "*"
		}) &&
		!slices.ContainsFunc(m.Subresources, func(name string) bool { return !slices.Contains(ownSubresources, name) })
}
