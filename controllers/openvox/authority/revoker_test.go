package authority

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// revokerOf returns a revoker that does not pause. reads counts how often it reads a CRL.
func revokerOf(c client.Client, reads *int) *Revoker {
	r := NewRevoker(Secrets{c, c}, time.Now, func(context.Context, types.NamespacedName) {
		if reads != nil {
			*reads++
		}
	})
	r.Pause = 0
	return r
}

// revoking is a CA that is revoked at, and its CertificateAuthority, which is refreshed.
type revoking struct {
	*refreshing
	authority *Connection
}

func newRevoking(t *testing.T) *revoking {
	t.Helper()
	ca := openvoxtest.NewCA(t)
	f := &revoking{refreshing: newRefreshing(t, ca.URL, ca)}
	pair := openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: "admin"}})
	require.NoError(t, f.client.Create(t.Context(), openvoxtest.MakeSecret("admin", map[string][]byte{"tls.crt": pair[layout.CertificateFile], "tls.key": pair[layout.KeyFile]})))
	object := &v1alpha1.CertificateAuthority{}
	require.NoError(t, f.client.Get(t.Context(), openvoxtest.Main.NamespacedName, object))
	object.Spec.External.TLSSecretRef = "admin"
	require.NoError(t, f.client.Update(t.Context(), object))
	f.r.revoker.Read = func(_ context.Context, key types.NamespacedName) { // without the wait for a worker
		f.r.mutex.Lock()
		f.r.changes[key]++
		f.r.mutex.Unlock()
	}
	var err error
	f.authority, err = Connect(t.Context(), f.r.secrets, object, "")
	require.NoError(t, err)
	t.Cleanup(f.authority.Close)
	return f
}

func (f *revoking) issued(certname string) *x509.Certificate {
	f.t.Helper()
	leaf := openvoxtest.CertificateOf(f.t, openvoxtest.NewPair(f.t, f.ca, &x509.Certificate{Subject: pkix.Name{CommonName: certname}}))
	f.ca.Issued[certname] = leaf
	return leaf
}

func (f *revoking) record() []Revocation {
	f.t.Helper()
	object := &v1alpha1.CertificateAuthority{}
	require.NoError(f.t, f.client.Get(f.t.Context(), openvoxtest.Main.NamespacedName, object))
	record, err := f.r.secrets.readRevocations(f.t.Context(), object)
	require.NoError(f.t, err)
	return record
}

func (f *revoking) condition() string {
	f.t.Helper()
	object, _ := f.later()
	return state(object, ConditionCRLCurrent)
}

// TestRevocationsAtOnce: one batch at a time, whose certnames are cleaned in one call.
func TestRevocationsAtOnce(t *testing.T) {
	f := newRevoking(t)
	var bodies []string
	first := make(chan struct{})
	f.ca.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/clean") {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		return false
	}
	f.r.revoker.Pause = 50 * time.Millisecond // in which the others come
	var all sync.WaitGroup
	leaves := map[string]*x509.Certificate{}
	for i := range 12 {
		certname := fmt.Sprintf("m%d", i)
		leaves[certname] = f.issued(certname)
	}
	for i := range 12 {
		certname := fmt.Sprintf("m%d", i)
		all.Go(func() {
			if i > 0 {
				<-first
			} else {
				close(first)
			}
			listed, err := f.r.revoker.Revoke(context.Background(), f.authority, certname, leaves[certname], false)
			if err != nil || !listed {
				t.Errorf("%s: %v %v", certname, listed, err)
			}
		})
	}
	all.Wait()
	require.Len(t, f.ca.Revoked, 12)
	require.Empty(t, f.ca.Issued)
	require.Less(t, len(bodies), 12)
	require.Equal(t, 12, strings.Count(strings.Join(bodies, ""), `"m`))
	require.Contains(t, f.condition(), "True Refreshed")
	for _, one := range f.record() {
		require.Equal(t, revocationDone, one.State)
	}
}

