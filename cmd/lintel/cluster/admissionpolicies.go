package cluster

import (
	"bytes"
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// AdmissionPolicies compiles the policies that the API server enforces itself, with their bindings
// and params. The set is nil without policies. The notes explain which of them cannot be read.
func (c *Cluster) AdmissionPolicies(ctx context.Context) (set *engine.PolicySet, notes []string, err error) {
	table := admission.NewResources(c.Resources)
	var objects [][]byte
	list := func(resource admission.ServedResource, purpose string) (ok bool) {
		before := len(objects)
		err := c.Stream(ctx, resource, func() { objects = objects[:before] }, func(object []byte) error {
			objects = append(objects, bytes.Clone(object))
			return nil
		})
		if err != nil {
			objects = objects[:before]
			notes = append(notes, fmt.Sprintf("%s: %v", purpose, err))
		}
		return err == nil
	}
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
		if resource, served := table.ByKind("admissionregistration.k8s.io", kind); served {
			list(resource, fmt.Sprintf("the policies of the API server are not all evaluated, because no %s can be read", kind))
		}
	}
	for _, kind := range sources.ParamKinds(objects) {
		resource, served := table.ByKind(kind.Group, kind.Kind)
		resource.Version = kind.Version
		if !served {
			notes = append(notes, fmt.Sprintf("policies with params of kind %s are not evaluated: the cluster does not serve this kind", kind.Kind))
		}
		// Without its params, a policy would decide otherwise than in the API server.
		if !served || !list(resource, fmt.Sprintf("policies with params of kind %s are not evaluated", kind.Kind)) {
			objects = sources.WithoutParamKind(objects, kind)
			continue
		}
		if text := c.definition(ctx, resource); text != nil {
			objects = append(objects, text)
		}
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("reading the policies of the API server: %w", ctx.Err())
	}
	set, more, err := sources.AdmissionPolicies(objects)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the policies of the API server: %w", err)
	}
	return set, append(notes, more...), nil
}

// EnforcedSets are Sets, and the policies that the API server enforces itself. In a cluster without
// Lintel, they are the only ones.
func (c *Cluster) EnforcedSets(ctx context.Context) (sets []*engine.PolicySet, notes []string, err error) {
	ofServer, unread, err := c.AdmissionPolicies(ctx)
	if err != nil {
		return nil, nil, err
	}
	sets, notes, err = c.Sets(ctx)
	switch {
	case ofServer == nil:
		return sets, append(notes, unread...), err
	case err != nil && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)):
		notes = []string{"the cluster has no PolicySources: only the policies of the API server are evaluated"}
	case err != nil:
		return nil, nil, err
	}
	return append(sets, ofServer), append(notes, unread...), nil
}

// definition is the CustomResourceDefinition of a resource in JSON: nil if there is none, or if it
// cannot be read.
func (c *Cluster) definition(ctx context.Context, resource admission.ServedResource) []byte {
	kind := schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition"}
	text, err := c.get(ctx, kind, client.ObjectKey{Name: resource.Name + "." + resource.Group})
	if err != nil {
		return nil
	}
	return text
}
