package authority

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// refreshing is CertificateAuthority main and what asks it, by a clock of its own.
type refreshing struct {
	t        *testing.T
	ca       *openvoxtest.CA
	client   client.Client
	recorder *events.FakeRecorder
	r        *AuthorityReconciler
	now      time.Time
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newRefreshing(t *testing.T, url string, ca *openvoxtest.CA) *refreshing {
	t.Helper()
	f := &refreshing{t: t, ca: ca, recorder: events.NewFakeRecorder(100), now: time.Now()}
	f.client = openvoxtest.NewClient(t, openvoxtest.MakeExternalCA(url), openvoxtest.MakeSecret("main-ca", map[string][]byte{layout.CAFile: ca.Bundle()}))
	clock := func() time.Time { return f.now }
	f.r = newAuthorityReconciler(f.client, Secrets{f.client, f.client}, f.recorder, newCRLMetrics(clock), clock)
	f.r.revoker.Pause = 0
	f.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, f.r.refreshes.Source().Start(ctx, f.queue))
	ended := make(chan error, 1)
	go func(start func(context.Context) error) { ended <- start(ctx) }(f.r.refreshes.Start)
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return f
}

// reconcile is one look at the CA, and a second one where the first has asked it.
func (f *refreshing) reconcile() (*v1alpha1.CertificateAuthority, time.Duration) {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), openvoxtest.Main)
	for ; err == nil && result.RequeueAfter == 0; result, err = f.r.Reconcile(f.t.Context(), openvoxtest.Main) {
		f.woken()
	}
	require.NoError(f.t, err)
	object := &v1alpha1.CertificateAuthority{}
	require.NoError(f.t, f.client.Get(f.t.Context(), openvoxtest.Main.NamespacedName, object))
	return object, result.RequeueAfter
}

// woken waits until the CA is to be looked at.
func (f *refreshing) woken() {
	f.t.Helper()
	request, _ := f.queue.Get()
	f.queue.Done(request)
	require.Equal(f.t, openvoxtest.Main, request)
}

// later reconciles again after the requested delay.
func (f *refreshing) later() (*v1alpha1.CertificateAuthority, time.Duration) {
	f.t.Helper()
	f.now = f.now.Add(time.Minute)
	return f.reconcile()
}

func (f *refreshing) stored() *corev1.Secret {
	f.t.Helper()
	secret := &corev1.Secret{}
	require.NoError(f.t, f.client.Get(f.t.Context(), client.ObjectKey{Namespace: "ns", Name: "main-ca-crl"}, secret))
	return secret
}

func (f *refreshing) told() (words []string) {
	for len(f.recorder.Events) > 0 {
		words = append(words, <-f.recorder.Events)
	}
	return words
}

func (f *refreshing) calls() int { return f.ca.Count("GET certificate_revocation_list/ca") }

// state is a condition in one line.
func state(ca *v1alpha1.CertificateAuthority, kind string) string {
	condition := meta.FindStatusCondition(ca.Status.Conditions, kind)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason + " " + condition.Message
}

