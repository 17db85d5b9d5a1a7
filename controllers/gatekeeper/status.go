package gatekeeper

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// statusID is the id of Lintel's entry in status.byPod, where Gatekeeper has one for each
// of its Pods.
const statusID = "lintel"

// losses is how often an entry is written again after another client removes it: a Gatekeeper
// that runs in the same cluster writes the whole list.
const losses = 2

// writtenStatus is the status that this controller wrote last for one object.
type writtenStatus struct {
	entry  map[string]any
	before string // the resourceVersion that it was written over
	lost   int
}

// entryOf is Lintel's entry in status.byPod of an object, in Gatekeeper's form. A message states
// why the object is not enforced.
func entryOf(object unstructured.Unstructured, message string) map[string]any {
	entry := map[string]any{"id": statusID, "observedGeneration": object.GetGeneration(), "operations": []any{"webhook"}}
	failure := map[string]any{"code": "not_enforced", "message": message}
	switch object.GroupVersionKind().Group {
	case templateKind.Group:
		entry["templateUID"] = string(object.GetUID())
	case constraintGroup:
		entry["constraintUID"], entry["enforced"] = string(object.GetUID()), message == ""
	case mutationGroup:
		entry["mutatorUID"], entry["enforced"] = string(object.GetUID()), message == ""
		failure = map[string]any{"type": "NotCarriedOut", "message": message}
	case providerGroup:
		entry["providerUID"], entry["active"] = string(object.GetUID()), message == ""
		failure = map[string]any{"type": "NotCarriedOut", "message": message}
	case connectionGroup:
		entry["connectionUID"], entry["active"] = string(object.GetUID()), message == ""
		failure = map[string]any{"type": "NotCarriedOut", "message": message}
	}
	if message != "" {
		entry["errors"] = []any{failure}
	}
	return entry
}

// statusWith returns the list with Lintel's entry, and the previous entry.
func statusWith(object unstructured.Unstructured, entry map[string]any) (list []any, was map[string]any) {
	existing, _, _ := unstructured.NestedSlice(object.Object, "status", "byPod")
	for _, one := range existing {
		if fields, ok := one.(map[string]any); ok && fields["id"] == statusID {
			was = fields
			continue
		}
		list = append(list, one)
	}
	return append(list, entry), was
}

// isCreated returns the value of status.created for a template with this list, as in Gatekeeper:
// one of the entries has no errors.
func isCreated(byPod []any) bool {
	return slices.ContainsFunc(byPod, func(one any) bool {
		fields, ok := one.(map[string]any)
		return ok && fields["errors"] == nil
	})
}

// reportTo writes into the status of an object whether it is enforced. For kinds whose schema
// prunes the status, only the Event reports it.
func (r *Reconciler) reportTo(ctx context.Context, object unstructured.Unstructured, message string) error {
	if object.GetUID() == "" {
		return nil // known from the source alone
	}
	entry := entryOf(object, message)
	list, was := statusWith(object, entry)
	isTemplate := object.GroupVersionKind().Group == templateKind.Group
	created, _, _ := unstructured.NestedBool(object.Object, "status", "created")
	if sameJSON(was, entry) && (!isTemplate || created == isCreated(list)) {
		delete(r.statuses, object.GetUID())
		return nil
	}
	last := r.statuses[object.GetUID()]
	switch {
	case !sameJSON(last.entry, entry):
		last = writtenStatus{entry: entry}
	case last.before == object.GetResourceVersion(): // the cache has not seen it yet
		return nil
	default:
		last.lost++
	}
	if last.lost > losses {
		return nil
	}
	last.before = object.GetResourceVersion()
	next := object.DeepCopy()
	err := unstructured.SetNestedSlice(next.Object, list, "status", "byPod")
	if err == nil && isTemplate {
		err = unstructured.SetNestedField(next.Object, isCreated(list), "status", "created")
	}
	if err == nil {
		err = r.client.Status().Patch(ctx, next, client.MergeFromWithOptions(&object, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager))
	}
	switch {
	case apierrors.IsConflict(err): // the cache is behind, and brings us here again
		return nil
	case apierrors.IsNotFound(err): // gone, or of a kind without a status
		last.lost = losses + 1
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		log.FromContext(ctx).Error(err, "writing a status", "object", id(object))
		last.lost = losses + 1
	case err != nil:
		return fmt.Errorf("writing the status of %s: %w", id(object), err)
	}
	r.statuses[object.GetUID()] = last
	return nil
}

// sameJSON compares JSON values, whose numbers may be of different Go types.
func sameJSON(a, b map[string]any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && reflect.DeepEqual(left, right)
}