// TestRevokedAgain: a CA that answers 200 and does nothing is asked again until the CRL has the
// certificate, also by another manager, and the status names it meanwhile.
func TestRevokedAgain(t *testing.T) {
	f := newRevoking(t)
	require.Contains(t, f.condition(), "True Refreshed")
	f.told()
	leaf := f.issued("web")
	f.ca.Idle = true
	listed, err := f.r.revoker.Revoke(t.Context(), f.authority, "web", leaf, false)
	require.NoError(t, err)
	require.False(t, listed)
	object, wait := f.reconcile()
	require.Contains(t, state(object, ConditionCRLCurrent), "False RevocationPending the CRL lacks 1 certificates that were revoked from here, and servers that use it accept them: serial "+layout.Serial(leaf)+" (web)")
	require.Equal(t, firstRetry, wait)
	require.EqualValues(t, 1, object.Status.CRL.MissingCount)
	require.Equal(t, layout.Serial(leaf), object.Status.CRL.Missing[0].SerialNumber)
	require.Equal(t, "web", object.Status.CRL.LastRevoked.Certname)
	asked := f.ca.Count("PUT certificate_status/web")
	require.Contains(t, f.condition(), "False Incomplete")
	require.Greater(t, f.ca.Count("PUT certificate_status/web"), asked, "a second CRL lacks it")
	asked = f.ca.Count("PUT certificate_status/web")
	f.now = f.now.Add(5 * time.Second)
	f.reconcile()
	require.Equal(t, asked, f.ca.Count("PUT certificate_status/web"), "later and later")
	f.ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
	require.Contains(t, f.condition(), "False Incomplete", "a CA that is down has not mended it")
	require.Equal(t, 1, strings.Count(strings.Join(f.told(), "\n"), "Warning CRLIncomplete"), "once")

	// Another manager knows it from the record.
	again := newAuthorityReconciler(f.client, f.r.secrets, f.recorder, newCRLMetrics(f.r.now), f.r.now)
	again.refreshes, again.revoker, f.r = f.r.refreshes, f.r.revoker, again
	f.ca.Answer, f.ca.Idle = nil, false
	require.Contains(t, f.condition(), "False Incomplete", "one answer is not believed")
	require.Empty(t, f.ca.Revoked)
	f.condition()
	require.Contains(t, f.condition(), "True Refreshed")
	require.Equal(t, leaf.SerialNumber, f.ca.Revoked[0])
	require.Nil(t, f.ca.Issued["web"])

	// A serial that was on the CRL once is expected there until it expires.
	f.ca.Revoked, f.ca.CRL = nil, f.ca.CRL+1
	object, _ = f.later()
	require.Contains(t, state(object, v1alpha1.ConditionCAReady), "CRLRefused the CRL lacks 1 entries that it had")
	require.NotEmpty(t, f.stored().Data[layout.CRLFile])
	require.Contains(t, f.condition(), "False Incomplete")
	require.Contains(t, strings.Join(f.told(), "\n"), "Warning CRLShrunk")
	next := f.issued("web")
	f.condition()
	require.Contains(t, f.condition(), "The CA no longer has the files of 1 of them")
	require.Equal(t, next, f.ca.Issued["web"], "another certificate of the name is not revoked")
	require.Empty(t, f.ca.Revoked)
	f.ca.Issued["web"] = leaf // from a backup
	for f.ca.Issued["web"] != nil {
		f.now = f.now.Add(revokeAgain.Longest)
		f.reconcile()
	}
	require.Contains(t, f.condition(), "True Refreshed")
	f.now = leaf.NotAfter.Add(time.Minute)
	require.NoError(t, f.r.secrets.ChangeRevocations(t.Context(), openvoxtest.MakeExternalCA(""), f.now, func(record []Revocation) []Revocation { return record }))
	require.Empty(t, f.record(), "until it expires")
}

// TestRevokedWithoutARecord: a Secret that is not the CA's own stops no revocation.
func TestRevokedWithoutARecord(t *testing.T) {
	f := newRevoking(t)
	planted := openvoxtest.MakeSecret(layout.RevocationsSecret("main"), nil)
	require.NoError(t, f.client.Create(t.Context(), planted))
	leaf := f.issued("web")
	f.ca.Idle = true
	_, err := f.r.revoker.Revoke(t.Context(), f.authority, "web", leaf, true)
	require.Error(t, err)
	require.Equal(t, leaf, f.ca.Issued["web"], "without its file and a record, it would stay valid")
	f.ca.Idle = false
	listed, err := f.r.revoker.Revoke(t.Context(), f.authority, "web", leaf, true)
	require.ErrorContains(t, err, "recording the revocations: Secret main-ca-revocations is not controlled by this object")
	require.True(t, listed)
	require.Equal(t, leaf.SerialNumber, f.ca.Revoked[0])
	require.Empty(t, f.ca.Issued, "the certname is free")
	require.Contains(t, f.condition(), "False RecordUnreadable Secret main-ca-revocations is not controlled by this object and is left alone; delete it")
	require.NoError(t, f.client.Delete(t.Context(), planted))
	require.Contains(t, f.condition(), "True Refreshed")
}

