package registration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

const (
	// ConfigurationName is the name of the two webhook configurations with the fixed entries.
	ConfigurationName = "lintel"
	// serviceName is the Service in front of the webhook server.
	serviceName = "lintel-webhook"
	// certificateName is the cert-manager Certificate of the webhook server.
	certificateName = "lintel-serving"

	injectCAAnnotation = "cert-manager.io/inject-ca-from"
	managedByLabel     = "app.kubernetes.io/managed-by"
	timeoutSeconds     = 5
	servicePort        = 443
)

// Settings are the address of the webhooks, and the requests that they do not receive.
type Settings struct {
	// Namespace is the platform's own.
	Namespace string
	// URL is the base URL of a server outside the cluster; empty means the Service.
	URL string
	// InjectCA asks cert-manager to keep the CA bundle; otherwise CABundle is used.
	InjectCA bool
	CABundle []byte
	// ExcludedNamespaces are those for which user policies are never evaluated, in addition to the
	// platform's own; nil means DefaultExcludedNamespaces.
	ExcludedNamespaces []string
}

// DefaultExcludedNamespaces are the namespaces without which neither the cluster
// nor the platform comes up.
func DefaultExcludedNamespaces() []string {
	return []string{"cert-manager", "kube-node-lease", "kube-system"}
}

// Pair is a validating and a mutating configuration of the same name.
type Pair struct {
	Validating *admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating   *admissionregistrationv1.MutatingWebhookConfiguration
}

// Configurations are the two configurations with the fixed entries: for the products, and for
// the policies of the enterprise among the installed ones. Every field is set that the API
// server would default. The order of the policies does not change the result.
//
// The error joins VersionConflicts: a gate refuses the policies. The objects are
// complete in spite of it, with every version that is named, so that policies which
// did get in are never left uncalled.
func Configurations(
	policies []engine.PolicyInfo, resources *admission.Resources, products []rules.Product, settings Settings,
) (*admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration, error) {
	pair, err := fixedPair(ofEnterprise(policies), resources, products, settings)
	return pair.Validating, pair.Mutating, err
}

func ofEnterprise(policies []engine.PolicyInfo) []engine.PolicyInfo {
	return slices.DeleteFunc(slices.Clone(policies), func(policy engine.PolicyInfo) bool { return policy.Follows })
}

// fixedPair are the configurations with the fixed entries, for all of the policies.
func fixedPair(policies []engine.PolicyInfo, resources *admission.Resources, products []rules.Product, settings Settings) (Pair, error) {
	pair := settings.pair(ConfigurationName, nil)
	products = slices.SortedFunc(slices.Values(products), func(a, b rules.Product) int { return cmp.Compare(a.Entry, b.Entry) })
	for _, product := range products {
		e := settings.productEntry(product)
		if product.Mutate != nil {
			pair.Mutating.Webhooks = append(pair.Mutating.Webhooks, e.mutating())
		} else {
			pair.Validating.Webhooks = append(pair.Validating.Webhooks, e.validating())
		}
	}
	return pair, settings.addPolicies(pair, policies, nil, resources, policyScope{})
}

func (s Settings) pair(name string, labels map[string]string) Pair {
	return Pair{
		&admissionregistrationv1.ValidatingWebhookConfiguration{TypeMeta: typeMeta("ValidatingWebhookConfiguration"), ObjectMeta: s.objectMeta(name, labels)},
		&admissionregistrationv1.MutatingWebhookConfiguration{TypeMeta: typeMeta("MutatingWebhookConfiguration"), ObjectMeta: s.objectMeta(name, labels)},
	}
}

// policyScope limits the entries of policies; the zero value does not limit them.
type policyScope struct {
	id string
	// names are the namespaces, where all are named, and conditions else limit them.
	names      []string
	conditions []admissionregistrationv1.MatchCondition
}

