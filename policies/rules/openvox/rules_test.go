package openvox

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
	"github.com/lintel-policy/lintel/test/certificates"
	"github.com/lintel-policy/lintel/test/reviews"
)

// signingRequest is the review of a CertificateSigningRequest to ns.main.
func signingRequest(t testing.TB, request []byte) *admission.Review {
	t.Helper()
	return reviews.MakeCreation(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), "certificatesigningrequests", map[string]any{
		"metadata": map[string]string{"name": "r"}, "spec": map[string]any{
			"signerName": SignerPrefix + "ns.main", "request": base64.StdEncoding.EncodeToString(request), "usages": []string{"client auth"},
		},
	}).Named("", "r").By("ann").Obj(t)
}

func decide(t testing.TB, snapshot *engine.Snapshot, review *admission.Review, facts RequestFacts) []string {
	t.Helper()
	read, err := engine.ReadFacts(facts)
	require.NoError(t, err)
	words := []string{}
	for _, denial := range snapshot.Validate(t.Context(), review, engine.Options{Facts: read}).Denials {
		words = append(words, denial.Words)
	}
	return words
}

func snapshot(t testing.TB) *engine.Snapshot {
	t.Helper()
	snapshot, err := New()
	require.NoError(t, err)
	return snapshot
}

// TestWebhookAndHookAgree: the same words, wherever the question is asked.
func TestWebhookAndHookAgree(t *testing.T) {
	rendered := signing.Rendered{Policies: []signing.Policy{{Name: "web", Pattern: &signing.Allow{Allow: []string{"web*"}}}}, Reserved: []string{"taken"}}
	facts := RequestFacts{Authority: true, MayReference: true, Rendered: rendered}
	all := snapshot(t)
	require.Empty(t, decide(t, all, signingRequest(t, csrtest.Template{CommonName: "web1"}.Make(t)), facts))
	require.Equal(t, []string{`signing policy "web": IP address 10.0.0.1 in subjectAltName is asked for, and signing policies permit DNS names only`},
		decide(t, all, signingRequest(t, csrtest.Template{CommonName: "web1", IPs: []string{"10.0.0.1"}}.Make(t)), facts))
	require.Equal(t, []string{"the certificate request cannot be read: it does not begin with a PEM block"},
		decide(t, all, signingRequest(t, []byte("garbage")), facts))
	require.NotEmpty(t, decide(t, all, signingRequest(t, csrtest.Template{}.Make(t)), facts), "a request for nobody")
}

func TestRender(t *testing.T) {
	value := "x"
	ca := &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}}
	policy := func(name, ca string, spec v1alpha1.SigningPolicySpec) v1alpha1.SigningPolicy {
		spec.CertificateAuthorityRef = ca
		return v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: spec}
	}
	from := func(key string) *v1alpha1.SecretKeySelector {
		return &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: key}}
	}
	gone := policy("gone", "main", v1alpha1.SigningPolicySpec{Any: true})
	gone.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	policies := []v1alpha1.SigningPolicy{
		policy("any", "main", v1alpha1.SigningPolicySpec{Any: true, Pattern: &v1alpha1.AllowList{Allow: []string{"ignored"}}}),
		policy("other", "another", v1alpha1.SigningPolicySpec{Any: true}), gone,
		policy("good", "main", v1alpha1.SigningPolicySpec{
			Pattern:       &v1alpha1.AllowList{Allow: []string{"a*"}},
			CSRAttributes: []v1alpha1.CSRAttribute{{Name: "pp_role", Value: &value}, {Name: "pp_preshared_key", ValueFrom: from("good")}},
		}),
		policy("bad", "main", v1alpha1.SigningPolicySpec{Pattern: &v1alpha1.AllowList{Allow: []string{"*"}}, CSRAttributes: []v1alpha1.CSRAttribute{{Name: "pp_preshared_key", ValueFrom: from("none")}}}),
		policy("empty", "main", v1alpha1.SigningPolicySpec{CSRAttributes: []v1alpha1.CSRAttribute{{Name: "pp_preshared_key", ValueFrom: from("empty")}}}),
		policy("both", "main", v1alpha1.SigningPolicySpec{CSRAttributes: []v1alpha1.CSRAttribute{{Name: "pp_role", Value: &value, ValueFrom: from("good")}}}),
	}
	certificate := func(name, ca string, names ...string) v1alpha1.Certificate {
		return *certificates.MakeCertificate(name, name).Of(ca).DNSNames(names...).Obj()
	}
	secret := func(_, key string) (string, error) {
		if key == "none" {
			return "", errors.New("Secret keys has no key none")
		}
		return map[string]string{"good": "s3cret"}[key], nil
	}
	require.Equal(t, signing.Rendered{
		Policies: []signing.Policy{
			{Name: "any", Any: true},
			{Name: "good", Pattern: &signing.Allow{Allow: []string{"a*"}}, CSRAttributes: []signing.Attribute{{Name: "pp_role", Value: "x"}, {Name: "pp_preshared_key", Value: "s3cret"}}},
			{Name: "bad", Error: "the value of pp_preshared_key: Secret keys has no key none"},
			{Name: "empty", Error: `the value of pp_preshared_key: key "empty" of Secret keys is empty`},
			{Name: "both", Error: "the value of pp_role: give exactly one of value and valueFrom"},
		},
		Reserved: []string{"main-operator", ".main-operator", "main-internal", "main-internal.ns.svc", "main-setup", "puppet", "puppet.example.com"},
	}, Render(ca, policies, []v1alpha1.Certificate{certificate("puppet", "main", "puppet.example.com"), certificate("foreign", "another")}, secret))

	ca.Spec.External = &v1alpha1.ExternalCA{URL: "https://ca.example.com:8140"}
	require.Equal(t, []string{"main-operator", ".main-operator", "ca.example.com"}, Render(ca, nil, nil, secret).Reserved)
}

