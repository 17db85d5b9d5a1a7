package authority

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestPolicies: an invalid policy never blocks the others, and the CertificateAuthority owns the
// rendered Secret.
func TestPolicies(t *testing.T) {
	policy := func(name, ca string, attribute *v1alpha1.CSRAttribute) *v1alpha1.SigningPolicy {
		p := &v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Generation: 1}, Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: ca, Any: attribute == nil}}
		if attribute != nil {
			p.Spec.CSRAttributes = []v1alpha1.CSRAttribute{*attribute}
		}
		return p
	}
	from := &v1alpha1.CSRAttribute{Name: "pp_preshared_key", ValueFrom: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "psk"}}}
	c := openvoxtest.NewClient(t, openvoxtest.MakeExternalCA("https://ca.example.com:8140"), policy("good", "main", nil), policy("bad", "main", from), policy("lost", "none", nil))
	r := &PolicyReconciler{client: c, secrets: Secrets{c, c}}
	reconciled := func(name string) string {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: name}})
		require.NoError(t, err)
		secret := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name + "-autosign-policy"}, secret); err != nil {
			return ""
		}
		return string(secret.Data[layout.PolicyFile])
	}
	phase := func(name string) string {
		p := &v1alpha1.SigningPolicy{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, p))
		return string(p.Status.Phase) + " " + p.Status.Conditions[0].Message
	}
	text := reconciled("main")
	require.Contains(t, text, "\n{\"name\":\"good\",\"any\":true}]")
	require.Contains(t, text, `"reserved":[".main-operator","ca.example.com","main-operator"]`)
	require.Equal(t, "Active the policy is rendered for the CA's autosign hook", phase("good"))
	require.Contains(t, phase("bad"), "Error the policy signs nothing: the value of pp_preshared_key: there is no Secret keys")

	require.NoError(t, c.Create(t.Context(), openvoxtest.MakeSecret("keys", map[string][]byte{"psk": []byte("s3cret")})))
	again := reconciled("main")
	require.Contains(t, again, `"value":"s3cret"`)
	require.Equal(t, "Active the policy is rendered for the CA's autosign hook", phase("bad"))
	require.Equal(t, again, reconciled("main"))

	external := openvoxtest.MakeExternalCA("https://other.example.com:8140")
	external.Name, external.Spec.External.TLSSecretRef = "other", "keys"
	require.NoError(t, c.Create(t.Context(), external))
	// The status of a policy does not tell which Secrets exist.
	require.NoError(t, c.Delete(t.Context(), openvoxtest.MakeSecret("keys", nil)))
	reconciled("main")
	missing := phase("bad")
	for name, change := range map[string]func(*corev1.Secret){
		"of OpenVox":                 func(s *corev1.Secret) { s.Labels = map[string]string{layout.ManagedByLabel: layout.ManagedBy} },
		"marked for a CA":            func(s *corev1.Secret) { s.Annotations = map[string]string{rules.IntermediateAnnotation: "company"} },
		"a TLS Secret":               func(s *corev1.Secret) { s.Type = corev1.SecretTypeTLS },
		"a token":                    func(s *corev1.Secret) { s.Type = corev1.SecretTypeServiceAccountToken },
		"that administers a CA":      func(*corev1.Secret) {},
		"without the key":            func(s *corev1.Secret) { s.Data = map[string][]byte{"other": []byte("s3cret")} },
		"with an empty key, for all": func(s *corev1.Secret) { s.Data["psk"] = nil },
	} {
		secret := openvoxtest.MakeSecret("keys", map[string][]byte{"psk": []byte("s3cret")})
		change(secret)
		require.NoError(t, c.Create(t.Context(), secret))
		require.NotContains(t, reconciled("main"), "s3cret", name)
		require.Equal(t, missing, phase("bad"), name)
		require.NoError(t, c.Delete(t.Context(), secret))
	}

	good := &v1alpha1.SigningPolicy{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "good"}, good))
	good.Spec.Any = false
	require.NoError(t, c.Update(t.Context(), good))
	reconciled("main")
	require.Equal(t, "Active the policy is rendered for the CA's autosign hook, but signs nothing: its spec needs any, pattern or csrAttributes", phase("good"))

	require.Empty(t, reconciled("none"))
	require.Equal(t, "Error the policy signs nothing: there is no CertificateAuthority none", phase("lost"))
}

