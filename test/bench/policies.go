package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

const (
	unmatchedSource = "config-maps" // the name in config/samples/policysource.yaml
	samplesSource   = "samples"
)

var policySources = schema.GroupVersionResource{Group: "policy.lintel.dev", Version: "v1alpha1", Resource: "policysources"}

// applyUnmatched applies a policy about ConfigMaps.
func (b *bench) applyUnmatched(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(installation.Root(), "config/samples/policysource.yaml"))
	if err != nil {
		return err
	}
	var source v1alpha1.PolicySource
	if err := yaml.UnmarshalStrict(text, &source); err != nil {
		return err
	}
	return b.cluster.ApplySource(ctx, unmatchedSource, source.Spec.Inline.Files, nil)
}

// applySamples applies config/samples/policies, and waits until the API server asks
// about Pods.
func (b *bench) applySamples(ctx context.Context) error {
	if output, err := b.cluster.Kubectl(ctx, "", "apply", "-f", "config/samples/rbac"); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	files, err := installation.ReadFolder(filepath.Join(installation.Root(), "config/samples/policies"))
	if err != nil {
		return err
	}
	if err := b.cluster.ApplySource(ctx, samplesSource, files, nil); err != nil {
		return err
	}
	return poll(ctx, "the registration for Pods", func() (bool, error) {
		validating, mutating, err := b.rules(ctx)
		return validating["pods"] && mutating["pods"], err
	})
}

// deleteSources deletes sources, and waits until nothing is registered for Pods.
func (b *bench) deleteSources(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := b.dynamic.Resource(policySources).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return poll(ctx, "the end of "+strings.Join(names, ", "), func() (bool, error) {
		validating, mutating, err := b.rules(ctx)
		return !validating["pods"] && !mutating["pods"] && !validating["configmaps"], err
	})
}

// deleteSource deletes a source, and waits until no replica serves it.
func (b *bench) deleteSource(ctx context.Context, name string) error {
	if err := b.dynamic.Resource(policySources).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll(ctx, "the end of "+name, func() (bool, error) {
		_, err := b.dynamic.Resource(policySources).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// rules are the resources for which Lintel's entries are registered.
func (b *bench) rules(ctx context.Context) (validating, mutating map[string]bool, err error) {
	validating, mutating = map[string]bool{}, map[string]bool{}
	admission := b.clientset.AdmissionregistrationV1()
	v, err := admission.ValidatingWebhookConfigurations().Get(ctx, registration.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range v.Webhooks {
		for _, rule := range entry.Rules {
			for resource := range slices.Values(rule.Resources) {
				validating[resource] = true
			}
		}
	}
	m, err := admission.MutatingWebhookConfigurations().Get(ctx, registration.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range m.Webhooks {
		for _, rule := range entry.Rules {
			for resource := range slices.Values(rule.Resources) {
				mutating[resource] = true
			}
		}
	}
	return validating, mutating, nil
}
