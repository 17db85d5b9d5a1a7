package issuing

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

var toMain = cmmeta.IssuerReference{Group: v1alpha1.GroupName, Kind: "CertificateAuthority", Name: "main"}

// requested is a CertificateRequest with conditions, each of a type and a reason.
func requested(conditions ...[2]string) *cmapi.CertificateRequest {
	object := &cmapi.CertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "r"}, Spec: cmapi.CertificateRequestSpec{IssuerRef: toMain}}
	for _, c := range conditions {
		status := cmmeta.ConditionTrue
		if c[0] == "Ready" && c[1] != cmapi.CertificateRequestReasonIssued {
			status = cmmeta.ConditionFalse
		}
		object.Status.Conditions = append(object.Status.Conditions, cmapi.CertificateRequestCondition{
			Type: cmapi.CertificateRequestConditionType(c[0]), Status: status, Reason: c[1], Message: "said before",
		})
	}
	return object
}

// TestConditionsOfRequests: what cert-manager asks of external issuers.
func TestConditionsOfRequests(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	leaf := ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}}, csrtest.Key(t).Public())
	approved := [2]string{"Approved", "x"}
	signed := outcome{phase: v1alpha1.CertificateSigned, certificate: leaf, bundle: ca.Bundle()}
	failed := outcome{phase: v1alpha1.CertificateError, reason: reasonTaken, message: "taken"}
	waits := outcome{phase: v1alpha1.CertificatePending, reason: reasonNoAuthority, message: "no CA", wait: retryError}
	elsewhere := requested(approved)
	elsewhere.Spec.IssuerRef.Group = "other.example.com"
	otherKind := requested(approved)
	otherKind.Spec.IssuerRef.Kind = "Config"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		object  *cmapi.CertificateRequest
		out     outcome
		approve bool
		denied  string
		err     error
		// reason is of Ready, decided is of Approved or Denied; both empty: left alone.
		reason, message, decided string
		failure                  bool
	}{
		"signed":                   {object: requested(approved), out: signed, reason: "Issued", message: "the CA has signed the request"},
		"signed after waiting":     {object: requested(approved, [2]string{"Ready", "Pending"}), out: signed, reason: "Issued", message: "the CA has signed the request"},
		"failed":                   {object: requested(approved), out: failed, reason: "Failed", message: "CertnameTaken: taken", failure: true},
		"waits":                    {object: requested(approved), out: waits, reason: "Pending", message: "WaitingForAuthority: no CA"},
		"denied":                   {object: requested([2]string{"Denied", "x"}), out: signed, reason: "Denied", message: "the request was denied: said before", failure: true},
		"denied after waiting":     {object: requested([2]string{"Denied", "x"}, [2]string{"Ready", "Pending"}), out: signed, reason: "Denied", message: "the request was denied: said before", failure: true},
		"not approved":             {object: requested(), out: signed},
		"issued":                   {object: requested(approved, [2]string{"Ready", "Issued"}), out: failed},
		"failed before":            {object: requested(approved, [2]string{"Ready", "Failed"}), out: signed},
		"denied before":            {object: requested([2]string{"Denied", "x"}, [2]string{"Ready", "Denied"}), out: signed},
		"invalid":                  {object: requested(approved, [2]string{"InvalidRequest", "x"}), out: signed},
		"another group":            {object: elsewhere, out: signed},
		"another kind":             {object: otherKind, out: signed},
		"to be approved":           {object: requested(), approve: true, decided: "Approved"},
		"to be denied":             {object: requested(), approve: true, denied: "no policy", decided: "Denied", message: "no policy"},
		"rules cannot be asked":    {object: requested(), approve: true, err: errors.New("no API server")},
		"others' are not approved": {object: elsewhere.DeepCopy(), approve: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "others' are not approved" {
				c.object.Status.Conditions = nil
			}
			fake := openvoxtest.NewClient(t, c.object)
			key := client.ObjectKeyFromObject(c.object)
			r := &CertificateRequestReconciler{client: fake, live: fake, events: events.NewFakeRecorder(10), attempts: afterAttempt(t, c.object, c.out), now: func() time.Time { return now }}
			if c.approve {
				r.approves = func(context.Context, builtin.Object) (builtin.Verdict, error) {
					return openvoxtest.Verdict(c.denied), c.err
				}
			}
			before := c.object.DeepCopy()
			require.NoError(t, fake.Get(t.Context(), key, before))
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			require.ErrorIs(t, err, c.err)
			after := &cmapi.CertificateRequest{}
			require.NoError(t, fake.Get(t.Context(), key, after))
			if c.reason == "" && c.decided == "" {
				require.Equal(t, before, after, "it is left alone")
				return
			}
			found := find(after, "Ready")
			if c.decided != "" {
				found = find(after, c.decided)
				require.Equal(t, cmmeta.ConditionTrue, found.Status)
				require.Len(t, after.Status.Conditions, 1)
			} else {
				require.Equal(t, c.reason, found.Reason)
				require.Equal(t, c.reason == "Issued", found.Status == cmmeta.ConditionTrue)
			}
			require.Contains(t, found.Message, c.message)
			require.Equal(t, c.reason == "Issued", len(after.Status.Certificate) > 0)
			require.Equal(t, c.reason == "Issued", len(after.Status.CA) > 0)
			require.Equal(t, c.failure, after.Status.FailureTime != nil)
			if c.reason == "Pending" {
				require.NotZero(t, result.RequeueAfter)
			}
		})
	}
}

