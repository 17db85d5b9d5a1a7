package openvox

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// PolicyReconciler renders the policies of a CertificateAuthority for its autosign hook,
// into a Secret that the CertificateAuthority owns: several Configs may share it.
type PolicyReconciler struct {
	client  client.Client
	secrets secrets
}

// Reconcile renders the policies of one CertificateAuthority.
func (r *PolicyReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var list v1alpha1.SigningPolicyList
	if err := r.client.List(ctx, &list, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing SigningPolicies: %w", err)
	}
	problems := map[string]string{}
	ca := &v1alpha1.CertificateAuthority{}
	err := r.client.Get(ctx, request.NamespacedName, ca)
	switch {
	case apierrors.IsNotFound(err):
		for i := range list.Items {
			problems[list.Items[i].Name] = fmt.Sprintf("there is no CertificateAuthority %s", request.Name)
		}
		err = nil
	case err != nil:
		return reconcile.Result{}, err
	case ca.DeletionTimestamp.IsZero():
		err = r.render(ctx, ca, list.Items, problems)
	}
	for i := range list.Items {
		policy := &list.Items[i]
		if policy.Spec.CertificateAuthorityRef != request.Name {
			continue
		}
		problem := problems[policy.Name]
		if err != nil && problem == "" {
			problem = err.Error()
		}
		if statusErr := r.tell(ctx, policy, problem); statusErr != nil && err == nil {
			err = statusErr
		}
	}
	return reconcile.Result{}, err
}

func (r *PolicyReconciler) render(ctx context.Context, ca *v1alpha1.CertificateAuthority, policies []v1alpha1.SigningPolicy, problems map[string]string) error {
	var certificates v1alpha1.CertificateList
	if err := r.client.List(ctx, &certificates, client.InNamespace(ca.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Certificates: %w", err)
	}
	rendered := rules.Render(ca, policies, certificates.Items, func(name, key string) (string, error) {
		value, err := r.secrets.value(ctx, ca.Namespace, name, key)
		return string(value), err
	})
	for _, policy := range rendered.Policies {
		problems[policy.Name] = policy.Error
	}
	text, err := rendered.Write()
	if err != nil {
		return err
	}
	return r.secrets.keep(ctx, ca, autosignSecret(ca.Name), labelsOf(ca.Name), map[string][]byte{policyKey: text})
}

// tell writes the status of a policy, where it changes.
func (r *PolicyReconciler) tell(ctx context.Context, policy *v1alpha1.SigningPolicy, problem string) error {
	before := policy.DeepCopy()
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPolicyRendered,
		Message: "the CA's autosign hook has the policy", ObservedGeneration: policy.Generation,
	}
	policy.Status.Phase, policy.Status.ObservedGeneration = v1alpha1.SigningPolicyActive, policy.Generation
	if problem != "" {
		policy.Status.Phase = v1alpha1.SigningPolicyError
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonError, "the policy signs nothing: "+problem
	}
	meta.SetStatusCondition(&policy.Status.Conditions, condition)
	if reflect.DeepEqual(before.Status, policy.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, policy, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of SigningPolicy %s: %w", policy.Name, err)
	}
	return nil
}
