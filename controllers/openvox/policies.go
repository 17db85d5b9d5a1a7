package openvox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
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
	events  events.EventRecorder
}

const reasonPoliciesRendered = "PoliciesRendered"

// Reconcile renders the policies of one CertificateAuthority.
func (r *PolicyReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var list v1alpha1.SigningPolicyList
	if err := r.client.List(ctx, &list, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing SigningPolicies: %w", err)
	}
	problems := map[string]string{}
	result, tellErr := reconcile.Result{}, error(nil)
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
		if result.RequeueAfter, tellErr = r.tellAuthority(ctx, ca, err); err == nil {
			err = tellErr
		}
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
	if foreign := (*notOurs)(nil); errors.As(err, &foreign) {
		return result, nil // the Secret's next change begins this again
	}
	return result, err
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
	return r.secrets.keep(ctx, ca, autosignSecret(ca.Name), labelsOf(ca.Name), map[string][]byte{policyKey: text, foreignPolicyKey: nil})
}

// tellAuthority says at a CA whether its hook has the policies: one that reads somebody
// else's signs what that permits.
func (r *PolicyReconciler) tellAuthority(ctx context.Context, ca *v1alpha1.CertificateAuthority, problem error) (again time.Duration, err error) {
	reason, message := reasonPoliciesRendered, "the SigningPolicies are in Secret "+autosignSecret(ca.Name)
	var foreign *notOurs
	switch {
	case errors.As(problem, &foreign):
		reason, message = reasonNotOwned, "the CA's autosign hook reads policies that are not the SigningPolicies': "+problem.Error()
	case problem != nil:
		return 0, nil // it is tried again
	}
	before := ca.DeepCopy()
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionPoliciesRendered)
	setCondition(&ca.Status.Conditions, v1alpha1.ConditionPoliciesRendered, problem == nil, reason, message, ca.Generation)
	if known := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionCAReady) != nil || meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionInitialized) != nil; known {
		ca.Status.Phase = phaseOf(ca)
	}
	written, err := patchStatus(ctx, r.client, before, ca)
	if err != nil || !written {
		return notStarted, err
	}
	if problem != nil && (was == nil || was.Reason != reason) {
		r.events.Eventf(ca, nil, corev1.EventTypeWarning, reason, "Render", "%s", message)
	}
	return 0, nil
}

// tell writes the status of a policy, where it changes.
func (r *PolicyReconciler) tell(ctx context.Context, policy *v1alpha1.SigningPolicy, problem string) error {
	before := policy.DeepCopy()
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPolicyRendered,
		Message: "the policy is rendered for the CA's autosign hook", ObservedGeneration: policy.Generation,
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