// afterAttempt is a Runner with an attempt for an object that has ended.
func afterAttempt(t *testing.T, object client.Object, out outcome) *attempt.Runner[outcome] {
	t.Helper()
	r, key := attempt.NewRunner[outcome](time.Now), client.ObjectKeyFromObject(object)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Cleanup(func() { require.NoError(t, r.Start(ctx)) })
	r.Begin(key, key, object.GetUID(), func(context.Context) outcome { return out })
	require.Eventually(t, func() bool { _, ended := r.Outcome(key, object.GetUID()); return ended }, time.Minute, time.Millisecond)
	return r
}

func find(object *cmapi.CertificateRequest, kind string) cmapi.CertificateRequestCondition {
	for _, c := range object.Status.Conditions {
		if string(c.Type) == kind {
			return c
		}
	}
	return cmapi.CertificateRequestCondition{}
}

// TestConcerns: a request that waits does not begin the next attempt by saying so.
func TestConcerns(t *testing.T) {
	approved := [2]string{"Approved", "x"}
	pending := requested(approved, [2]string{"Ready", "Pending"})
	require.False(t, concerns(requested(approved), pending))
	require.True(t, concerns(requested(), requested(approved)))
	require.True(t, concerns(requested(), requested([2]string{"Denied", "x"})))
	changed := pending.DeepCopy()
	changed.Generation++
	require.True(t, concerns(pending, changed))
}

// TestWaitingFor: a CA that becomes ready begins those that have no outcome.
func TestWaitingFor(t *testing.T) {
	named := func(name string, object *cmapi.CertificateRequest) *cmapi.CertificateRequest {
		object.Name = name
		return object
	}
	approved := [2]string{"Approved", "x"}
	other := named("other", requested(approved))
	other.Spec.IssuerRef.Name = "another"
	c := openvoxtest.NewClient(t, named("waits", requested(approved, [2]string{"Ready", "Pending"})), named("done", requested(approved, [2]string{"Ready", "Issued"})), other)
	require.Equal(t, object.Request("ns", "waits"), waitingFor(t.Context(), c, openvoxtest.MakeExternalCA("")))

	before, after := openvoxtest.MakeExternalCA(""), openvoxtest.MakeExternalCA("")
	require.Equal(t, readiness(before), readiness(after))
	authority.ConditionsOf(after).Set(v1alpha1.ConditionCAReady, true, "x", "")
	require.NotEqual(t, readiness(before), readiness(after))
}

// laterMapper serves CertificateRequests after some questions.
type laterMapper struct {
	meta.RESTMapper
	left int
}

func (m *laterMapper) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if m.left--; m.left >= 0 {
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return &meta.RESTMapping{}, nil
}

// TestWhenServed: cert-manager may be installed later, or never.
func TestWhenServed(t *testing.T) {
	told := 0
	require.NoError(t, whenServed(t.Context(), &laterMapper{left: 3}, time.Millisecond, func(error) { told++ }))
	require.Equal(t, 3, told)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, whenServed(ctx, &laterMapper{left: 3}, time.Hour, func(error) { cancel() }), context.Canceled)
}

