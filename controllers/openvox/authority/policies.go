package authority

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// PolicyReconciler renders the policies of a CertificateAuthority for its autosign hook,
// into a Secret that the CertificateAuthority owns: several Configs may share it.
type PolicyReconciler struct {
	client  client.Client
	secrets Secrets
	events  events.EventRecorder
}

const reasonPoliciesRendered = "PoliciesRendered"

// Reconcile renders the policies of one CertificateAuthority, and reports of it and of
// them, whether it is there or not.
func (r *PolicyReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var list v1alpha1.SigningPolicyList
	if err := r.client.List(ctx, &list, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing SigningPolicies: %w", err)
	}
	problems := map[string]string{}
	ca := &v1alpha1.CertificateAuthority{}
	var rendered, written error
	switch err := r.client.Get(ctx, request.NamespacedName, ca); {
	case apierrors.IsNotFound(err):
		for i := range list.Items {
			problems[list.Items[i].Name] = fmt.Sprintf("there is no CertificateAuthority %s", request.Name)
		}
	case err != nil:
		return reconcile.Result{}, err
	case ca.DeletionTimestamp.IsZero():
		rendered = r.render(ctx, ca, list.Items, problems)
		written = authorityReporter(r.client, r.events, policiesManager, "Render").Write(ctx, ca, reportOnAuthority(ca, rendered))
	}
	for i := range list.Items {
		policy := &list.Items[i]
		if policy.Spec.CertificateAuthorityRef != request.Name {
			continue
		}
		problem := problems[policy.Name]
		if rendered != nil && problem == "" {
			problem = rendered.Error()
		}
		written = errors.Join(written, r.reporter().Write(ctx, policy, reportOnPolicy(policy, problem)))
	}
	if foreign := (*notOurs)(nil); errors.As(rendered, &foreign) {
		rendered = nil // the Secret's next change begins this again
	}
	return object.Result(0, errors.Join(rendered, written))
}

type policyReport = object.Report[v1alpha1.SigningPolicyStatus]

func (r *PolicyReconciler) reporter() object.Reporter[*v1alpha1.SigningPolicy, v1alpha1.SigningPolicyStatus] {
	return object.Reporter[*v1alpha1.SigningPolicy, v1alpha1.SigningPolicyStatus]{
		Client: r.client, Manager: policiesManager, Action: "Render", Events: r.events,
		Status: func(p *v1alpha1.SigningPolicy) *v1alpha1.SigningPolicyStatus { return &p.Status },
	}
}

// PolicyValues reads the Secrets that policies name.
func (s Secrets) PolicyValues(ctx context.Context, namespace string) rules.SecretValue {
	return func(name, key string) (string, error) {
		secret, err := s.Read(ctx, namespace, name)
		if err != nil {
			return "", err
		}
		value, problem, err := layout.PolicyValue(ctx, s.Client, name, secret, key)
		return value, errors.Join(problem, err)
	}
}

func (r *PolicyReconciler) render(ctx context.Context, ca *v1alpha1.CertificateAuthority, policies []v1alpha1.SigningPolicy, problems map[string]string) error {
	certificates, err := layout.CertificatesIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return err
	}
	rendered := rules.Render(ca, policies, certificates, r.secrets.PolicyValues(ctx, ca.Namespace))
	configs, err := layout.ConfigsIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return err
	}
	servers, err := layout.ServersIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return err
	}
	// Policies win against a program, unless the files of the Config are not rendered again.
	replacing := rules.AutosignConfigs(ca.Name, slices.DeleteFunc(slices.Clone(configs), func(c v1alpha1.Config) bool { return !pausing.IsPaused(&c) }), servers)
	for _, policy := range rendered.Policies {
		problems[policy.Name] = policy.Error
		if policy.Error == "" && len(replacing) > 0 {
			problems[policy.Name] = fmt.Sprintf("Config %s has spec.puppet.autosignCommand, which decides about agents' requests in its place while the Config is paused; remove the annotation %s", replacing[0], v1alpha1.PausedAnnotation)
		}
	}
	text, err := rendered.Write()
	if err != nil {
		return err
	}
	name, data := layout.AutosignSecret(ca.Name), map[string][]byte{layout.PolicyFile: text, foreignPolicyKey: nil}
	err = r.secrets.Keep(ctx, ca, name, layout.ObjectLabels(ca.Name), data)
	if foreign := (*notOurs)(nil); !errors.As(err, &foreign) {
		return err
	}
	if taken, failed := r.takeOver(ctx, ca, name); failed != nil || !taken {
		return cmp.Or(failed, err)
	}
	return r.secrets.Keep(ctx, ca, name, layout.ObjectLabels(ca.Name), data)
}