// TestCRL: the CRL is refreshed on its interval, never replaced by an older one, and stored
// without changing other keys of the Secret.
func TestCRL(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	ca.CRL = 5
	object, wait := f.reconcile()
	require.Equal(t, time.Minute, wait)
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, object.Status.Phase)
	require.NotNil(t, object.Status.NotAfter)
	require.NotNil(t, object.Status.CRL.NextUpdate)
	require.Contains(t, state(object, ConditionCRLCurrent), "True Refreshed the CRL counts until ")
	first := f.stored().Data[layout.CRLFile]
	require.Equal(t, 1, f.calls())
	f.reconcile()
	f.now = f.now.Add(59 * time.Second)
	_, wait = f.reconcile()
	require.Equal(t, time.Second, wait.Round(time.Second))
	require.Equal(t, 1, f.calls(), "not before its time")

	secret := f.stored()
	secret.Data["infra_crl.pem"] = []byte("infra")
	require.NoError(t, f.client.Update(t.Context(), secret))
	ca.CRL = 6
	f.now = f.now.Add(time.Second)
	f.reconcile()
	require.Equal(t, "infra", string(f.stored().Data["infra_crl.pem"]))
	second := f.stored().Data[layout.CRLFile]
	require.NotEqual(t, first, second)
	require.Len(t, f.told(), 1, "that the CA answers")

	ca.CRL = 4
	object, _ = f.later()
	require.Contains(t, state(object, v1alpha1.ConditionCAReady), "False CRLRefused the CRL of CN=Puppet CA is older (number 4 of ")
	require.Contains(t, state(object, ConditionCRLCurrent), "False CRLRefused ")
	require.Equal(t, second, f.stored().Data[layout.CRLFile])
	f.later()
	require.Len(t, f.told(), 1, "once")

	secret = f.stored()
	secret.Data[layout.CRLFile] = []byte("edited by hand")
	require.NoError(t, f.client.Update(t.Context(), secret))
	object, _ = f.later()
	require.Contains(t, state(object, v1alpha1.ConditionCAReady), "True")
	require.Contains(t, state(object, ConditionCRLCurrent), "True Refreshed")
	_, err := puppet.ParseCRLs(f.stored().Data[layout.CRLFile])
	require.NoError(t, err)
}

// TestCRLRefused: anything but a CRL of the CA is rejected, and the stored one stays.
func TestCRLRefused(t *testing.T) {
	ca, other := openvoxtest.NewCA(t), openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(ca.List(5))
		return true
	}
	f.reconcile()
	kept := f.stored().Data[layout.CRLFile]
	redirected := false
	other.Answer = func(http.ResponseWriter, *http.Request) bool { redirected = true; return false }
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(code)
		}
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"another CA's": {func(w http.ResponseWriter) { _, _ = w.Write(other.List(9)) }, "CRLRefused the CRL of CN=Puppet CA is signed by none of the CA's certificates"},
		"its own and another CA's": {func(w http.ResponseWriter) { _, _ = w.Write(append(ca.List(9), other.List(9)...)) },
			"CRLRefused the CRL of CN=Puppet CA is signed by none"},
		"a certificate": {func(w http.ResponseWriter) { _, _ = w.Write(ca.Bundle()) }, "CRLRefused reading the CRL: something else stands among the CRLs"},
		"half a CRL":    {func(w http.ResponseWriter) { _, _ = w.Write(ca.List(9)[:100]) }, "CRLRefused reading the CRL: the answer is not a CRL"},
		"nothing":       {func(http.ResponseWriter) {}, "CRLRefused reading the CRL: the answer is not a CRL"},
		"HTML": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>log in</html>"))
		}, "NotAnswering fetching the CRL: the answer is a web page"},
		"5xx":         {status(http.StatusServiceUnavailable), "NotAnswering fetching the CRL: the CA answers 503"},
		"no CRL":      {status(http.StatusNotFound), "NotAnswering fetching the CRL: the CA does not have it"},
		"elsewhere":   {status(http.StatusFound), "NotAnswering fetching the CRL: the CA answers 302"},
		"not changed": {status(http.StatusNotModified), "NotAnswering fetching the CRL: the CA answers 304"},
		"too much": {func(w http.ResponseWriter) {
			block := bytes.Repeat([]byte("x"), 1<<20)
			for range 11 {
				_, _ = w.Write(block)
			}
		}, "NotAnswering fetching the CRL: the answer is longer than 10485760 bytes"},
		"more than a Secret holds": {func(w http.ResponseWriter) {
			_, _ = w.Write(append(ca.List(9), bytes.Repeat([]byte("\n"), corev1.MaxSecretSize)...))
		}, "CRLRefused the CRL has "},
		"reset": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("-----BEGIN X509 CRL-----\n"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "NotAnswering fetching the CRL: reading the answer: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { c.answer(w); return true }
			require.NoError(t, f.r.forget(t.Context(), openvoxtest.Main.NamespacedName))
			f.now = f.now.Add(time.Minute)
			object, wait := f.reconcile()
			require.Contains(t, state(object, v1alpha1.ConditionCAReady), "False "+c.want)
			require.LessOrEqual(t, wait, firstRetry)
			require.Positive(t, wait)
			require.Equal(t, kept, f.stored().Data[layout.CRLFile])
		})
	}
	require.False(t, redirected)
}

