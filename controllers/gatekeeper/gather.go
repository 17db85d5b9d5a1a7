package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
)

// gathered contains the objects of the cluster.
type gathered struct {
	settings, templates, constraints []unstructured.Unstructured
	problems                         []problem
	again                            time.Duration // until the cluster may have more
}

func (r *Reconciler) gather(ctx context.Context, present map[string]string) (g gathered, err error) {
	g.again = lookAgain
	if g.templates, err = r.list(ctx, templateKind); err != nil {
		return g, err
	}
	for _, kind := range settingKinds {
		found, err := r.list(ctx, kind)
		if err != nil {
			return g, err
		}
		g.settings = append(g.settings, found...)
	}
	g.problems = r.idle(ctx)
	for _, template := range g.templates {
		kind := constraintKind(template)
		if kind == "" {
			continue
		}
		found, err := r.constraintsOf(ctx, template)
		if err != nil {
			// The previous version stays in force, and the other templates do not wait.
			g.problems = append(g.problems, problem{object: template, message: err.Error()})
			found = slices.DeleteFunc(objectsOf(present), func(object unstructured.Unstructured) bool {
				return object.GroupVersionKind().Group != constraintGroup || object.GetKind() != kind
			})
		}
		if !r.watched[constraintOf(kind)] {
			g.again = kindDelay
		}
		g.constraints = append(g.constraints, found...)
	}
	r.forget(ctx, g.templates)
	return g, nil
}

// idle returns the objects that have no effect in Lintel.
func (r *Reconciler) idle(ctx context.Context) (problems []problem) {
	for _, kind := range idleKinds {
		bounded, cancel := context.WithTimeout(ctx, kindTimeout)
		found, err := r.list(bounded, kind)
		cancel()
		if err != nil { // enforcement does not depend on these kinds
			log.FromContext(ctx).Error(err, "listing Gatekeeper objects without effect", "kind", kind.String())
		}
		for _, object := range found {
			problems = append(problems, problem{object: object, message: gatekeeper.NotCarriedOut(kind.Group)})
		}
	}
	return problems
}

// constraintsOf creates the kind of a template and lists the constraints.
func (r *Reconciler) constraintsOf(ctx context.Context, template unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	bounded, cancel := context.WithTimeout(ctx, kindTimeout)
	defer cancel()
	if err := r.ensureKind(bounded, template); err != nil {
		return nil, err
	}
	return r.list(bounded, schema.GroupKind{Group: constraintGroup, Kind: constraintKind(template)})
}

func constraintOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: constraintGroup, Version: constraintVersion, Kind: kind}
}

// list watches a kind and returns its objects: none while the cluster does not serve the kind.
func (r *Reconciler) list(ctx context.Context, kind schema.GroupKind) ([]unstructured.Unstructured, error) {
	var versions []string
	if kind.Group == constraintGroup {
		versions = []string{constraintVersion}
	}
	mapping, err := r.mapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for kind %s: %w", kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if !r.watched[mapping.GroupVersionKind] {
		written := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
		if err := r.controller.Watch(source.Kind[client.Object](r.cache, object, everything(), written)); err != nil {
			return nil, fmt.Errorf("watching %s: %w", kind, err)
		}
		r.watched[mapping.GroupVersionKind] = true
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := r.cache.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	return list.Items, nil
}

// ensureKind creates the constraint kind of a template, unless Gatekeeper has created it.
func (r *Reconciler) ensureKind(ctx context.Context, template unstructured.Unstructured) error {
	kind := constraintKind(template)
	if r.watched[constraintOf(kind)] && r.made[template.GetUID()] == template.GetGeneration() {
		return nil
	}
	ours := func(existing client.Object) bool { return existing.GetLabels()[templateLabel] == template.GetName() }
	apply := func(withSchema bool) error {
		crd, existing := crdOf(template, withSchema), &unstructured.Unstructured{}
		existing.SetGroupVersionKind(crd.GroupVersionKind())
		_, err := r.applier.Apply(ctx, ours, crd, existing)
		return err
	}
	err := apply(true)
	if apierrors.IsInvalid(err) { // a schema of older days
		err = apply(false)
	}
	switch foreign := (*object.Foreign)(nil); {
	case errors.As(err, &foreign):
		return nil
	case err != nil:
		return fmt.Errorf("making the kind of template %s: %w", template.GetName(), err)
	}
	r.made[template.GetUID()] = template.GetGeneration()
	return nil
}

// forget stops the informers of kinds whose templates were deleted.
func (r *Reconciler) forget(ctx context.Context, templates []unstructured.Unstructured) {
	wanted := map[string]bool{}
	for _, template := range templates {
		wanted[constraintKind(template)] = true
	}
	for kind := range r.watched {
		if kind.Group != constraintGroup || wanted[kind.Kind] {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if err := r.cache.RemoveInformer(ctx, object); err != nil {
			log.FromContext(ctx).Error(err, "ending a watch", "kind", kind.String())
			continue
		}
		delete(r.watched, kind)
	}
}