// takeOver has a CA control the Secret of its policies where openvox-operator has made it,
// which has a Config of the CA control it: it would go with that Config.
func (r *PolicyReconciler) takeOver(ctx context.Context, ca *v1alpha1.CertificateAuthority, name string) (taken bool, err error) {
	secret, err := r.secrets.Read(ctx, ca.Namespace, name)
	if err != nil || secret == nil || secret.Labels[layout.ManagedByLabel] != layout.ManagedBy {
		return false, err
	}
	configs, err := layout.ConfigsIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(configs, func(c v1alpha1.Config) bool {
		return c.Spec.AuthorityRef == ca.Name && metav1.IsControlledBy(secret, &c)
	})
	if i < 0 {
		return false, nil
	}
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == configs[i].UID })
	if err := controllerutil.SetControllerReference(ca, secret, r.client.Scheme()); err != nil {
		return false, err
	}
	if err := r.client.Update(ctx, secret, client.FieldOwner(secretsManager)); err != nil { // of this version only
		return false, fmt.Errorf("taking Secret %s over from Config %s: %w", name, configs[i].Name, err)
	}
	return true, nil
}

// reportOnAuthority reports on a CA whether its hook reads the policies. A hook that reads a
// foreign Secret signs all requests that the Secret permits.
func reportOnAuthority(ca *v1alpha1.CertificateAuthority, problem error) authorityReport {
	reason, message := reasonPoliciesRendered, "the SigningPolicies are in Secret "+layout.AutosignSecret(ca.Name)
	var foreign *notOurs
	switch {
	case errors.As(problem, &foreign):
		reason, message = reasonNotOwned, "the CA's autosign hook reads policies that are not the SigningPolicies': "+problem.Error()
	case object.Passes(problem):
		return authorityReport{} // it is tried again
	case problem != nil:
		reason, message = reasonNotWritten, "the CA's autosign hook may read other policies than the SigningPolicies: "+problem.Error()
	}
	next := ca.DeepCopy()
	ConditionsOf(next).Set(v1alpha1.ConditionPoliciesRendered, problem == nil, reason, message)
	if known := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionCAReady) != nil || meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionInitialized) != nil; known {
		next.Status.Phase = phaseOf(next)
	}
	return authorityReport{Status: &next.Status}
}

// reportOnPolicy says whether a policy signs.
func reportOnPolicy(policy *v1alpha1.SigningPolicy, problem string) policyReport {
	next := policy.Status.DeepCopy()
	phase, reason, message := v1alpha1.SigningPolicyActive, v1alpha1.ReasonPolicyRendered, "the policy is rendered for the CA's autosign hook"
	if spec := policy.Spec; !spec.Any && spec.Pattern == nil && len(spec.CSRAttributes) == 0 {
		message += ", and signs nothing: its spec has none of any, pattern and csrAttributes"
	}
	if problem != "" {
		phase, reason, message = v1alpha1.SigningPolicyError, v1alpha1.ReasonError, "the policy signs nothing: "+problem
	}
	next.Phase, next.ObservedGeneration = phase, policy.Generation
	object.Conditions{List: &next.Conditions, Generation: policy.Generation}.Set(v1alpha1.ConditionReady, problem == "", reason, message)
	return policyReport{Status: next}
}