// addPolicies adds the entries of policies to both configurations. above are the policies
// of the enterprise that apply together with them.
func (s Settings) addPolicies(pair Pair, policies, above []engine.PolicyInfo, resources *admission.Resources, scope policyScope) error {
	if resources == nil {
		resources = &admission.Resources{}
	}
	order := func(a, b engine.PolicyInfo) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Source, b.Source))
	}
	policies = slices.SortedStableFunc(slices.Values(policies), order)
	above = slices.SortedStableFunc(slices.Values(above), order)
	validates := func(p engine.PolicyInfo) bool { return p.Validates || p.Mutates && p.Parent }
	mutates := func(p engine.PolicyInfo) bool { return p.Mutates }
	var problems []error
	// A change that an Ignore entry makes must still be seen by Fail.
	for _, policy := range []definition.FailurePolicy{definition.Ignore, definition.Fail} {
		own := selectPolicies(policies, policy, validates)
		called, conflicts := validatingRules(own, selectPolicies(above, policy, validates), resources)
		problems = append(problems, conflictErrors(conflicts, PolicyEntry(policy))...)
		e := s.policyEntry(ValidatePath, policy, own, called, scope)
		pair.Validating.Webhooks = append(pair.Validating.Webhooks, e.validating())

		own = selectPolicies(policies, policy, mutates)
		called, conflicts = mutatingRules(own, selectPolicies(above, policy, mutates), resources)
		problems = append(problems, conflictErrors(conflicts, PolicyEntry(policy))...)
		e = s.policyEntry(MutatePath, policy, own, called, scope)
		pair.Mutating.Webhooks = append(pair.Mutating.Webhooks, e.mutating())
	}
	return errors.Join(problems...)
}

// registered is one entry, before it is of either configuration.
type registered struct {
	name              string
	client            admissionregistrationv1.WebhookClientConfig
	failurePolicy     admissionregistrationv1.FailurePolicyType
	rules             []admissionregistrationv1.RuleWithOperations
	namespaceSelector *metav1.LabelSelector
	objectSelector    *metav1.LabelSelector
	conditions        []admissionregistrationv1.MatchCondition
	timeoutSeconds    int32
}

func (s Settings) productEntry(product rules.Product) registered {
	prefix := ValidatePath
	if product.Mutate != nil {
		prefix = MutatePath
	}
	namespaces, objects := &metav1.LabelSelector{}, &metav1.LabelSelector{}
	if product.NotOfPlatform {
		namespaces = s.namespaceSelector(nil)
	}
	if product.ObjectSelector != nil {
		objects = product.ObjectSelector
	}
	return registered{
		name:              product.Entry,
		client:            s.clientConfig(prefix + product.Name),
		failurePolicy:     admissionregistrationv1.FailurePolicyType(cmp.Or(product.FailurePolicy, definition.Fail)),
		rules:             product.Rules,
		namespaceSelector: namespaces,
		objectSelector:    objects,
		conditions:        append([]admissionregistrationv1.MatchCondition{conditionNotAPIServer}, product.MatchConditions...),
		timeoutSeconds:    cmp.Or(product.TimeoutSeconds, timeoutSeconds),
	}
}

func (s Settings) policyEntry(
	prefix string, policy definition.FailurePolicy, policies []engine.PolicyInfo, called []admissionregistrationv1.RuleWithOperations, scope policyScope,
) registered {
	namespaces := s.namespaceSelector(policies)
	if len(scope.names) > 0 {
		namespaces.MatchExpressions = append(namespaces.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: scope.names,
		})
	}
	name, path := PolicyEntry(policy), prefix+PolicySegment(policy)
	if scope.id != "" {
		name, path = ScopeEntry(policy, scope.id), path+"/"+scope.id
	}
	return registered{
		name:              name,
		client:            s.clientConfig(path),
		failurePolicy:     admissionregistrationv1.FailurePolicyType(policy),
		rules:             called,
		namespaceSelector: namespaces,
		objectSelector:    commonObjectSelector(policies),
		conditions:        append(policyConditions(policies), scope.conditions...),
		timeoutSeconds:    timeoutSeconds,
	}
}

