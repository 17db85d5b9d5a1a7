package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

func filesIn(object *v1alpha1.PolicySource) map[string]string {
	if object.Spec.Inline == nil {
		return nil
	}
	return object.Spec.Inline.Files
}

// isLive reports whether every replica serves these files.
func isLive(object *v1alpha1.PolicySource, files map[string]string) bool {
	digest := digestOf(files)
	return len(files) > 0 && object.Status.Digest == digest && len(object.Status.Replicas) > 0 &&
		!slices.ContainsFunc(object.Status.Replicas, func(replica v1alpha1.ReplicaStatus) bool { return replica.Digest != digest })
}

// report writes into the status of each object whether it is enforced. It reports success only
// once every replica serves the source.
func (r *Reconciler) report(ctx context.Context, existing *v1alpha1.PolicySource, live bool, kept []*candidate, problems []problem) error {
	var errs []error
	var inactive map[string]string
	if live {
		var err error
		inactive, err = r.inactive(ctx, existing, kept)
		errs = append(errs, err)
	}
	reported := map[string]bool{}
	for _, p := range problems {
		reported[id(p.object)] = true
		errs = append(errs, r.reportTo(ctx, p.object, p.text()))
	}
	for _, c := range kept {
		isTemplate := c.object.GroupVersionKind().Group == templateKind.Group
		if !reported[id(c.object)] && (live || isTemplate) {
			errs = append(errs, r.reportTo(ctx, c.object, inactive[id(c.object)]))
		}
	}
	return errors.Join(errs...)
}

// apply updates the source to the files, and deletes it if there are none.
func (r *Reconciler) apply(ctx context.Context, existing *v1alpha1.PolicySource, files map[string]string, problems []problem) error {
	notEnforced := summary(problems)
	if maps.Equal(files, filesIn(existing)) && existing.Annotations[v1alpha1.NotEnforcedAnnotation] == notEnforced {
		return nil
	}
	switch {
	case len(files) == 0 && existing.Name == "":
		return nil
	case len(files) == 0:
		if err := r.client.Delete(ctx, existing); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting PolicySource %s: %w", sourceName, err)
		}
		return nil
	}
	wanted, err := sourceObject(files, notEnforced)
	if err == nil {
		// The source is not created with Create: the role permits only one name, which only an
		// apply specifies in the URL.
		wanted.SetUID(existing.UID)
		err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(fieldManager), client.ForceOwnership)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("applying PolicySource %s: %w", sourceName, err)
	return errors.Join(err, r.reportStale(ctx, existing, err))
}

// reportStale reports in the status of a source that it could not be updated.
func (r *Reconciler) reportStale(ctx context.Context, existing *v1alpha1.PolicySource, why error) error {
	self := unstructured.Unstructured{}
	self.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("PolicySource"))
	self.SetName(sourceName)
	stale := []problem{{object: self, message: "what the cluster has now is not in force: " + why.Error()}}
	r.count(stale)
	if notEnforced := summary(stale); existing.Name != "" && existing.Annotations[v1alpha1.NotEnforcedAnnotation] != notEnforced {
		patch := client.MergeFrom(existing.DeepCopy())
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, v1alpha1.NotEnforcedAnnotation, notEnforced)
		return r.client.Patch(ctx, existing, patch, client.FieldOwner(fieldManager))
	}
	return nil
}