// TestForeignAutosignPolicy: if the Secret belongs to another owner, the CA's hook uses it, and
// the CertificateAuthority reports that until the Secret is deleted.
func TestForeignAutosignPolicy(t *testing.T) {
	c := openvoxtest.NewClient(t, openvoxtest.MakeExternalCA("https://ca.example.com:8140"), openvoxtest.MakeSecret("main-autosign-policy", map[string][]byte{layout.PolicyFile: []byte("policies: [{any: true}]")}))
	recorder := events.NewFakeRecorder(10)
	r := &PolicyReconciler{client: c, secrets: Secrets{c, c}, events: recorder}
	reconciled := func() *v1alpha1.CertificateAuthority {
		_, err := r.Reconcile(t.Context(), openvoxtest.Main)
		require.NoError(t, err)
		ca := &v1alpha1.CertificateAuthority{}
		require.NoError(t, c.Get(t.Context(), openvoxtest.Main.NamespacedName, ca))
		return ca
	}
	ca := reconciled()
	ConditionsOf(ca).Set(v1alpha1.ConditionCAReady, true, "ExternalCA", "the CA answers")
	require.NoError(t, c.Status().Update(t.Context(), ca))
	ca = reconciled()
	require.Equal(t, v1alpha1.CertificateAuthorityError, ca.Status.Phase)
	require.Contains(t, state(ca, v1alpha1.ConditionPoliciesRendered), "False NotOwned the CA's autosign hook reads policies of another owner: Secret main-autosign-policy")
	require.Len(t, recorder.Events, 1, "once")
	require.Contains(t, <-recorder.Events, "Warning NotOwned")
	require.Equal(t, object.Request("ns", "main"), authorityOfAutosignSecret(t.Context(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "main-autosign-policy", Namespace: "ns"}}))
	require.Empty(t, authorityOfAutosignSecret(t.Context(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}}))

	require.NoError(t, c.Delete(t.Context(), openvoxtest.MakeSecret("main-autosign-policy", nil)))
	ca = reconciled()
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, ca.Status.Phase)
	require.Contains(t, state(ca, v1alpha1.ConditionPoliciesRendered), "True PoliciesRendered")
	require.Empty(t, recorder.Events)
}

// TestConfigsShareACA: the CA's policies belong to none of them.
func TestConfigsShareACA(t *testing.T) {
	second := openvoxtest.MakeConfig("main")
	second.Name = "second"
	policy := &v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: "main", Any: true}}
	s := newSite(t, openvoxtest.MakeConfig("main"), second, openvoxtest.MakeCA("main"), policy)
	policies := &PolicyReconciler{client: s.Client, secrets: Secrets{s.Client, s.Client}}
	_, err := policies.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err)
	secret, ca := &corev1.Secret{}, &v1alpha1.CertificateAuthority{}
	require.True(t, s.Get("main-autosign-policy", secret))
	require.True(t, s.Get("main", ca))
	require.Len(t, secret.OwnerReferences, 1)
	require.True(t, metav1.IsControlledBy(secret, ca))

	// Edited by hand, it comes back.
	want := secret.DeepCopy().Data
	secret.Data = map[string][]byte{layout.PolicyFile: []byte("policies: [{name: x, any: true}]"), foreignPolicyKey: []byte("policies: [{name: x, any: true}]")}
	require.NoError(t, s.Client.Update(t.Context(), secret))
	_, err = policies.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err)
	require.True(t, s.Get("main-autosign-policy", secret))
	require.Equal(t, want, secret.Data)
}