// TestRenderedWithinItsSecret: neither many names nor large policies keep the others from being
// rendered; the youngest are left out, and policies say so.
func TestRenderedWithinItsSecret(t *testing.T) {
	t.Parallel()
	ca := &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"}}
	var all []v1alpha1.Certificate
	for i := range 2000 {
		var names []string
		for j := range 4 {
			names = append(names, fmt.Sprintf("n%04d-%d.%s.example.com", i, j, strings.Repeat("x", 60)))
		}
		all = append(all, *certificates.MakeCertificate(fmt.Sprintf("c%04d", i), fmt.Sprintf("c%04d", i)).DNSNames(names...).Created(int64(5000 - i)).Obj())
	}
	var policies []v1alpha1.SigningPolicy
	for i := range 8 {
		policy := v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: "ns", CreationTimestamp: metav1.Unix(int64(100-i), 0)}}
		policy.Spec = v1alpha1.SigningPolicySpec{CertificateAuthorityRef: "main", Pattern: &v1alpha1.AllowList{Allow: []string{strings.Repeat("y", 100<<10)}}}
		policies = append(policies, policy)
	}
	rendered := Render(ca, policies, all, nil)
	text, err := rendered.Write()
	require.NoError(t, err)
	require.Less(t, len(text), corev1.MaxSecretSize)
	require.Contains(t, rendered.Reserved, "c1999", "the oldest")
	require.NotContains(t, rendered.Reserved, "c0000")
	require.Contains(t, rendered.Policies[0].Error, "the policies of the CertificateAuthority that are older leave", "the youngest")
	require.Empty(t, rendered.Policies[7].Error)
}

// TestClaims: at admission, a Certificate is refused if another object has its certname; of two
// stored ones, the newer is.
func TestClaims(t *testing.T) {
	certificate := func(name, ca, certname string, age int64) v1alpha1.Certificate {
		return *certificates.MakeCertificate(name, certname).Of(ca).Created(1000 - age).Obj()
	}
	gone := certificate("gone", "main", "web", 9)
	gone.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	all := []v1alpha1.Certificate{
		certificate("b", "main", "web", 5), certificate("a", "main", "web", 5), certificate("younger", "main", "web", 1),
		certificate("other", "main", "db", 9), certificate("elsewhere", "other", "web", 9), gone,
	}
	require.Equal(t, []string{"b", "younger"}, Claims(&all[1], all).ClaimedBy)
	require.Empty(t, OlderClaims(&all[1], all).ClaimedBy, "the older one keeps it")
	require.Equal(t, []string{"a"}, OlderClaims(&all[0], all).ClaimedBy, "of the same second, the first by name")
	require.Equal(t, []string{"a", "b"}, OlderClaims(&all[2], all).ClaimedBy)
	require.Empty(t, Claims(&all[3], all).ClaimedBy)
	require.NotEmpty(t, Claims(&all[3], all).OIDs)
}