// TestCRLOfAChain: each list is verified by its own issuer, and none may vanish.
func TestCRLOfAChain(t *testing.T) {
	ca, above := openvoxtest.NewCA(t), openvoxtest.NewCA(t, func(f *openvoxtest.CA) { f.Name = "Root" })
	f := newRefreshing(t, ca.URL, ca)
	bundle := &corev1.Secret{}
	require.NoError(t, f.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "main-ca"}, bundle))
	bundle.Data[layout.CAFile] = append(ca.Bundle(), above.Bundle()...)
	require.NoError(t, f.client.Update(t.Context(), bundle))
	var text []byte
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write(text); return true }

	text = append(ca.List(5), above.List(5)...)
	object, _ := f.reconcile()
	require.Contains(t, state(object, ConditionCRLCurrent), "True")
	require.Equal(t, text, f.stored().Data[layout.CRLFile])
	kept := text

	text = append(ca.List(6), above.List(4)...)
	object, _ = f.later()
	require.Contains(t, state(object, ConditionCRLCurrent), "False CRLRefused the CRL of CN=Root is older")
	text = ca.List(6)
	object, _ = f.later()
	require.Contains(t, state(object, ConditionCRLCurrent), "False CRLRefused the CRL of CN=Root is missing")
	require.Equal(t, kept, f.stored().Data[layout.CRLFile])
}

// TestCRLIsNotSentTwice: a CA that says 304 has answered.
func TestCRLIsNotSentTwice(t *testing.T) {
	for _, etag := range []string{"", `"a"`} {
		t.Run("etag "+etag, func(t *testing.T) {
			ca := openvoxtest.NewCA(t)
			ca.ETag, ca.Changed = etag, time.Now().Add(-time.Hour)
			f := newRefreshing(t, ca.URL, ca)
			sent := 0
			ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("If-Modified-Since") == "" && r.Header.Get("If-None-Match") == "" {
					sent++
				}
				return false
			}
			object, _ := f.reconcile()
			first := object.Status.CRL
			kept := f.stored().Data[layout.CRLFile]
			object, wait := f.later()
			require.Equal(t, time.Minute, wait)
			require.Equal(t, 1, sent)
			require.Equal(t, kept, f.stored().Data[layout.CRLFile])
			require.True(t, object.Status.CRL.ThisUpdate.Equal(first.ThisUpdate))
			require.True(t, object.Status.CRL.Refreshed.After(first.Refreshed.Time), "it is a success")
			require.Contains(t, state(object, v1alpha1.ConditionCAReady), "True")

			secret := f.stored()
			secret.Data[layout.CRLFile] = []byte("edited by hand")
			require.NoError(t, f.client.Update(t.Context(), secret))
			f.later()
			require.Equal(t, 2, sent, "what is stored is another")
			require.NotEqual(t, "edited by hand", string(f.stored().Data[layout.CRLFile]))

			ca.CRL, ca.ETag, ca.Changed = 7, "", time.Now().Add(time.Hour)
			kept = f.stored().Data[layout.CRLFile]
			f.later()
			require.NotEqual(t, kept, f.stored().Data[layout.CRLFile], "it has changed")

			ca.Changed = time.Now().Add(-time.Hour)
			f.now = f.now.Add(2 * wholeAgain)
			f.reconcile()
			require.Equal(t, 3, sent, "now and then it is sent whole")
		})
	}
}

