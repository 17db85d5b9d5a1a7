package issuing

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/certificates"
)

// inClusterSite sets up its CA.
type inClusterSite struct{ *openvoxtest.Site }

func newInClusterSite(t *testing.T, objects ...client.Object) *inClusterSite {
	t.Helper()
	return &inClusterSite{openvoxtest.NewSite(t, objects...)}
}

func (s *inClusterSite) reconcile() *v1alpha1.CertificateAuthority {
	s.T.Helper()
	r := authority.NewInitializeReconciler(s.Client, authority.Secrets{Client: s.Client, Live: s.Client}, s.Applier, s.Events, func(context.Context, builtin.Object) (builtin.Verdict, error) {
		return openvoxtest.Verdict(s.Denied), s.Broken
	}, func() time.Time { return s.Now })
	_, err := r.Reconcile(s.T.Context(), openvoxtest.Main)
	require.ErrorIs(s.T, err, s.Broken)
	ca := &v1alpha1.CertificateAuthority{}
	require.NoError(s.T, s.Client.Get(s.T.Context(), openvoxtest.Main.NamespacedName, ca))
	return ca
}

// TestTurns: the Certificates that administer a CA are replaced one at a time. Other
// Certificates do not wait.
func TestTurns(t *testing.T) {
	s := newInClusterSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	s.FillCA(fake, "main-internal", "main-internal.ns.svc")
	s.reconcile()
	r := CertificateReconciler{client: s.Client, secrets: authority.Secrets{Client: s.Client, Live: s.Client}}
	begin := func(ctx context.Context, name string) (end func()) {
		i, err := r.issuance(ctx, certificates.MakeCertificate(name, "x").Obj())
		require.NoError(t, err)
		return i.end
	}
	for _, name := range []string{"main-operator-signing", "main-operator-standby", "main-server"} {
		end := begin(t.Context(), name)
		begin(t.Context(), "web")()
		r.locks.acquire(t.Context(), client.ObjectKey{Namespace: "ns", Name: "other"})()
		for _, other := range []string{"main-operator-signing", "main-operator-standby", "main-server"} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			begin(ctx, other)()
			require.Error(t, ctx.Err(), "%s has waited for %s", other, name)
			cancel()
		}
		end()
	}
	// Nor does one keep its turn that the CA's Secrets come to nothing for.
	require.NoError(t, s.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "main-ca"}}))
	for range 2 {
		_, err := r.issuance(t.Context(), certificates.MakeCertificate("main-server", "x").Obj())
		require.Error(t, err)
	}
}

// TestServerPairIsMounted: the certificate that administers a CA is never mounted in other Pods.
func TestServerPairIsMounted(t *testing.T) {
	s := newInClusterSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	pair := s.FillCA(openvoxtest.NewCA(t), "main-internal", "main-internal.ns.svc")
	s.reconcile()
	certificate := &v1alpha1.Certificate{}
	require.True(t, s.Get("main-server", certificate))
	certificate.UID = "server"
	// It has that of another CA, of which it was before.
	theirs := openvoxtest.NewPair(t, openvoxtest.NewCA(t), &x509.Certificate{Subject: pkix.Name{CommonName: "x.example.com"}})
	certificate.Status.SerialNumber = layout.Serial(openvoxtest.CertificateOf(t, theirs))
	secret := openvoxtest.MakeSecret("main-server-tls", theirs)
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Certificate", Name: "main-server", UID: "server", Controller: new(true)}}
	require.NoError(t, s.Client.Create(t.Context(), secret))
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "main-server-tls"}}}},
	}}}}}}
	plain := template.DeepCopy()
	plain.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "main-server-tls"}}
	caServer := template.DeepCopy()
	caServer.Labels = map[string]string{layout.CAServerLabel: "true"}
	r := &CertificateReconciler{client: s.Client, secrets: authority.Secrets{Client: s.Client, Live: s.Client}, now: time.Now, keys: newKeyMaker(1024), admit: func(context.Context, builtin.Object) (builtin.Verdict, error) { return builtin.Verdict{}, nil }}
	named := metav1.ObjectMeta{Namespace: "ns", Name: "theirs"}
	for what, workload := range map[string]client.Object{
		"Server theirs":   &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Template: *plain}},
		"Database theirs": &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Template: template}},
	} {
		require.NoError(t, s.Client.Create(t.Context(), workload))
		out := r.issue(t.Context(), certificate.DeepCopy())
		require.Equal(t, reasonMounted, out.reason)
		require.Contains(t, out.message, what+" has Secret main-server-tls in its Pods")
		require.NoError(t, s.Client.Delete(t.Context(), workload))
	}
	require.NoError(t, s.Client.Create(t.Context(), &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Template: *caServer}}))
	require.Equal(t, v1alpha1.CertificateSigned, r.issue(t.Context(), certificate.DeepCopy()).phase)
	require.True(t, s.Get("main-server-tls", secret))
	require.Equal(t, string(pair[layout.CertificateFile]), string(secret.Data[layout.CertificateFile]))
}