func TestParseSigner(t *testing.T) {
	for signer, want := range map[string][2]string{
		SignerPrefix + "ns.main": {"ns", "main"}, SignerPrefix + "ns.main.ca": {"ns", "main.ca"},
		SignerPrefix + "ns": {}, SignerPrefix + ".main": {}, SignerPrefix + "ns.": {}, "example.com/ns.main": {},
	} {
		namespace, name, ok := ParseSigner(signer)
		require.Equal(t, want != [2]string{}, ok, signer)
		if ok {
			require.Equal(t, want, [2]string{namespace, name})
		}
	}
}

// BenchmarkSigningRequest is the decision about a request under 50 policies, of which
// the last matches.
func BenchmarkSigningRequest(b *testing.B) {
	facts := RequestFacts{Authority: true, MayReference: true}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		for i := range 10 {
			facts.Policies = append(facts.Policies, signing.Policy{Name: name + string(rune('0'+i)), Pattern: &signing.Allow{Allow: []string{name + "*.example.com", "x*"}}})
		}
	}
	facts.Policies[49].Pattern.Allow[0] = "web*"
	all, review := snapshot(b), signingRequest(b, csrtest.Template{CommonName: "web1"}.Make(b))
	for b.Loop() {
		require.Empty(b, decide(b, all, review, facts))
	}
}

// TestNamesOfOtherCertificates counts those at the same CA that are not deleted.
func TestNamesOfOtherCertificates(t *testing.T) {
	t.Parallel()
	of := func(name, ca string, names ...string) v1alpha1.Certificate {
		return v1alpha1.Certificate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.CertificateSpec{AuthorityRef: ca, Certname: name, DNSAltNames: names}}
	}
	deleted := of("deleted", "main", "web")
	deleted.DeletionTimestamp = new(metav1.Now())
	own := of("own", "main", "web.example.com")
	facts := Claims(&own, []v1alpha1.Certificate{own, of("a", "main", "bc"), of("d", "main"), of("e", "other"), deleted})
	require.Equal(t, len("- a\n- bc\n- d\n"), facts.OtherNames)
}

// TestAutosignConfigs: only a Config of the CA's own server replaces SigningPolicies. A Config
// that no such server uses, which a tenant may write, replaces none.
func TestAutosignConfigs(t *testing.T) {
	config := func(name, authority, command string) v1alpha1.Config {
		c := v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ConfigSpec{AuthorityRef: authority}}
		c.Spec.Puppet.AutosignCommand = command
		return c
	}
	server := func(name, config string, ca bool) v1alpha1.Server {
		return v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ServerSpec{ConfigRef: config, CA: ca}}
	}
	deleted := server("e", "own", true)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	configs := []v1alpha1.Config{config("own", "main", "/hooks/sign"), config("without", "main", ""), config("other", "second", "/hooks/sign")}
	for name, c := range map[string]struct {
		servers []v1alpha1.Server
		want    []string
	}{
		"the CA's server":       {[]v1alpha1.Server{server("a", "own", true)}, []string{"own"}},
		"no server":             {nil, nil},
		"a server without a CA": {[]v1alpha1.Server{server("a", "own", false)}, nil},
		"a deleted server":      {[]v1alpha1.Server{deleted}, nil},
		"no command":            {[]v1alpha1.Server{server("a", "without", true)}, nil},
		"another CA's":          {[]v1alpha1.Server{server("a", "other", true)}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, AutosignConfigs("main", configs, c.servers)) })
	}
}

// TestPolicySizes: policies that are rendered together share their room.
func TestPolicySizes(t *testing.T) {
	policy := func(name, ca string, globs int) *v1alpha1.SigningPolicy {
		p := &v1alpha1.SigningPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: v1alpha1.SigningPolicySpec{CertificateAuthorityRef: ca, Pattern: &v1alpha1.AllowList{}}}
		for range globs {
			p.Spec.Pattern.Allow = append(p.Spec.Pattern.Allow, strings.Repeat("a", 250))
		}
		p.Spec.CSRAttributes = []v1alpha1.CSRAttribute{{Name: "pp_role", ValueFrom: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}}}}
		return p
	}
	all := []v1alpha1.SigningPolicy{*policy("a", "main", 10), *policy("b", "main", 20), *policy("c", "other", 200)}
	sizes := SizesOf(policy("b", "main", 40), &all[1], all)
	require.InDelta(t, 40*256, sizes.Bytes, 300)
	require.InDelta(t, 20*256, sizes.FormerBytes, 300)
	require.InDelta(t, 10*256, sizes.OtherBytes, 300)
	require.Zero(t, SizesOf(policy("b", "main", 40), policy("b", "other", 40), all).FormerBytes)
}