// TestBatchEndsAtACAThatHangs: one call waits for the timeout, and not one for each certificate. An
// error about one certificate holds up no other.
func TestBatchEndsAtACAThatHangs(t *testing.T) {
	f := newRevoking(t)
	object := &v1alpha1.CertificateAuthority{}
	require.NoError(t, f.client.Get(t.Context(), openvoxtest.Main.NamespacedName, object))
	var orders []*revocationOrder
	for _, certname := range []string{"a", "b", "c"} {
		orders = append(orders, &revocationOrder{Revocation: NewRevocation(f.issued(certname), f.ca.Bundle(), time.Now())})
	}
	f.ca.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
		return true
	}
	require.NoError(t, f.r.revoker.run(t.Context(), object, f.authority, orders...))
	for _, o := range orders {
		require.True(t, puppet.Unanswered(o.err))
	}
	require.Positive(t, f.ca.Count("GET certificate/a"))
	require.Zero(t, f.ca.Count("GET certificate/b"))
	require.Zero(t, f.ca.Count("GET certificate/c"))
	require.Len(t, f.record(), 3, "they are revoked later")

	f.ca.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		broken := strings.HasSuffix(r.URL.Path, "/certificate/a")
		if broken {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return broken
	}
	for _, o := range orders {
		o.done, o.err = false, nil
	}
	require.NoError(t, f.r.revoker.run(t.Context(), object, f.authority, orders...))
	require.Error(t, orders[0].err)
	require.NoError(t, orders[1].err)
	require.Len(t, f.ca.Revoked, 2)
}

// TestAnotherCA: serials of another CA are other certificates.
func TestAnotherCA(t *testing.T) {
	f := newRevoking(t)
	leaf := f.issued("web")
	f.ca.Idle = true
	_, err := f.r.revoker.Revoke(t.Context(), f.authority, "web", leaf, true)
	require.NoError(t, err)
	require.Contains(t, f.condition(), "False")
	other := openvoxtest.NewCA(t, func(ca *openvoxtest.CA) { ca.Name = "Another CA" })
	require.True(t, newListed(nil, f.ca.Bundle()).concerns(f.record()[0]))
	require.False(t, newListed(nil, other.Bundle()).concerns(f.record()[0]))
	lists, err := puppet.ParseCRLs(other.List(1))
	require.NoError(t, err)
	require.False(t, newListed(lists, f.ca.Bundle()).has(f.record()[0]))
}

// TestRecordOfThousands: the record fits into a Secret. Only serials that were on the CRL are
// dropped.
func TestRecordOfThousands(t *testing.T) {
	id := func() string {
		id := make([]byte, 8)
		_, _ = rand.Read(id)
		return fmt.Sprintf("%x", id)
	}
	now := time.Now()
	record := make([]Revocation, 60000)
	for i := range record {
		record[i] = Revocation{Certname: fmt.Sprintf("node%d.example.com", i), Serial: fmt.Sprintf("%x", i), NotAfter: now.Add(time.Duration(i+1) * time.Minute), Recorded: now, State: revocationDone, Issuer: "i", Fingerprint: id()}
	}
	record[0].State = revocationWanted
	thousands, err := encodeRevocations(record[:5000])
	require.NoError(t, err)
	decoded, err := decodeRevocations("s", map[string][]byte{layout.RevocationsFile: thousands})
	require.NoError(t, err)
	require.Len(t, decoded, 5000)
	all, err := encodeRevocations(record)
	require.NoError(t, err)
	require.Less(t, len(all), maxRecord+1)
	decoded, err = decodeRevocations("s", map[string][]byte{layout.RevocationsFile: all})
	require.NoError(t, err)
	require.Less(t, len(decoded), len(record))
	require.Equal(t, "node0.example.com", decoded[0].Certname, "it is not on the CRL yet")
	for i := range record {
		record[i].State = revocationWanted
	}
	_, err = encodeRevocations(record)
	require.ErrorContains(t, err, "more than a Secret holds")
	_, err = decodeRevocations("s", map[string][]byte{layout.RevocationsFile: []byte("x")})
	require.ErrorContains(t, err, "reading the record of revocations in Secret s: key revocations.json.gz")
}