func (e registered) validating() admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    e.name,
		ClientConfig:            e.client,
		Rules:                   e.rules,
		FailurePolicy:           new(e.failurePolicy),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		NamespaceSelector:       e.namespaceSelector,
		ObjectSelector:          e.objectSelector,
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(e.timeoutSeconds),
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         e.conditions,
	}
}

func (e registered) mutating() admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:                    e.name,
		ClientConfig:            e.client,
		Rules:                   e.rules,
		FailurePolicy:           new(e.failurePolicy),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		NamespaceSelector:       e.namespaceSelector,
		ObjectSelector:          e.objectSelector,
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(e.timeoutSeconds),
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      new(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:         e.conditions,
	}
}

func (s Settings) clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	config := admissionregistrationv1.WebhookClientConfig{}
	if !s.InjectCA {
		config.CABundle = s.CABundle
	}
	if s.URL != "" {
		config.URL = new(strings.TrimSuffix(s.URL, "/") + path)
		return config
	}
	config.Service = &admissionregistrationv1.ServiceReference{
		Namespace: s.Namespace, Name: serviceName, Path: new(path), Port: new(int32(servicePort)),
	}
	return config
}

func (s Settings) objectMeta(name string, labels map[string]string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{managedByLabel: ConfigurationName}}
	maps.Copy(meta.Labels, labels)
	if s.InjectCA {
		meta.Annotations = map[string]string{injectCAAnnotation: s.Namespace + "/" + certificateName}
	}
	return meta
}

// namespaceSelector leaves out the excluded namespaces, and what all policies of
// the entry leave out.
func (s Settings) namespaceSelector(policies []engine.PolicyInfo) *metav1.LabelSelector {
	excluded := s.ExcludedNamespaces
	if excluded == nil {
		excluded = DefaultExcludedNamespaces()
	}
	excluded = slices.DeleteFunc(append(slices.Clone(excluded), s.Namespace), func(name string) bool { return name == "" })
	slices.Sort(excluded)
	selector := commonSelector(policies, func(m definition.Match) *metav1.LabelSelector { return m.NamespaceSelector })
	if len(excluded) > 0 {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key:      corev1.LabelMetadataName,
			Operator: metav1.LabelSelectorOpNotIn,
			Values:   slices.Compact(excluded),
		})
	}
	return selector
}

// commonObjectSelector is the selector that all policies share. The labels it is
// about are a Pod template's for policies that expand, and for subresources those
// of another object, so there the entry takes every object.
func commonObjectSelector(policies []engine.PolicyInfo) *metav1.LabelSelector {
	for _, policy := range policies {
		if policy.Match.Expand != definition.ExpandNone || len(policy.Match.Subresources) > 0 {
			return &metav1.LabelSelector{}
		}
	}
	return commonSelector(policies, func(m definition.Match) *metav1.LabelSelector { return m.ObjectSelector })
}

// commonSelector is a copy of the selector of all policies: one of everything where they
// differ, or have none.
func commonSelector(policies []engine.PolicyInfo, of func(definition.Match) *metav1.LabelSelector) *metav1.LabelSelector {
	if len(policies) == 0 {
		return &metav1.LabelSelector{}
	}
	first := of(policies[0].Match)
	differs := func(policy engine.PolicyInfo) bool { return !equality.Semantic.DeepEqual(first, of(policy.Match)) }
	if first == nil || slices.ContainsFunc(policies, differs) {
		return &metav1.LabelSelector{}
	}
	return first.DeepCopy()
}

func selectPolicies(policies []engine.PolicyInfo, failure definition.FailurePolicy, want func(engine.PolicyInfo) bool) []engine.PolicyInfo {
	return slices.DeleteFunc(slices.Clone(policies), func(policy engine.PolicyInfo) bool {
		return (policy.FailurePolicy == definition.Ignore) != (failure == definition.Ignore) || !want(policy)
	})
}

func conflictErrors(conflicts []versionConflict, entry string) []error {
	var out []error
	for _, conflict := range conflicts {
		conflict.Entry = entry
		out = append(out, fmt.Errorf("registering webhooks: %w", conflict))
	}
	return out
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}
