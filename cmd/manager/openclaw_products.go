package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/webhooks"
)

// compareTimeout is how long the policies of a bundle are compared with broader ones
// while the API server waits. What is not compared by then is unknown.
const compareTimeout = 3 * time.Second

// openclawProducts are the entries for OpenClaw's kinds. Where the system is off they
// are there and called for nothing: entries never come and go.
func openclawProducts(o *options, on bool, reader client.Reader, parser *openclaw.Parser) ([]webhooks.Product, error) {
	set, err := openclaw.Set()
	if err != nil {
		return nil, fmt.Errorf("compiling the rules for OpenClaw: %w", err)
	}
	snapshot := engine.NewSnapshot(engine.BuiltinResources(), set)
	bundle := webhooks.BuiltIn{
		Name: "policybundle", Entry: "policybundle.openclaw.enterprise.io", Snapshot: snapshot,
		Facts: func(ctx context.Context, review *engine.Review) (any, error) {
			return bundleFacts(ctx, review, reader, parser, o.openclawRootNamespace)
		},
	}
	instance := webhooks.BuiltIn{
		Name: "openclawinstance", Entry: "openclawinstance.openclaw.enterprise.io", Snapshot: snapshot,
		Facts: func(context.Context, *engine.Review) (any, error) {
			return map[string]any{"registries": append([]string{}, o.openclawImageRegistries...)}, nil
		},
	}
	if on {
		bundle.Rules, instance.Rules = openclawRules("policybundles"), openclawRules("openclawinstances")
	}
	return []webhooks.Product{bundle.Validating(), instance.Validating(), instance.Mutating()}, nil
}

func openclawRules(resource string) []admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.NamespacedScope
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{openclawv1.GroupVersion.Group}, APIVersions: []string{openclawv1.GroupVersion.Version},
			Resources: []string{resource}, Scope: &scope,
		},
	}}
}

// bundleFacts reads the bundle under review and all others.
func bundleFacts(ctx context.Context, review *engine.Review, reader client.Reader, parser *openclaw.Parser, root string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	bundle, err := readBundle(review.Object())
	if err != nil {
		return nil, err
	}
	var old *openclaw.Bundle
	if review.Operation == "UPDATE" {
		if old, err = readBundle(review.OldObject()); err != nil {
			return nil, err
		}
	}
	var list openclawv1.PolicyBundleList
	if err := reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the other PolicyBundles: %w", err)
	}
	var others []*openclaw.Bundle
	for i := range list.Items {
		if other := &list.Items[i]; other.Namespace != review.Namespace || other.Name != bundle.Name {
			others = append(others, other)
		}
	}
	if bundle.Namespace == "" {
		bundle.Namespace = review.Namespace
	}
	return parser.Find(ctx, bundle, old, others, root), nil
}

func readBundle(text json.RawMessage, err error) (*openclaw.Bundle, error) {
	if err != nil {
		return nil, err
	}
	bundle := &openclaw.Bundle{}
	if err := json.Unmarshal(text, bundle); err != nil {
		return nil, fmt.Errorf("reading the PolicyBundle: %w", err)
	}
	return bundle, nil
}
