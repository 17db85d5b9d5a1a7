package openvox

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

var mainKey = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "main"}}

func newAuthority(url string) *v1alpha1.CertificateAuthority {
	return &v1alpha1.CertificateAuthority{
		ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns", UID: "ca", Generation: 1},
		Spec:       v1alpha1.CertificateAuthoritySpec{CRLRefreshInterval: "1m", External: &v1alpha1.ExternalCA{URL: url}},
	}
}

func secretOf(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Data: data}
}

// TestPolicies: one bad policy never blocks the others, and what is rendered belongs to
// the CertificateAuthority.
func TestPolicies(t *testing.T) {
	policy := func(name, ca string, attribute *v1alpha1.CSRAttribute) *v1alpha1.SigningPolicy {
		p := &v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Generation: 1}, Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: ca, Any: attribute == nil}}
		if attribute != nil {
			p.Spec.CSRAttributes = []v1alpha1.CSRAttribute{*attribute}
		}
		return p
	}
	from := &v1alpha1.CSRAttribute{Name: "pp_preshared_key", ValueFrom: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "psk"}}}
	c := newClient(t, newAuthority("https://ca.example.com:8140"), policy("good", "main", nil), policy("bad", "main", from), policy("lost", "none", nil))
	r := &PolicyReconciler{client: c, secrets: secrets{c, c}}
	reconciled := func(name string) string {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: name}})
		require.NoError(t, err)
		secret := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name + "-autosign-policy"}, secret); err != nil {
			return ""
		}
		return string(secret.Data[policyKey])
	}
	phase := func(name string) string {
		p := &v1alpha1.SigningPolicy{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, p))
		return string(p.Status.Phase) + " " + p.Status.Conditions[0].Message
	}
	text := reconciled("main")
	require.Contains(t, text, "- any: true\n  name: good\n")
	require.Contains(t, text, "reserved:\n- .main-operator\n- ca.example.com\n- main-operator\n")
	require.Equal(t, "Active the policy is rendered for the CA's autosign hook", phase("good"))
	require.Contains(t, phase("bad"), "Error the policy signs nothing: the value of pp_preshared_key: reading Secret keys")

	require.NoError(t, c.Create(t.Context(), secretOf("keys", map[string][]byte{"psk": []byte("s3cret")})))
	again := reconciled("main")
	require.Contains(t, again, "value: s3cret")
	require.Equal(t, "Active the policy is rendered for the CA's autosign hook", phase("bad"))
	require.Equal(t, again, reconciled("main"))

	require.Empty(t, reconciled("none"))
	require.Equal(t, "Error the policy signs nothing: there is no CertificateAuthority none", phase("lost"))
}

// TestForeignAutosignPolicy: where somebody else's Secret stands, the CA's hook goes by it,
// and the CertificateAuthority says so until it is gone.
func TestForeignAutosignPolicy(t *testing.T) {
	c := newClient(t, newAuthority("https://ca.example.com:8140"), secretOf("main-autosign-policy", map[string][]byte{policyKey: []byte("policies: [{any: true}]")}))
	recorder := events.NewFakeRecorder(10)
	r := &PolicyReconciler{client: c, secrets: secrets{c, c}, events: recorder}
	reconciled := func() *v1alpha1.CertificateAuthority {
		_, err := r.Reconcile(t.Context(), mainKey)
		require.NoError(t, err)
		ca := &v1alpha1.CertificateAuthority{}
		require.NoError(t, c.Get(t.Context(), mainKey.NamespacedName, ca))
		return ca
	}
	ca := reconciled()
	conditionsOf(ca).Set(v1alpha1.ConditionCAReady, true, "ExternalCA", "the CA answers")
	require.NoError(t, c.Status().Update(t.Context(), ca))
	ca = reconciled()
	require.Equal(t, v1alpha1.CertificateAuthorityError, ca.Status.Phase)
	require.Contains(t, state(ca, v1alpha1.ConditionPoliciesRendered), "False NotOwned the CA's autosign hook reads policies that are not the SigningPolicies': Secret main-autosign-policy")
	require.Len(t, recorder.Events, 1, "once")
	require.Contains(t, <-recorder.Events, "Warning NotOwned")
	require.Equal(t, object.Request("ns", "main"), authorityOfAutosignSecret(t.Context(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "main-autosign-policy", Namespace: "ns"}}))
	require.Empty(t, authorityOfAutosignSecret(t.Context(), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}}))

	require.NoError(t, c.Delete(t.Context(), secretOf("main-autosign-policy", nil)))
	ca = reconciled()
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, ca.Status.Phase)
	require.Contains(t, state(ca, v1alpha1.ConditionPoliciesRendered), "True PoliciesRendered")
	require.Empty(t, recorder.Events)
}