// TestBackOff: a failing CA is retried with a growing delay of its own, and immediately when its
// Secrets change.
func TestBackOff(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	f := newRefreshing(t, ca.URL, ca)
	object, wait := f.reconcile()
	require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
	for range 3 {
		f.reconcile()
	}
	require.Equal(t, 1, f.calls(), "a change of the object is no reason to ask")
	version := object.ResourceVersion
	for range 5 {
		f.now = f.now.Add(wait)
		object, wait = f.reconcile()
	}
	require.Equal(t, 6, f.calls())
	require.Equal(t, version, object.ResourceVersion, "the same failure is written once")
	require.Len(t, f.told(), 1, "and told once")
	require.LessOrEqual(t, wait, longestRetry, "nor much later: until then one that is back counts as failed")
	require.GreaterOrEqual(t, wait, longestRetry*3/4)

	ca.Answer = nil
	f.r.hurry(openvoxtest.Main.NamespacedName)
	object, wait = f.reconcile()
	require.Equal(t, time.Minute, wait)
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, object.Status.Phase)

	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	_, wait = f.later()
	require.LessOrEqual(t, wait, firstRetry, "what was before it answered does not count")

	// It is asked soon again while none of its Servers is ready, which may be about to end.
	ca.Answer = nil
	require.NoError(t, f.client.Create(t.Context(), openvoxtest.MakeConfig("main")))
	server := openvoxtest.MakeCAServer()
	require.NoError(t, f.client.Create(t.Context(), server))
	object, wait = f.later()
	require.Equal(t, longestRetry, wait)
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, object.Status.Phase)
	server.Status.Ready = 1
	require.NoError(t, f.client.Status().Update(t.Context(), server))
	_, wait = f.later()
	require.Equal(t, time.Minute, wait)

	// The server of a CA that has just been set up is asked often.
	starting := openvoxtest.MakeCA("starting")
	for range 10 {
		f.r.plan(starting, time.Minute, refreshResult{err: errors.New("connection refused")})
	}
	require.LessOrEqual(t, f.r.refreshes.Due(client.ObjectKeyFromObject(starting), starting.Generation).Sub(f.now), longestStart)
}

// TestExpiredCRL: one that has ended never takes the place of one that has not.
func TestExpiredCRL(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	f.reconcile()
	kept := f.stored().Data[layout.CRLFile]
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(9), ThisUpdate: f.now.Add(-2 * time.Hour), NextUpdate: f.now.Add(-time.Hour)}, ca.Root, ca.Key)
	require.NoError(t, err)
	ended := pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write(ended); return true }
	object, _ := f.later()
	require.Contains(t, state(object, ConditionCRLCurrent), "False CRLRefused the CRL of CN=Puppet CA has ended at ")
	require.Equal(t, kept, f.stored().Data[layout.CRLFile])
}

// TestACAThatIsBack is ready soon after it answers, however long it has been away.
func TestACAThatIsBack(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	f.reconcile()
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	object, wait := f.later()
	for range 50 {
		f.now = f.now.Add(wait)
		object, wait = f.reconcile()
	}
	require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
	ca.Answer = nil
	f.now = f.now.Add(30 * time.Second)
	object, _ = f.reconcile()
	require.Equal(t, v1alpha1.CertificateAuthorityExternal, object.Status.Phase)
}

// TestAnswersAreNotRepeated: a user who may set a URL cannot read the content of that URL
// through the status.
func TestAnswersAreNotRepeated(t *testing.T) {
	for name, answer := range map[string]string{
		"an error": "HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nHUNTER2VAL",
		"a word":   "HTTP/1.1 401 HUNTER2\r\nContent-Length: 7\r\n\r\nHUNTER2",
		"no HTTP":  "SSH-2.0-HUNTER2\r\n",
		"a header": "HTTP/1.1 200 OK\r\nHUNTER2\r\n\r\n",
		"a key":    "HTTP/1.1 200 OK\r\nContent-Length: 51\r\n\r\n-----BEGIN HUNTER2-----\nAAAA\n-----END HUNTER2-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { listener.Close() })
			go func() {
				for {
					connection, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = connection.Read(make([]byte, 4096))
					_, _ = connection.Write([]byte(answer))
					connection.Close()
				}
			}()
			f := newRefreshing(t, "http://"+listener.Addr().String(), openvoxtest.NewCA(t))
			object, _ := f.reconcile()
			require.Contains(t, state(object, v1alpha1.ConditionCAReady), "False ")
			for _, condition := range object.Status.Conditions {
				require.NotContains(t, condition.Message, "HUNTER2")
			}
			require.NotContains(t, strings.Join(f.told(), "\n"), "HUNTER2")
		})
	}
}