// TestLineage: only the next request of just the Certificate that has a certificate may
// replace it.
func TestLineage(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	keyPEM, err := newKey(1024)
	require.NoError(t, err)
	key, err := parseKey(keyPEM)
	require.NoError(t, err)
	nextPEM, err := newKey(1024)
	require.NoError(t, err)
	next, err := parseKey(nextPEM)
	require.NoError(t, err)
	otherPEM, err := newKey(1024)
	require.NoError(t, err)
	has := ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}}, key.Public())

	forNext := ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}}, next.Public())
	forNextAndBank := ca.Issue(&x509.Certificate{Subject: pkix.Name{CommonName: web}, DNSNames: []string{"bank"}}, next.Public())

	type setting struct {
		certificate     *cmapi.Certificate
		request, before *cmapi.CertificateRequest
		stored, waiting *corev1.Secret
		has             *x509.Certificate
	}
	owned := func(name string) *cmapi.CertificateRequest {
		object := requested()
		object.Name = name
		object.Annotations = map[string]string{cmapi.CertificateNameKey: "web"}
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: "web", UID: "web", Controller: new(true)}}
		return object
	}
	for name, c := range map[string]struct {
		change func(s *setting)
		want   bool
	}{
		"its renewal":                  {func(*setting) {}, true},
		"the Secret is lost":           {func(s *setting) { s.stored = nil }, true},
		"earlier requests are gone":    {func(s *setting) { s.before = nil }, true},
		"no proof is left":             {func(s *setting) { s.stored, s.before = nil, nil }, false},
		"the Secret lacks the key":     {func(s *setting) { s.before, s.stored.Data[corev1.TLSPrivateKeyKey] = nil, otherPEM }, false},
		"an earlier one of another":    {func(s *setting) { s.stored, s.before.OwnerReferences[0].UID = nil, "another" }, false},
		"an earlier one, by its name":  {func(s *setting) { s.stored, s.before.Annotations = nil, nil }, false},
		"an earlier one of another CA": {func(s *setting) { s.stored, s.before.Spec.IssuerRef.Name = nil, "another" }, false},
		"itself is no proof":           {func(s *setting) { s.stored, s.before.UID = nil, s.request.UID }, false},
		"nobody's":                     {func(s *setting) { s.request.OwnerReferences = nil }, false},
		"no controller":                {func(s *setting) { s.request.OwnerReferences[0].Controller = nil }, false},
		"another kind of owner":        {func(s *setting) { s.request.OwnerReferences[0].APIVersion = "openvox.voxpupuli.org/v1alpha1" }, false},
		"an owner of another life":     {func(s *setting) { s.request.OwnerReferences[0].UID = "before" }, false},
		"an owner that is gone":        {func(s *setting) { s.certificate = nil }, false},
		"an owner of another CA":       {func(s *setting) { s.certificate.Spec.IssuerRef.Name = "another" }, false},
		"not cert-manager's key":       {func(s *setting) { s.waiting.Data[corev1.TLSPrivateKeyKey] = otherPEM }, false},
		"no next key":                  {func(s *setting) { s.certificate.Status.NextPrivateKeySecretName = nil }, false},
		"no Secret with the next key":  {func(s *setting) { s.waiting = nil }, false},
		"the next key is garbage":      {func(s *setting) { s.waiting.Data = nil }, false},
		"a forged request": {func(s *setting) {
			s.request.Spec.Request = csrtest.Template{CommonName: web, Key: next, Forged: true}.Make(t)
		}, false},
		"for its next key, once":         {func(s *setting) { s.stored, s.before, s.has = nil, nil, forNext }, false},
		"for its next key, with others":  {func(s *setting) { s.stored, s.before, s.has = nil, nil, forNextAndBank }, true},
		"a request that is none":         {func(s *setting) { s.request.Spec.Request = nil }, false},
		"an earlier one has another one": {func(s *setting) { s.stored, s.before.Status.Certificate = nil, ca.Bundle() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &setting{
				has: has,
				certificate: &cmapi.Certificate{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"},
					Spec:       cmapi.CertificateSpec{SecretName: "stored", IssuerRef: toMain}, Status: cmapi.CertificateStatus{NextPrivateKeySecretName: new("waiting")},
				},
				request: owned("web-2"), before: owned("web-1"),
				stored:  openvoxtest.MakeSecret("stored", map[string][]byte{corev1.TLSCertKey: layout.EncodeCertificate(has), corev1.TLSPrivateKeyKey: keyPEM}),
				waiting: openvoxtest.MakeSecret("waiting", map[string][]byte{corev1.TLSPrivateKeyKey: nextPEM}),
			}
			s.request.UID, s.before.UID = "second", "first"
			s.request.Spec.Request = csrtest.Template{CommonName: web, Key: next}.Make(t)
			s.before.Status.Certificate = append(layout.EncodeCertificate(has), ca.Bundle()...)
			c.change(s)
			objects := []client.Object{s.request}
			if s.before != nil {
				objects = append(objects, s.before)
			}
			if s.certificate != nil {
				objects = append(objects, s.certificate)
			}
			for _, secret := range []*corev1.Secret{s.stored, s.waiting} {
				if secret != nil {
					objects = append(objects, secret)
				}
			}
			got, err := lineage{openvoxtest.NewClient(t, objects...), s.request}.succeeds(t.Context(), s.has)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// TestParseKey: in all forms that cert-manager writes.
func TestParseKey(t *testing.T) {
	key := csrtest.Key(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	parsed, err := parseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	require.NoError(t, err)
	require.True(t, layout.SamePublic(key.Public(), parsed.Public()))
	for _, text := range []string{"", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"} {
		_, err := parseKey([]byte(text))
		require.Error(t, err)
	}
}
