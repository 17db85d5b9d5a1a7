package cel

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	listersv1 "k8s.io/client-go/listers/core/v1"

	"github.com/lintel-policy/lintel/policies/definition"
)

// criteria are matchConstraints or matchResources, with the defaults of the API server.
type criteria struct{ v1.MatchResources }

// newCriteria sets the defaults of the API server.
func newCriteria(m v1.MatchResources) criteria {
	if m.NamespaceSelector == nil {
		m.NamespaceSelector = &metav1.LabelSelector{}
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	if m.MatchPolicy == nil {
		m.MatchPolicy = new(v1.Equivalent)
	}
	return criteria{m}
}

// GetParsedNamespaceSelector implements matching.MatchCriteria.
func (c criteria) GetParsedNamespaceSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.NamespaceSelector)
}

// GetParsedObjectSelector implements matching.MatchCriteria.
func (c criteria) GetParsedObjectSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.ObjectSelector)
}

// GetMatchResources implements matching.MatchCriteria.
func (c criteria) GetMatchResources() v1.MatchResources { return c.MatchResources }

// oneNamespace is a lister of the Namespace of a request.
type oneNamespace struct {
	listersv1.NamespaceLister
	namespace *corev1.Namespace
}

// errNoNamespace is the error of oneNamespace without a Namespace.
var errNoNamespace = errors.New("the Namespace is not available")

// Get implements the lister.
func (l oneNamespace) Get(string) (*corev1.Namespace, error) {
	if l.namespace == nil {
		return nil, errNoNamespace
	}
	return l.namespace, nil
}

// objectInterfaces convert no versions.
var objectInterfaces = admission.NewObjectInterfacesFromScheme(runtime.NewScheme())

// match compares a request with criteria. field and reason explain why it does not match. If only
// the reason is set, the answer is not known.
func (c criteria) match(in *input) (matches bool, field, reason string) {
	is := func(c criteria) bool {
		matches, _, _, err := matching.NewMatcher(oneNamespace{namespace: in.namespace}, nil).Matches(in.attributes, objectInterfaces, c)
		return matches && err == nil
	}
	if other := c.otherVersion(in, is); other != "" {
		return false, "", other
	}
	everywhere := c
	everywhere.NamespaceSelector = &metav1.LabelSelector{}
	if !is(everywhere) {
		field, reason = c.explain(in, is)
		return false, field, reason
	}
	byName, known := c.byNamespaceName(in)
	switch {
	case known && byName, !known && is(c):
		return true, "", ""
	case !known && c.needsNamespace(in):
		return false, "", fmt.Sprintf("its namespaceSelector needs the labels of namespace %q", in.attributes.GetNamespace())
	default:
		return false, "namespaceSelector", "the labels of the Namespace do not meet " + metav1.FormatLabelSelector(c.NamespaceSelector)
	}
}

// needsNamespace reports whether the selector needs the labels of a missing Namespace.
func (c criteria) needsNamespace(in *input) bool {
	return in.namespace == nil && in.attributes.GetNamespace() != "" && in.attributes.GetResource().Resource != "namespaces"
}

// byNamespaceName compares the selector with the name of a missing Namespace. known is false if that
// does not decide.
func (c criteria) byNamespaceName(in *input) (matches, known bool) {
	if !c.needsNamespace(in) {
		return false, false
	}
	selector, err := c.GetParsedNamespaceSelector()
	if err != nil {
		return false, false
	}
	return definition.MatchesNamespaceName(selector, in.attributes.GetNamespace())
}

// only returns criteria of rules alone.
func (c criteria) only(list []v1.NamedRuleWithOperations) criteria {
	return criteria{v1.MatchResources{
		ResourceRules: list, MatchPolicy: c.MatchPolicy,
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
	}}
}

// otherVersion is the reason why a request cannot be compared: the API server would convert the
// object to the version of a rule. It is empty if no rule names another version.
func (c criteria) otherVersion(in *input, is func(criteria) bool) string {
	if *c.MatchPolicy != v1.Equivalent {
		return ""
	}
	for _, list := range [][]v1.NamedRuleWithOperations{c.ResourceRules, c.ExcludeResourceRules} {
		if len(list) > 0 && !is(c.only(list)) && is(c.only(inAnyVersion(list))) {
			return fmt.Sprintf("it is written for another version of %s than %s", resourceName(in), in.attributes.GetResource().Version)
		}
		if other, ok := equivalentGroup(in.attributes.GetResource()); ok && len(list) > 0 && !is(c.only(list)) && is(c.only(inGroup(list, other, in.attributes.GetResource().Group))) {
			return fmt.Sprintf("it is written for %s of the API group %q, and the request is about those of %q, which the API server converts", resourceName(in), other, in.attributes.GetResource().Group)
		}
	}
	return ""
}

// resourceName is the resource of a request, with its subresource.
func resourceName(in *input) string {
	name := in.attributes.GetResource().Resource
	if sub := in.attributes.GetSubresource(); sub != "" {
		name += "/" + sub
	}
	return name
}

// explain explains why a request does not match, regardless of its Namespace.
func (c criteria) explain(in *input, is func(criteria) bool) (field, reason string) {
	resource := in.attributes.GetResource()
	what := fmt.Sprintf("%s of %s %s", in.attributes.GetOperation(), groupVersion(resource.Group, resource.Version), resourceName(in))
	switch {
	case len(c.ResourceRules) > 0 && !is(c.only(c.ResourceRules)):
		return "resourceRules", what + " is not one of them"
	case len(c.ExcludeResourceRules) > 0 && is(c.only(c.ExcludeResourceRules)):
		return "excludeResourceRules", "they exclude " + what
	default:
		return "objectSelector", "the labels of the object do not meet " + metav1.FormatLabelSelector(c.ObjectSelector)
	}
}

func groupVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// inAnyVersion returns the rules for all versions.
func inAnyVersion(list []v1.NamedRuleWithOperations) []v1.NamedRuleWithOperations {
	list = slices.Clone(list)
	for i := range list {
		list[i].APIVersions = []string{"*"}
	}
	return list
}

// equivalentGroup returns the other group in which the API server serves the objects of a resource.
func equivalentGroup(resource schema.GroupVersionResource) (other string, ok bool) {
	switch {
	case resource.Resource != "events":
		return "", false
	case resource.Group == "":
		return eventsv1.GroupName, true
	default:
		return "", resource.Group == eventsv1.GroupName
	}
}

// inGroup returns the rules that name a group, for another group and all versions.
func inGroup(list []v1.NamedRuleWithOperations, named, group string) (out []v1.NamedRuleWithOperations) {
	for _, rule := range inAnyVersion(list) {
		if slices.Contains(rule.APIGroups, named) {
			rule.APIGroups = []string{group}
			out = append(out, rule)
		}
	}
	return out
}

// isExempt reports whether no admission policy is evaluated for a request, so that policies can be
// repaired.
func isExempt(in *input) bool {
	return rules.IsExemptAdmissionConfigurationResource(in.attributes)
}
