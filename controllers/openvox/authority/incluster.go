package authority

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// InitializeReconciler sets up in-cluster CAs. It never calls a CA.
type InitializeReconciler struct {
	client  client.Client
	secrets Secrets
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter // about the Certificate of a CA's server
	fsGroup *int64
	// externalOnly sets nothing up, and says so.
	externalOnly bool
	now          func() time.Time
}

// NewInitializeReconciler returns a reconciler that writes the objects of CAs with an applier.
func NewInitializeReconciler(c client.Client, s Secrets, applier *object.Applier, recorder events.EventRecorder, admit builtin.Admitter, now func() time.Time) *InitializeReconciler {
	return &InitializeReconciler{client: c, secrets: s, applier: applier, events: recorder, admit: admit, now: now}
}

// progress is how far a CA has come.
type progress struct {
	initialized     bool
	reason, message string
	wait            time.Duration
}

// refusalOf returns the reason of an error that an immediate retry cannot fix, and "" for any
// other error.
func refusalOf(err error) (string, error) {
	var foreign *object.Foreign
	switch {
	case errors.As(err, &foreign):
		return reasonNotOwned, err
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err) && !object.Passes(err):
		return reasonNotWritten, err
	}
	return "", err
}

// keep has an object of a CA as it is wanted.
func (r *InitializeReconciler) keep(ctx context.Context, ca *v1alpha1.CertificateAuthority, want client.Object) error {
	empty, err := r.client.Scheme().New(want.GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	have := empty.(client.Object)
	if _, err := r.applier.Apply(ctx, ours(ca), want, have); err != nil {
		return err
	}
	if len(want.GetOwnerReferences()) > 0 || !metav1.IsControlledBy(have, ca) {
		return nil
	}
	// The object was created by openvox-operator, and would be deleted together with the
	// CertificateAuthority. Applying removes no field that another manager has set.
	before := have.DeepCopyObject().(client.Object)
	have.SetOwnerReferences(slices.DeleteFunc(have.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == ca.UID }))
	if err := r.client.Patch(ctx, have, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(initializeManager)); err != nil {
		return fmt.Errorf("letting go of %s: %w", object.Describe(r.client, have), err)
	}
	return nil
}

// remove deletes what the setup has of a kind.
func (r *InitializeReconciler) remove(ctx context.Context, s inClusterCA, kind client.Object) error {
	return r.applier.Remove(ctx, ours(s.ca), client.ObjectKey{Namespace: s.ca.Namespace, Name: setupJobName(s.ca.Name)}, kind)
}

// cached reads our own Secrets without asking the API server: each change of a Certificate
// has its CA looked at.
func (r *InitializeReconciler) cached() Secrets { return Secrets{Client: r.client, Live: r.client} }

// caData is what the Secrets of a CA have, by key.
type caData map[string][]byte

// stored reads the Secrets of a CA, and ignores those with another owner.
func (r *InitializeReconciler) stored(ctx context.Context, ca *v1alpha1.CertificateAuthority) (caData, error) {
	data := caData{}
	for _, name := range keptSecrets(ca.Name) {
		secret, err := r.cached().Read(ctx, ca.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret != nil {
			maps.Copy(data, secret.Data)
		}
	}
	return data, nil
}

// hasPairFor says whether the setup Job's pair is what the CA's server needs.
func (d caData) hasPairFor(server v1alpha1.CertificateSpec) bool {
	pair := layout.StoredPair(d)
	return pair != nil && layout.IssuedBy(pair, d[layout.CAFile]) && layout.Difference(pair, server) == ""
}
