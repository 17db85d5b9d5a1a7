package serving

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// claimsAllowed refuses the volume of a CA, also of one that is deleted: its keys are on the
// volume, and code can read them. Pods are created once the claims exist: a claim that is created
// later may be that of a new CA.
func (r *ServerReconciler) claimsAllowed(ctx context.Context, f serverFacts) error {
	var names []string
	for _, source := range f.code() {
		if source.ClaimName != "" {
			names = append(names, source.ClaimName)
		}
	}
	code := len(names)
	for i, name := range append(names, rules.ClaimsOf(&f.server.Spec)...) {
		claim, err := layout.FindClaim(ctx, r.client, r.secrets.live, f.server.Namespace, name)
		if err != nil {
			return err
		}
		field := "spec.code"
		if i >= code {
			field = "spec.extraVolumes"
		}
		switch claim {
		case layout.CAVolume:
			return &obstacle{phase: v1alpha1.ServerError, reason: reasonCodeNotAllowed, wait: conflictRetry, message: fmt.Sprintf(
				"claim %s is the volume of a CA, with its keys, and is not mounted; name another in %s", name, field)}
		case layout.MissingClaim:
			return &obstacle{phase: v1alpha1.ServerPending, reason: reasonClaimNotFound, wait: retryPending, message: fmt.Sprintf(
				"%s: there is no PersistentVolumeClaim %s; create it, or name another", field, name)}
		}
	}
	return nil
}

// findSecrets finds the missing Secrets of a Server. Pods are created once the required ones exist,
// so that the rules have reviewed each Secret. Existing Pods that refer to a missing Secret are
// updated without it: delaying the update would not help.
func (r *ServerReconciler) findSecrets(ctx context.Context, f *serverFacts) error {
	f.missing = map[string]bool{}
	for _, name := range rules.SecretsOf(&f.server.Spec) {
		secret, err := layout.ReadSecret(ctx, r.secrets.live, f.server.Namespace, name)
		if err != nil {
			return err
		}
		if secret != nil {
			continue
		}
		field := requiredBy(&f.server.Spec, name)
		if field == "" {
			f.missing[name] = true
			continue
		}
		lacking := &obstacle{phase: v1alpha1.ServerPending, reason: reasonSecretNotFound, message: fmt.Sprintf("%s: there is no Secret %s; create it, or set optional: true", field, name)}
		d, err := r.deploymentOf(ctx, f.server)
		if err != nil {
			return err
		}
		if d == nil || ptr.Deref(d.Spec.Replicas, 1) == 0 || !slices.Contains(addedBy(d).secrets, name) {
			return lacking
		}
		if f.lacking == nil {
			f.lacking = lacking
		}
	}
	return nil
}

// deploymentOf is the Deployment of a Server: nil if there is none.
func (r *ServerReconciler) deploymentOf(ctx context.Context, server *v1alpha1.Server) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(server), deployment)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Deployment %s: %w", server.Name, err)
	}
	if err != nil || !metav1.IsControlledBy(deployment, server) {
		return nil, nil
	}
	return deployment, nil
}

// added are the names of the objects that a Server has added to the Pods of a Deployment.
type added struct{ secrets, claims []string }

func addedBy(d *appsv1.Deployment) (a added) {
	for _, volume := range d.Spec.Template.Spec.Volumes {
		if volume.Name != "code" && !strings.HasPrefix(volume.Name, "code-") && !strings.HasPrefix(volume.Name, extraPrefix) {
			continue
		}
		if volume.PersistentVolumeClaim != nil {
			a.claims = append(a.claims, volume.PersistentVolumeClaim.ClaimName)
		}
		if volume.Secret != nil {
			a.secrets = append(a.secrets, volume.Secret.SecretName)
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil {
					a.secrets = append(a.secrets, source.Secret.Name)
				}
			}
		}
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, variable := range container.Env {
			if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				a.secrets = append(a.secrets, variable.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, source := range container.EnvFrom {
			if source.SecretRef != nil {
				a.secrets = append(a.secrets, source.SecretRef.Name)
			}
		}
	}
	return a
}

// stopForbidden scales the Deployment of a rejected Server to zero if its Pods refer to a forbidden
// object, or would refer to one when they start, and reports that in o.
func (r *ServerReconciler) stopForbidden(ctx context.Context, server *v1alpha1.Server, o *obstacle) error {
	if r.externalOnly {
		return nil
	}
	d, err := r.deploymentOf(ctx, server)
	if err != nil || d == nil {
		return err
	}
	what, err := r.forbiddenIn(ctx, d)
	if err != nil || what == "" {
		return err
	}
	o.message += fmt.Sprintf("; Deployment %s is scaled to zero, since its Pods refer to %s", d.Name, what)
	if ptr.Deref(d.Spec.Replicas, 1) == 0 {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"replicas":0}}`, d.UID))
	if err := r.client.Patch(ctx, d.DeepCopy(), patch, client.FieldOwner(serversManager)); err != nil {
		return fmt.Errorf("scaling Deployment %s to zero: %w", d.Name, err)
	}
	return nil
}

// forbiddenIn returns the reference of a Deployment's Pods that no Server may have, or "".
func (r *ServerReconciler) forbiddenIn(ctx context.Context, d *appsv1.Deployment) (string, error) {
	refers := addedBy(d)
	for _, name := range refers.claims {
		claim, err := layout.FindClaim(ctx, r.client, r.secrets.live, d.Namespace, name)
		switch {
		case err != nil:
			return "", err
		case claim == layout.CAVolume:
			return fmt.Sprintf("claim %s, the volume of a CA", name), nil
		case claim == layout.MissingClaim && d.Status.ReadyReplicas == 0:
			return fmt.Sprintf("claim %s, which does not exist and may become the volume of a CA", name), nil
		}
	}
	for _, name := range refers.secrets {
		secret, err := layout.ReadSecret(ctx, r.secrets.live, d.Namespace, name)
		if err != nil {
			return "", err
		}
		if secret == nil {
			continue
		}
		what, err := layout.ReservedKeyIn(ctx, r.client, secret)
		if err != nil {
			return "", err
		}
		if what != "" {
			return fmt.Sprintf("Secret %s, which %s", name, what), nil
		}
	}
	return "", nil
}
