package registration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

const (
	// ConfigurationName is the name of both webhook configurations.
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

// Settings say where the webhooks are found, and what they leave alone.
type Settings struct {
	// Namespace is the platform's own.
	Namespace string
	// URL is the base URL of a server outside the cluster; empty means the Service.
	URL string
	// InjectCA asks cert-manager to keep the CA bundle; otherwise CABundle is used.
	InjectCA bool
	CABundle []byte
	// ExcludedNamespaces are those that user policies are never asked about, beside
	// the platform's own; nil means DefaultExcludedNamespaces.
	ExcludedNamespaces []string
}

// DefaultExcludedNamespaces are the namespaces without which neither the cluster
// nor the platform comes up.
func DefaultExcludedNamespaces() []string {
	return []string{"cert-manager", "kube-node-lease", "kube-system"}
}

// Configurations are both webhook configurations for the installed policies and
// products, with every field set that the API server would default. Equal
// arguments give equal objects, whatever the order of the policies.
//
// The error joins VersionConflicts: a gate refuses the policies. The objects are
// complete in spite of it, with every version that is named, so that policies which
// did get in are never left uncalled.
func Configurations(
	policies []engine.PolicyInfo, resources *admission.Resources, products []rules.Product, settings Settings,
) (*admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration, error) {
	if resources == nil {
		resources = &admission.Resources{}
	}
	policies = slices.SortedStableFunc(slices.Values(policies), func(a, b engine.PolicyInfo) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Source, b.Source))
	})
	products = slices.SortedFunc(slices.Values(products), func(a, b rules.Product) int { return cmp.Compare(a.Entry, b.Entry) })

	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   typeMeta("ValidatingWebhookConfiguration"),
		ObjectMeta: settings.objectMeta(),
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   typeMeta("MutatingWebhookConfiguration"),
		ObjectMeta: settings.objectMeta(),
	}
	for _, product := range products {
		e := settings.productEntry(product)
		if product.Mutate != nil {
			mutating.Webhooks = append(mutating.Webhooks, e.mutating())
		} else {
			validating.Webhooks = append(validating.Webhooks, e.validating())
		}
	}
	var problems []error
	// A change that an Ignore entry makes must still be seen by Fail.
	for _, policy := range []definition.FailurePolicy{definition.Ignore, definition.Fail} {
		validates := selectPolicies(policies, policy, func(p engine.PolicyInfo) bool { return p.Validates })
		called, conflicts := validatingRules(validates, resources)
		problems = append(problems, conflictErrors(conflicts, PolicyEntry(policy))...)
		e := settings.policyEntry(ValidatePath, policy, validates, called)
		validating.Webhooks = append(validating.Webhooks, e.validating())

		mutates := selectPolicies(policies, policy, func(p engine.PolicyInfo) bool { return p.Mutates })
		called, conflicts = mutatingRules(mutates, resources)
		problems = append(problems, conflictErrors(conflicts, PolicyEntry(policy))...)
		e = settings.policyEntry(MutatePath, policy, mutates, called)
		mutating.Webhooks = append(mutating.Webhooks, e.mutating())
	}
	return validating, mutating, errors.Join(problems...)
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
	prefix string, policy definition.FailurePolicy, policies []engine.PolicyInfo, called []admissionregistrationv1.RuleWithOperations,
) registered {
	return registered{
		name:              PolicyEntry(policy),
		client:            s.clientConfig(prefix + PolicySegment(policy)),
		failurePolicy:     admissionregistrationv1.FailurePolicyType(policy),
		rules:             called,
		namespaceSelector: s.namespaceSelector(policies),
		objectSelector:    commonObjectSelector(policies),
		conditions:        policyConditions(policies),
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

func (s Settings) objectMeta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: ConfigurationName, Labels: map[string]string{managedByLabel: ConfigurationName}}
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
			Key:      "kubernetes.io/metadata.name",
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