// TestAChangeDuringAnAttempt: what changes while a Certificate is looked at is looked at afterwards,
// and not at the next check.
func TestAChangeDuringAnAttempt(t *testing.T) {
	s := newInClusterSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	s.FillCA(openvoxtest.NewCA(t), "main-internal", "main-internal.ns.svc")
	s.reconcile()
	certificate := &v1alpha1.Certificate{}
	require.True(t, s.Get("main-server", certificate))
	judged := make(chan struct{})
	r := &CertificateReconciler{
		client: s.Client, secrets: authority.Secrets{Client: s.Client, Live: s.Client}, events: s.Events, attempts: attempt.NewRunner[outcome](time.Now), now: time.Now, keys: newKeyMaker(1024),
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			<-judged
			return builtin.Verdict{}, nil
		},
	}
	key := client.ObjectKeyFromObject(certificate)
	reconciled := func() time.Duration {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		require.NoError(t, err)
		return result.RequeueAfter
	}
	for _, events := range []int{0, 1, 0} {
		reconciled()
		for range events {
			reconciled()
		}
		judged <- struct{}{}
		require.Eventually(t, func() bool { _, ended := r.attempts.Outcome(key, certificate.UID); return ended }, time.Minute, time.Millisecond)
		if events > 0 {
			require.Equal(t, object.RetryDelay, reconciled())
		} else {
			require.Greater(t, reconciled(), object.RetryDelay)
		}
	}
}

// TestRights: only the CA's own server may have a certificate with an extension that grants
// rights. Any other such certificate is reissued.
func TestRights(t *testing.T) {
	fake := openvoxtest.NewCA(t)
	value, err := asn1.MarshalWithParams("true", "utf8")
	require.NoError(t, err)
	for last, rights := range map[[2]int]bool{{3, 39}: true, {3, 13}: true, {1, 13}: false} {
		oid := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, last[0], last[1]}
		stored := openvoxtest.CertificateOf(t, openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "web"}, ExtraExtensions: []pkix.Extension{{Id: oid, Value: value}}}))
		i := &issuance{certificate: certificates.MakeCertificate("web", "web").Obj(), authority: &authority.Connection{Bundle: fake.Bundle()}}
		require.Equal(t, rights, i.outdated(stored) != "", oid)
		i.server = true
		require.Empty(t, i.outdated(stored), oid)
	}
}

// TestAdopt: the server of a CA has its first certificate from the setup Job, before the
// CA answers; a pair that was replaced since, or is another's, is not taken.
func TestAdopt(t *testing.T) {
	s := newInClusterSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	pair := s.FillCA(fake, "main-internal", "main-internal.ns.svc")
	ca := s.reconcile()
	r := &CertificateReconciler{client: s.Client, secrets: authority.Secrets{Client: s.Client, Live: s.Client}, now: time.Now, keys: newKeyMaker(1024), admit: func(context.Context, builtin.Object) (builtin.Verdict, error) { return builtin.Verdict{}, nil }}
	issue := func(name, certname, known string) outcome {
		return r.issue(t.Context(), certificates.MakeCertificate(name, certname).UID("1").DNSNames("main-internal.ns.svc").Issued(known).Obj())
	}
	for _, other := range []string{"server", "a"} {
		require.Equal(t, v1alpha1.CertificatePending, issue(other, "main-internal", "").phase, "whoever comes first administers nothing")
		require.False(t, s.Get(other+"-tls", &corev1.Secret{}))
	}
	out := issue("main-server", "main-internal", "")
	require.Equal(t, v1alpha1.CertificateSigned, out.phase, out.message)
	secret := &corev1.Secret{}
	require.True(t, s.Get("main-server-tls", secret))
	require.Equal(t, pair[layout.KeyFile], secret.Data[layout.KeyFile])
	out = issue("web", "web", "")
	require.Equal(t, v1alpha1.CertificatePending, out.phase, "a CA that has not started yet is no error")
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("main-server-tls", nil)))
	require.Equal(t, v1alpha1.CertificatePending, issue("main-server", "main-internal", "99").phase, "it has been replaced since")

	// A revoked pair is of no use, neither to a server nor to sign with.
	a, err := authority.Connect(t.Context(), r.secrets, ca, "")
	require.NoError(t, err)
	require.NotNil(t, a.Admin)
	fake.Revoked = append(fake.Revoked, openvoxtest.CertificateOf(t, pair).SerialNumber)
	require.True(t, s.Get("main-ca-crl", secret))
	secret.Data[layout.CRLFile] = fake.List(2)
	require.NoError(t, s.Client.Update(t.Context(), secret))
	require.Equal(t, v1alpha1.CertificatePending, issue("main-server", "main-internal", "").phase)
	a, err = authority.Connect(t.Context(), r.secrets, ca, "")
	require.NoError(t, err)
	require.Nil(t, a.Admin)
}