// TestRefusalsAreNotRepeated: nor through the errors of signing and revoking.
func TestRefusalsAreNotRepeated(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "HUNTER2", http.StatusBadRequest)
		return true
	}
	object := openvoxtest.MakeExternalCA(ca.URL)
	object.Spec.External.TLSSecretRef = "admin"
	pair := openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: "admin"}})
	c := openvoxtest.NewClient(t, openvoxtest.MakeSecret("main-ca", map[string][]byte{layout.CAFile: ca.Bundle()}), openvoxtest.MakeSecret("admin", map[string][]byte{"tls.crt": pair[layout.CertificateFile], "tls.key": pair[layout.KeyFile]}))
	a, err := Connect(t.Context(), Secrets{c, c}, object, "")
	require.NoError(t, err)
	defer a.Close()
	for _, err := range []error{
		a.Anyone.Submit(t.Context(), "web", []byte("x")), a.Admin.Sign(t.Context(), "web"),
		a.Admin.Clean(t.Context(), "web"), a.Admin.Withdraw(t.Context(), "web"),
	} {
		require.ErrorContains(t, err, "the CA answers 400 Bad Request")
		require.NotContains(t, err.Error(), "HUNTER2")
	}
}

// TestStaleCRL: the status reports an expired CRL when it expires, not at the next refresh.
func TestStaleCRL(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	object := openvoxtest.MakeExternalCA(ca.URL)
	require.NoError(t, f.client.Get(t.Context(), openvoxtest.Main.NamespacedName, object))
	object.Spec.CRLRefreshInterval = "2d"
	require.NoError(t, f.client.Update(t.Context(), object))
	_, wait := f.reconcile()
	require.Less(t, wait, 25*time.Hour, "the CRL ends before its next refresh")
	f.told()
	f.now = f.now.Add(wait)
	object, _ = f.reconcile()
	require.Contains(t, state(object, ConditionCRLCurrent), "False Stale the CRL counted until ")
	require.Equal(t, 1, f.calls())
	require.Contains(t, f.told()[0], "CRLStale")
	f.reconcile()
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	f.now = f.now.Add(48 * time.Hour)
	f.reconcile()
	require.Len(t, f.told(), 1, "only that the CA does not answer")
}

// TestStaleAndRefused: what a CA sends that is not taken neither hides nor repeats that the
// stored CRL has ended.
func TestStaleAndRefused(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	ca.CRL = 5
	f.reconcile()
	f.now = f.now.Add(25 * time.Hour)
	ca.CRL = 4
	f.told()
	for range 4 {
		object, _ := f.later()
		require.Contains(t, state(object, ConditionCRLCurrent), "False Stale the CRL counted until ")
		require.Contains(t, state(object, v1alpha1.ConditionCAReady), "False CRLRefused ")
	}
	told := f.told()
	require.Len(t, told, 2, "%q", told)
	require.Contains(t, told[0], "CRLRefreshFailed")
	require.Contains(t, told[1], "CRLStale")
}

// TestCRLWithoutEnd: the message about an earlier answer is removed after a success.
func TestCRLWithoutEnd(t *testing.T) {
	f := newRefreshing(t, "https://ca", openvoxtest.NewCA(t))
	before := openvoxtest.MakeExternalCA("https://ca")
	ConditionsOf(before).Set(ConditionCRLCurrent, false, reasonCRLRefused, "older")
	after := before.DeepCopy()
	refreshedAt := metav1.NewTime(f.now)
	after.Status = *f.r.report(before, refreshResult{connected: true, crl: &v1alpha1.CRLStatus{Refreshed: &refreshedAt}}).Status
	require.Equal(t, "True Refreshed the CRL names no end", state(after, ConditionCRLCurrent))
	after.Status = *f.r.report(after, refreshResult{connected: true, reason: ReasonNotAnswering, err: errors.New("down")}).Status
	require.Contains(t, state(after, ConditionCRLCurrent), "True RefreshFailed the CRL names no end, and was last asked for with success at ")
}

