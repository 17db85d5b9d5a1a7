package openvox

import (
	"context"
	"errors"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/test/certificates"
)

// TestTwoCertificatesOfOneCertname: if both are created concurrently, the older one keeps the
// certname, and the denial of the other names it.
func TestTwoCertificatesOfOneCertname(t *testing.T) {
	snapshot, err := rules.New()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	certificate := func(name string, created int64) *v1alpha1.Certificate {
		return certificates.MakeCertificate(name, "web").UID(types.UID(name)).Created(created).Obj()
	}
	older, younger := certificate("z", 1), certificate("a", 2)
	s := &admitter{
		cached:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(older, younger).Build(),
		snapshot: snapshot,
	}
	said, err := s.admitCertificate(t.Context(), older)
	require.NoError(t, err)
	require.Empty(t, said.Denials)
	said, err = s.admitCertificate(t.Context(), younger)
	require.NoError(t, err)
	require.Equal(t, `spec.certname: Certificate "z" has "web" at CertificateAuthority "main" already; take another, or delete that one`, said.Message())

	// A Config that is older than a rule is denied, too.
	config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "c"}}
	said, err = s.admitConfig(t.Context(), config)
	require.NoError(t, err)
	require.Empty(t, said.Denials)
	config.Spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"autosign": "true"}}
	said, err = s.admitConfig(t.Context(), config)
	require.NoError(t, err)
	require.Contains(t, said.Message(), "this setting is rendered from")
}

// TestASecretThatCannotBeReadDecidesNothing: that the API server is busy says nothing about
// a request, whose answer would be final.
func TestASecretThatCannotBeReadDecidesNothing(t *testing.T) {
	snapshot, err := rules.New()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	ca := &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}}
	policy := &v1alpha1.SigningPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: "ns"},
		Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: "main", CSRAttributes: []v1alpha1.CSRAttribute{{
			Name: "pp_preshared_key", ValueFrom: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "key", Key: "value"}},
		}}},
	}
	request := &certmanagerv1.CertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "u"},
		Spec: certmanagerv1.CertificateRequestSpec{
			Request:   csrtest.Template{CommonName: "web"}.Make(t),
			IssuerRef: cmmeta.IssuerReference{Name: "main", Kind: "CertificateAuthority", Group: v1alpha1.GroupName},
		},
	}
	var failure error
	s := &admitter{
		direct: fake.NewClientBuilder().WithScheme(scheme).WithObjects(ca, policy).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if _, secret := object.(*corev1.Secret); secret && failure != nil {
					return failure
				}
				return c.Get(ctx, key, object, options...)
			},
		}).Build(),
		snapshot: snapshot,
	}
	said, err := s.admitRequest(t.Context(), request)
	require.NoError(t, err)
	require.Contains(t, said.Message(), "there is no Secret key", "a Secret that is missing is the user's to mend")
	failure = apierrors.NewTimeoutError("the API server is busy", 1)
	said, err = s.admitRequest(t.Context(), request)
	require.ErrorContains(t, err, "reading Secret key: Timeout: the API server is busy")
	require.False(t, said.Denied())
}

// TestRightsOfCertificates: only that of the CA's own server may say that it administers it.
func TestRightsOfCertificates(t *testing.T) {
	snapshot, err := rules.New()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	ca := &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}, Spec: v1alpha1.CertificateAuthoritySpec{ServerCertificateRef: "server"}}
	for name, want := range map[string]string{"server": "", "main-server": "only the CA's own server", "first": "only the CA's own server"} {
		certificate := certificates.MakeCertificate(name, "web").UID("1").Extensions(v1alpha1.CSRExtensions{PPCLIAuth: true}).Obj()
		s := &admitter{cached: fake.NewClientBuilder().WithScheme(scheme).WithObjects(ca, certificate).Build(), snapshot: snapshot}
		said, err := s.admitCertificate(t.Context(), certificate)
		require.NoError(t, err)
		require.Equal(t, want == "", !said.Denied(), name)
		require.Contains(t, said.Message(), want)
	}
}

// tenants are Namespaces in JSON, by name.
type tenants map[string]string

func (n tenants) Namespace(_ context.Context, name string) ([]byte, error) {
	text, ok := n[name]
	if !ok {
		return nil, errors.New("no answer")
	}
	return []byte(text), nil
}

// TestAddressesOfStoredPools: a Pool that is older than the rule, or whose permission was
// withdrawn, is denied. Without the Namespace there is an error, which is not a denial.
func TestAddressesOfStoredPools(t *testing.T) {
	t.Parallel()
	snapshot, err := rules.New()
	require.NoError(t, err)
	pool := &v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "puppet", Namespace: "ns", UID: "1"}}
	pool.Spec.Service.ExternalIPs = []string{"192.0.2.1"}
	s := &admitter{snapshot: snapshot}
	said := func(annotations string) builtin.Verdict {
		s.tenants = tenants{"ns": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns","annotations":{` + annotations + `}}}`}
		verdict, err := s.admitPool(t.Context(), pool)
		require.NoError(t, err)
		return verdict
	}
	require.Contains(t, said("").Message(), `spec.service.externalIPs[0]: namespace "ns" may not take the traffic to 192.0.2.1; an administrator allows it by an entry in annotation openvox.voxpupuli.org/allowed-external-ips`)
	require.False(t, said(`"`+v1alpha1.AllowedExternalIPsAnnotation+`":"192.0.2.0/24"`).Denied())
	s.tenants = tenants{}
	_, err = s.admitPool(t.Context(), pool)
	require.ErrorContains(t, err, "reading Namespace ns: no answer")
}

// TestNamespacesOfOpenVox: requests in other namespaces never reach the webhook.
func TestNamespacesOfOpenVox(t *testing.T) {
	for _, product := range (&admitter{}).products(true) {
		for _, condition := range product.MatchConditions {
			require.NotEqual(t, "in-a-namespace-that-is-served", condition.Name)
		}
	}
	require.Empty(t, (&admitter{}).caches(), "the kinds need not be there")
	require.Len(t, (&admitter{namespaces: []string{"a"}}).caches(), len(reviewedKinds()))
	for _, product := range (&admitter{namespaces: []string{"a", "b"}}).products(true) {
		last := product.MatchConditions[len(product.MatchConditions)-1]
		require.Equal(t, "in-a-namespace-that-is-served", last.Name, product.Entry)
		want := "request.namespace in ['a', 'b']"
		if product.Entry == "certificatesigningrequest.openvox.voxpupuli.org" {
			want = "['a', 'b'].exists(n, object.spec.signerName.startsWith('certificateauthorities.openvox.voxpupuli.org/' + n + '.'))"
		}
		require.Equal(t, want, last.Expression)
	}
}

// TestReservedNames: only the manager creates the Secrets by which a CA signs and revokes.
func TestReservedNames(t *testing.T) {
	var suffixes []string
	for _, name := range (&admitter{}).controls().Names {
		require.Equal(t, authorityKind, name.Owner)
		suffixes = append(suffixes, name.Suffix)
	}
	require.ElementsMatch(t, []string{"-autosign-policy", "-ca-revocations"}, suffixes)
}
