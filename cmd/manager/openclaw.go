package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/openclaw"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/webhooks"
)

// compareTimeout is how long the policies of a bundle are read and compared with broader
// ones while the API server waits. What is not compared by then is unknown.
const compareTimeout = 3 * time.Second

// openClaw asks the rules for OpenClaw's kinds, for webhook and controllers alike.
type openClaw struct {
	options  *options
	bundles  client.Reader
	parser   *rules.Parser
	snapshot *engine.Snapshot
	timeout  time.Duration // of reading and comparing
}

// newOpenClaw is the system openclaw.
func newOpenClaw(ctx context.Context, mgr manager.Manager, o *options, on bool) ([]webhooks.Product, error) {
	set, err := rules.Set()
	if err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	s := &openClaw{
		options: o, bundles: mgr.GetClient(), parser: rules.NewParser(),
		snapshot: engine.NewSnapshot(admission.BuiltinResources(), set), timeout: compareTimeout,
	}
	products := s.products(on)
	if !on {
		return products, nil
	}
	// Or the first review would wait for the cache.
	if _, err := mgr.GetCache().GetInformer(ctx, &openclawv1.PolicyBundle{}); err != nil {
		return nil, fmt.Errorf("watching PolicyBundles: %w", err)
	}
	if o.openclawRootNamespace == "" {
		mgr.GetLogger().Info("warning: anyone who may write PolicyBundles may write enterprise policies, which bind the OpenClawInstances of their namespace; " +
			"name the namespace of those who may with --openclaw-root-namespace")
	}
	return products, openclaw.SetupWithManager(ctx, mgr, openclaw.Options{
		RootNamespace: o.openclawRootNamespace,
		Namespace:     o.namespace,
		Admitter:      s.admit,
	})
}

// products are the entries for OpenClaw's kinds. Where the system is off they are there
// and called for nothing: entries never come and go.
func (s *openClaw) products(on bool) []webhooks.Product {
	bundle := webhooks.BuiltIn{
		Name: "policybundle", Entry: "policybundle.openclaw.enterprise.io", Snapshot: s.snapshot,
		Facts: func(ctx context.Context, review *admission.Review) (any, error) { return s.bundleFacts(ctx, review) },
	}
	instance := webhooks.BuiltIn{
		Name: "openclawinstance", Entry: "openclawinstance.openclaw.enterprise.io", Snapshot: s.snapshot,
		Facts: func(context.Context, *admission.Review) (any, error) { return s.instanceFacts(), nil },
	}
	if on {
		bundle.Rules, instance.Rules = openClawRules("policybundles"), openClawRules("openclawinstances")
	}
	return []webhooks.Product{bundle.Validating(), instance.Validating(), instance.Mutating()}
}

func openClawRules(resource string) []admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.NamespacedScope
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{openclawv1.SchemeGroupVersion.Group}, APIVersions: []string{openclawv1.SchemeGroupVersion.Version},
			Resources: []string{resource}, Scope: &scope,
		},
	}}
}

func (s *openClaw) instanceFacts() any {
	return map[string]any{"registries": append([]string{}, s.options.openclawImageRegistries...)}
}

// bundleFacts compares the bundle under review with all others.
func (s *openClaw) bundleFacts(ctx context.Context, review *admission.Review) (rules.Facts, error) {
	bundle, err := readBundle(review.Object())
	if err != nil {
		return rules.Facts{}, err
	}
	bundle.Namespace = review.Namespace
	var old *rules.Bundle
	if review.Operation == "UPDATE" {
		if old, err = readBundle(review.OldObject()); err != nil {
			return rules.Facts{}, err
		}
	}
	var list openclawv1.PolicyBundleList
	if err := s.bundles.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return rules.Facts{}, fmt.Errorf("listing the other PolicyBundles: %w", err)
	}
	var others []*rules.Bundle
	for i := range list.Items {
		if other := &list.Items[i]; other.Namespace != bundle.Namespace || other.Name != bundle.Name {
			others = append(others, other)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.parser.Find(ctx, bundle, old, others, s.options.openclawRootNamespace)
}

func readBundle(text json.RawMessage, err error) (*rules.Bundle, error) {
	if err != nil {
		return nil, err
	}
	bundle := &rules.Bundle{}
	if err := json.Unmarshal(text, bundle); err != nil {
		return nil, fmt.Errorf("reading the PolicyBundle: %w", err)
	}
	return bundle, nil
}

// reasonExpandsParent is the reason of a stored bundle that expands beyond what broader
// scopes allow by now.
const reasonExpandsParent = "ExpandsParent"

// admit asks the rules about a stored object as if it were created now.
func (s *openClaw) admit(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	question := builtin.Question{Object: object, Facts: s.instanceFacts(), Resource: "openclawinstances"}
	version := openclawv1.SchemeGroupVersion
	question.Kind = metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: "OpenClawInstance"}
	expands := false
	switch object.(type) {
	case *openclawv1.OpenClawInstance:
	case *openclawv1.PolicyBundle:
		question.Kind.Kind, question.Resource = "PolicyBundle", "policybundles"
		review, err := question.Review()
		if err != nil {
			return builtin.Verdict{}, err
		}
		facts, err := s.bundleFacts(ctx, review)
		if err != nil {
			return builtin.Verdict{}, err
		}
		question.Facts = facts
		expands = slices.ContainsFunc(facts.Comparisons, func(c rules.Comparison) bool { return c.Verdict == scope.Counterexample && !c.Conflict })
	default:
		return builtin.Verdict{}, fmt.Errorf("there are no rules for %T", object)
	}
	verdict, err := builtin.Ask(ctx, s.snapshot, question)
	if expands && verdict.Denied() {
		verdict.Reason = reasonExpandsParent
	}
	return verdict, err
}