// TestCRLMetrics are of the CAs that there are.
func TestCRLMetrics(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(f.r.metrics))
	values := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		all := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.Metric {
				require.Equal(t, "main", metric.Label[0].GetValue())
				require.Equal(t, "ns", metric.Label[1].GetValue())
				all[strings.TrimPrefix(family.GetName(), "lintel_openvox_crl_")] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
		return all
	}
	object, _ := f.reconcile()
	f.now = f.now.Add(30 * time.Second)
	require.InDelta(t, f.now.Sub(object.Status.CRL.ThisUpdate.Time).Seconds(), values()["age_seconds"], 0.01)
	require.InDelta(t, object.Status.CRL.NextUpdate.Unix(), values()["next_update_timestamp_seconds"], 0)
	require.InDelta(t, object.Status.CRL.Refreshed.Unix(), values()["last_refresh_timestamp_seconds"], 0)
	require.Zero(t, values()["refresh_failures_total"])
	ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	f.later()
	f.later()
	require.InDelta(t, 2, values()["refresh_failures_total"], 0)
	require.NoError(t, f.client.Delete(t.Context(), object))
	_, err := f.r.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err)
	require.Empty(t, values())
}

// TestCRLOfADeafServer: a server that accepts connections and never answers blocks no worker,
// and the status reports a server that is down.
func TestCRLOfADeafServer(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	f := newRefreshing(t, "https://"+listener.Addr().String(), ca)
	start := time.Now()
	result, err := f.r.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 25*time.Second, "the client gives up after thirty")
	require.Zero(t, result.RequeueAfter)
	_, err = f.r.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err, "and again while it is asked")

	down := httptest.NewServer(nil)
	url := strings.Replace(down.URL, "http:", "https:", 1)
	down.Close()
	object, _ := newRefreshing(t, url, ca).reconcile()
	require.Contains(t, state(object, v1alpha1.ConditionCAReady), "connection refused")
}

// TestClocks: whose clock or certificate is wrong is said, and the same each time.
func TestClocks(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	f.now = ca.Root.NotAfter.Add(time.Hour)
	object, _ := f.reconcile()
	require.Contains(t, state(object, v1alpha1.ConditionCAReady), "the CA's certificate has expired at ")
	require.Zero(t, f.calls())

	early := openvoxtest.NewCA(t, func(f *openvoxtest.CA) { f.Ahead = 5 * time.Minute })
	f = newRefreshing(t, early.URL, early)
	object, _ = f.reconcile()
	message := state(object, v1alpha1.ConditionCAReady)
	require.Contains(t, message, `the certificate "CN=ca", by which the CA's server is known, counts from `)
	require.Contains(t, message, "if it should, a clock is wrong")
	again, _ := f.later()
	require.Equal(t, object.ResourceVersion, again.ResourceVersion)
}

// TestTheEndOfACAIsToldEarly, once, for all that it has signed ends with it.
func TestTheEndOfACAIsToldEarly(t *testing.T) {
	now := time.Now()
	r := &AuthorityReconciler{refresher: &refresher{now: func() time.Time { return now }}}
	said := func(left time.Duration) *metav1.Condition {
		ca := openvoxtest.MakeCA("main")
		ca.Status.NotAfter = new(metav1.NewTime(now.Add(left)))
		r.judgeCertificate(ca)
		return meta.FindStatusCondition(ca.Status.Conditions, conditionCertificateCurrent)
	}
	news := authorityReporter(nil, nil, "", "").News[conditionCertificateCurrent]
	good, soon, ended := said(181*24*time.Hour), said(179*24*time.Hour), said(-time.Second)
	require.Equal(t, []string{"True Current", "True EndsSoon", "False Ended"}, []string{
		string(good.Status) + " " + good.Reason, string(soon.Status) + " " + soon.Reason, string(ended.Status) + " " + ended.Reason,
	})
	require.Nil(t, news(nil, good))
	require.Equal(t, "CAExpiringSoon", news(good, soon).Reason)
	require.Nil(t, news(soon, soon))
	require.Equal(t, "CAExpired", news(soon, ended).Reason)
	r.judgeCertificate(openvoxtest.MakeCA("main"))
}
