package registration

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configuration is either of a pair, as it is wanted and as it was read: without a name
// where there is none.
type configuration struct {
	kind          string
	desired, live client.Object
}

func configurationsOf(pair Pair) []configuration {
	return []configuration{
		{"validating", pair.Validating, &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		{"mutating", pair.Mutating, &admissionregistrationv1.MutatingWebhookConfiguration{}},
	}
}

func (r *Registrar) read(ctx context.Context, c configuration) error {
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(c.desired), c.live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the %s webhook configuration %s: %w", c.kind, c.desired.GetName(), err)
	}
	return nil
}

// silence leaves the entries without rules that have no CA bundle yet: the API server cannot
// call them, and would deny all that those which fail closed have rules for. It returns
// their names. The others keep their rules, as when a version adds an entry.
func silence(desired, live []entry) (silent []string) {
	for _, e := range desired {
		bundled := func(l entry) bool { return l.name == e.name && len(l.client.CABundle) > 0 }
		if !slices.ContainsFunc(live, bundled) {
			*e.rules = nil
			silent = append(silent, e.name)
		}
	}
	return silent
}

// apply writes desired by server-side apply. An entry that an earlier version registered cannot
// be dropped while the CA injector owns its bundle: it stays then, without rules.
func (r *Registrar) apply(ctx context.Context, desired client.Object, leftovers []any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return err
	}
	config := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	write := func() error {
		// The answer is read back into the object, so each attempt takes a copy.
		return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(config.DeepCopy()),
			client.FieldOwner(fieldManager), client.ForceOwnership)
	}
	err = write()
	if !apierrors.IsInvalid(err) || len(leftovers) == 0 {
		return err
	}
	entries, _, err := unstructured.NestedSlice(content, "webhooks")
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedSlice(content, append(entries, leftovers...), "webhooks"); err != nil {
		return err
	}
	return write()
}