// TestPoliciesThatCannotBeWritten: an immutable Secret cannot delay a stricter policy, and the
// status does not report a policy as applied if its Secret cannot be written.
func TestPoliciesThatCannotBeWritten(t *testing.T) {
	policy := &v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: "main", Any: true}}
	refused := error(nil)
	c := interceptor.NewClient(openvoxtest.NewClient(t, openvoxtest.MakeCA("main"), policy), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if refused != nil {
				return refused
			}
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			have := &corev1.Secret{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), have); err == nil && have.Immutable != nil { // as the API server does
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, o.GetName(), nil)
			}
			return c.Update(ctx, o, options...)
		},
	})
	s := &site{Site: openvoxtest.NewSiteOn(t, c)}
	policies := &PolicyReconciler{client: s.Client, secrets: Secrets{s.Client, s.Client}, events: s.Events}
	reconcile := func() (text, condition string, err error) {
		_, err = policies.Reconcile(t.Context(), openvoxtest.Main)
		secret, ca := &corev1.Secret{}, &v1alpha1.CertificateAuthority{}
		s.Get("main-autosign-policy", secret)
		require.True(t, s.Get("main", ca))
		return string(secret.Data[layout.PolicyFile]), state(ca, v1alpha1.ConditionPoliciesRendered), err
	}
	text, _, err := reconcile()
	require.NoError(t, err)
	require.Contains(t, text, `"any":true`)
	secret := &corev1.Secret{}
	require.True(t, s.Get("main-autosign-policy", secret))
	secret.Immutable = new(true)
	require.NoError(t, s.Client.Update(t.Context(), secret))
	require.NoError(t, s.Client.Delete(t.Context(), policy))
	text, condition, err := reconcile()
	require.NoError(t, err)
	require.NotContains(t, text, `"any":true`)
	require.Contains(t, condition, "True PoliciesRendered")
	require.True(t, s.Get("main-autosign-policy", secret))
	require.Nil(t, secret.Immutable)
	require.NoError(t, s.Client.Delete(t.Context(), secret))

	refused = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "main-autosign-policy", errors.New("exceeded quota"))
	_, condition, err = reconcile()
	require.Error(t, err, "it is tried again")
	require.Contains(t, condition, "False NotWritten the CA's autosign hook may read outdated policies: ")
	require.Contains(t, condition, "exceeded quota")
}

// TestPoliciesOfOpenVoxOperator: openvox-operator sets a Config as the controller of the Secret;
// the CA adopts that Secret. A Secret of a Config of another CA, or of an unknown owner, is left
// unchanged.
func TestPoliciesOfOpenVoxOperator(t *testing.T) {
	ours, other, ca := openvoxtest.MakeConfig("main"), openvoxtest.MakeConfig("other"), openvoxtest.MakeExternalCA("https://ca.example.com:8140")
	ours.UID, other.Name, other.UID = "ours", "another", "other"
	reference := func(c *v1alpha1.Config) metav1.OwnerReference {
		return *metav1.NewControllerRef(c, v1alpha1.SchemeGroupVersion.WithKind("Config"))
	}
	former := reference(ours)
	former.UID = "deleted since"
	for name, secret := range map[string]struct {
		owner  metav1.OwnerReference
		labels map[string]string
		taken  bool
	}{
		"of a Config of the CA":     {reference(ours), map[string]string{layout.ManagedByLabel: layout.ManagedBy}, true},
		"of a Config of another CA": {reference(other), map[string]string{layout.ManagedByLabel: layout.ManagedBy}, false},
		"of a Config that is gone":  {former, map[string]string{layout.ManagedByLabel: layout.ManagedBy}, false},
		"somebody else's":           {reference(ours), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			made := openvoxtest.MakeSecret("main-autosign-policy", map[string][]byte{foreignPolicyKey: []byte("policies: [{any: true}]")})
			made.Labels, made.OwnerReferences = secret.labels, []metav1.OwnerReference{secret.owner}
			s := newSite(t, ca.DeepCopy(), ours.DeepCopy(), other.DeepCopy(), made)
			r := &PolicyReconciler{client: s.Client, secrets: Secrets{s.Client, s.Client}, events: s.Events}
			_, err := r.Reconcile(t.Context(), openvoxtest.Main)
			require.NoError(t, err)
			after, is := &corev1.Secret{}, &v1alpha1.CertificateAuthority{}
			require.True(t, s.Get("main-autosign-policy", after))
			require.True(t, s.Get("main", is))
			if !secret.taken {
				require.Equal(t, made.Data, after.Data)
				require.Equal(t, made.OwnerReferences, after.OwnerReferences)
				require.Contains(t, state(is, v1alpha1.ConditionPoliciesRendered), "False NotOwned")
				return
			}
			require.Len(t, after.OwnerReferences, 1, "it does not go with the Config")
			require.True(t, metav1.IsControlledBy(after, is))
			require.NotEmpty(t, after.Data[layout.PolicyFile])
			require.NotContains(t, after.Data, foreignPolicyKey)
			require.Contains(t, state(is, v1alpha1.ConditionPoliciesRendered), "True PoliciesRendered")
		})
	}
}
