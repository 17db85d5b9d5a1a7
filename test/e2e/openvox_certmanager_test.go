package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// withoutApprover keeps cert-manager's own approver off our signers, as its permissions
// and its webhook do where it is installed as usual. Here it is the cluster's
// administrator and has no webhook.
const withoutApprover = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: e2e-without-approver}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [cert-manager.io], apiVersions: [v1], operations: [UPDATE], resources: [certificaterequests/status]}]
  validations:
    - expression: >-
        !(object.spec.issuerRef.group in ["openvox.voxpupuli.org", "probe.example.com"]) || !has(object.status) || !has(object.status.conditions) ||
        !object.status.conditions.exists(c, c.type == "Approved" && c.reason == "cert-manager.io")
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: e2e-without-approver}
spec: {policyName: e2e-without-approver, validationActions: [Deny]}
`

// certManagerTest is what a test of cert-manager's requests needs.
type certManagerTest struct {
	*testing.T
	ca        *puppetca.CA
	namespace string
	roots     *x509.CertPool
	// certname is that of cert-manager's Certificate web.
	certname string
}

// testCertManager: the CA is an external issuer of cert-manager.
func testCertManager(t *testing.T, ca *puppetca.CA, namespace string) {
	c := newCertManagerTest(t, ca, namespace, "cm5.example.com")
	c.issuesRequests()
	c.leavesForeignRequests()
	c.renewsCertificates()
}

// newCertManagerTest permits certificates to certnames that begin with cm.
func newCertManagerTest(t *testing.T, ca *puppetca.CA, namespace, certname string) *certManagerTest {
	t.Helper()
	bundle, err := ca.Certificate()
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))
	c := &certManagerTest{t, ca, namespace, roots, certname}
	c.keepApproverOff()
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":"SigningPolicy","metadata":{"name":"cm","namespace":%q},
		"spec":{"certificateAuthorityRef":"main","pattern":{"allow":["cm*.example.com"]},"dnsAltNames":{"allow":["cm*.example.com"]}}}`, namespace), "apply", "-f", "-")
	return c
}

func (c *certManagerTest) keepApproverOff() {
	mustKubectl(c.T, withoutApprover, "apply", "-f", "-")
	c.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), withoutApprover, "delete", "-f", "-")
	})
	mustKubectl(c.T, strings.Replace(c.request("probe", csrtest.Template{CommonName: "probe"}), "openvox.voxpupuli.org", "probe.example.com", 1), "create", "-f", "-")
	eventually(c.T, func() bool {
		output, ok := kubectl(c.T, "", "patch", "certificaterequest", "probe", "-n", c.namespace, "--subresource=status", "--type=merge", "--dry-run=server",
			"-p", `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"cert-manager.io","message":"x"}]}}`)
		return !ok && strings.Contains(output, "e2e-without-approver")
	}, "cert-manager's approver to be kept off")
}

func (c *certManagerTest) request(name string, template csrtest.Template) string {
	return fmt.Sprintf(`{"apiVersion":"cert-manager.io/v1","kind":"CertificateRequest","metadata":{"name":%q,"namespace":%q},
		"spec":{"issuerRef":{"group":"openvox.voxpupuli.org","kind":"CertificateAuthority","name":"main"},"request":%q}}`,
		name, c.namespace, base64.StdEncoding.EncodeToString(template.Make(c.T)))
}

// admitted creates a request; the manager may not know the policies yet.
func (c *certManagerTest) admitted(name string, template csrtest.Template) {
	c.Helper()
	object := c.request(name, template)
	eventually(c.T, func() bool {
		_, ok := kubectl(c.T, object, "create", "-f", "-")
		return ok
	}, "the request to be admitted")
}

func (c *certManagerTest) approve(name string) {
	c.Helper()
	mustKubectl(c.T, "", "patch", "certificaterequest", name, "-n", c.namespace, "--subresource=status", "--type=merge",
		"-p", `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Test","message":"by hand"}]}}`)
}

func (c *certManagerTest) get(name string) *cmapi.CertificateRequest {
	c.Helper()
	object := &cmapi.CertificateRequest{}
	require.NoError(c, json.Unmarshal([]byte(mustGet(c.T, "certificaterequest", name, "-n", c.namespace, "-o", "json")), object))
	return object
}

func condition(object *cmapi.CertificateRequest, kind cmapi.CertificateRequestConditionType) cmapi.CertificateRequestCondition {
	for _, found := range object.Status.Conditions {
		if found.Type == kind {
			return found
		}
	}
	return cmapi.CertificateRequestCondition{}
}

// waitReason waits for the reason of a request's condition Ready.
func (c *certManagerTest) waitReason(name, reason string) *cmapi.CertificateRequest {
	c.Helper()
	return waitFor(c.T, c.namespace, "certificaterequests.cert-manager.io/"+name, "the request to be "+reason, func(object *cmapi.CertificateRequest) bool {
		return condition(object, cmapi.CertificateRequestConditionReady).Reason == reason
	})
}

// verified is the certificate of a chain in PEM that the CA has signed.
func (c *certManagerTest) verified(chain []byte, certname string) *x509.Certificate {
	c.Helper()
	var leaf *x509.Certificate
	between := x509.NewCertPool()
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		require.NoError(c, err)
		if leaf == nil {
			leaf = certificate
		} else {
			between.AddCert(certificate)
		}
	}
	require.NotNil(c, leaf)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.NoError(c, err)
	require.Equal(c, certname, leaf.Subject.CommonName)
	return leaf
}

// issuesRequests: refused with the reasons, or signed once approved. A name of another owner
// stays with it.
func (c *certManagerTest) issuesRequests() {
	c.admitted("first", csrtest.Template{CommonName: "cm1.example.com", DNSNames: []string{"cm1.example.com", "cm-www.example.com"}})
	output, ok := kubectl(c.T, c.request("outside", csrtest.Template{CommonName: "db.example.com"}), "create", "-f", "-")
	require.False(c, ok)
	require.Contains(c, output, `signing policy "cm": certname "db.example.com" matches none of its patterns (cm*.example.com)`)

	c.approve("first")
	issued := c.waitReason("first", cmapi.CertificateRequestReasonIssued)
	leaf := c.verified(issued.Status.Certificate, "cm1.example.com")
	require.NoError(c, leaf.VerifyHostname("cm-www.example.com"))
	block, _ := pem.Decode(issued.Status.CA)
	require.NotNil(c, block)
	root, err := x509.ParseCertificate(block.Bytes)
	require.NoError(c, err)
	require.NoError(c, root.CheckSignatureFrom(root), "status.ca is the root")

	c.admitted("second", csrtest.Template{CommonName: "cm1.example.com"})
	c.approve("second")
	failed := c.waitReason("second", cmapi.CertificateRequestReasonFailed)
	require.Contains(c, condition(failed, cmapi.CertificateRequestConditionReady).Message, "CertnameTaken: the CA has a certificate for cm1.example.com already")
	require.NotNil(c, failed.Status.FailureTime)
	require.Empty(c, failed.Status.Certificate)
	require.Equal(c, leaf.Raw, c.atCA("cm1.example.com").Raw, "the first one stays")
}

func (c *certManagerTest) atCA(certname string) *x509.Certificate {
	c.Helper()
	status, text, err := c.ca.Do(c.Context(), http.MethodGet, "certificate/"+certname, nil)
	require.NoError(c, err)
	require.Equal(c, http.StatusOK, status, "%s", text)
	block, _ := pem.Decode(text)
	require.NotNil(c, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(c, err)
	return certificate
}

// leavesForeignRequests: a request that another client has planted is not signed, nor is one of
// the requester that asks for more than the rules have reviewed.
func (c *certManagerTest) leavesForeignRequests() {
	key := csrtest.Key(c.T)
	plant := func(certname string, template csrtest.Template) {
		template.CommonName = certname
		status, answer, err := c.ca.Do(c.Context(), http.MethodPut, "certificate_request/"+certname, template.Make(c.T))
		require.NoError(c, err)
		require.Equal(c, http.StatusOK, status, "%s", answer)
	}
	plant("cm3.example.com", csrtest.Template{})
	plant("cm4.example.com", csrtest.Template{Key: key, DNSNames: []string{"bank.example.com"}})
	c.admitted("foreign", csrtest.Template{CommonName: "cm3.example.com"})
	c.admitted("own", csrtest.Template{CommonName: "cm4.example.com", Key: key})
	c.approve("foreign")
	c.approve("own")
	pending := c.waitReason("foreign", cmapi.CertificateRequestReasonPending)
	require.Contains(c, condition(pending, cmapi.CertificateRequestConditionReady).Message, "ForeignRequest: a request with another key waits at the CA under certname cm3.example.com, and is not signed")
	status, _, err := c.ca.Do(c.Context(), http.MethodGet, "certificate/cm3.example.com", nil)
	require.NoError(c, err)
	require.Equal(c, http.StatusNotFound, status)
	own := c.verified(c.waitReason("own", cmapi.CertificateRequestReasonIssued).Status.Certificate, "cm4.example.com")
	require.Error(c, own.VerifyHostname("bank.example.com"))

	status, _, err = c.ca.Do(c.Context(), http.MethodDelete, "certificate_status/cm3.example.com", nil)
	require.NoError(c, err)
	require.Less(c, status, 300)
	// A change of the CA begins those that wait.
	mustKubectl(c.T, "", "patch", "certificateauthority", "main", "-n", c.namespace, "--type=merge", "-p", `{"spec":{"crlRefreshInterval":"2s"}}`)
	c.verified(c.waitReason("foreign", cmapi.CertificateRequestReasonIssued).Status.Certificate, "cm3.example.com")
}

// issued is the first certificate of cert-manager's Certificate web.
func (c *certManagerTest) issued() *x509.Certificate {
	c.Helper()
	mustKubectl(c.T, fmt.Sprintf(`{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web","namespace":%q},
		"spec":{"secretName":"web-cert","commonName":%[2]q,"dnsNames":[%[2]q],"encodeUsagesInRequest":false,
		"issuerRef":{"group":"openvox.voxpupuli.org","kind":"CertificateAuthority","name":"main"}}}`, c.namespace, c.certname), "apply", "-f", "-")
	c.approve(c.requestOfRevision("1"))
	return c.stored(nil)
}

// renewsCertificates: cert-manager's Certificate gets its Secret, and the next one.
func (c *certManagerTest) renewsCertificates() {
	first := c.issued()
	root, _ := pem.Decode(secretValue(c.T, c.namespace, "web-cert", "ca.crt"))
	require.NotNil(c, root)

	c.renew()
	c.approve(c.requestOfRevision("2"))
	second := c.stored(first)
	require.Equal(c, second.Raw, c.atCA(c.certname).Raw)
	eventually(c.T, func() bool {
		return strings.Contains(mustGet(c.T, "events", "-n", c.namespace, "-o", "jsonpath={.items[*].message}"), "the certificate of "+c.certname+" (serial "+fmt.Sprintf("%x", first.SerialNumber)+") is revoked and issued again")
	}, "the Event that tells of the gap")
	eventually(c.T, func() bool { return c.revoked(first) }, "the first one to be revoked")
	require.False(c, c.revoked(second))
}

// requestOfRevision is the name of the request that cert-manager has made for web.
func (c *certManagerTest) requestOfRevision(revision string) (name string) {
	c.Helper()
	eventually(c.T, func() bool {
		name = mustGet(c.T, "certificaterequest", "-n", c.namespace, "-o",
			`jsonpath={.items[?(@.metadata.annotations.cert-manager\.io/certificate-revision=="`+revision+`")].metadata.name}`)
		return name != ""
	}, "cert-manager to ask for revision "+revision)
	return name
}

// stored waits for the certificate in web's Secret to be another one.
func (c *certManagerTest) stored(before *x509.Certificate) (leaf *x509.Certificate) {
	c.Helper()
	var text []byte
	eventually(c.T, func() bool {
		text = secretValue(c.T, c.namespace, "web-cert", "tls.crt")
		block, _ := pem.Decode(text)
		if block == nil {
			return false
		}
		found, err := x509.ParseCertificate(block.Bytes)
		return err == nil && (before == nil || !found.Equal(before))
	}, "the Secret of Certificate web")
	return c.verified(text, c.certname)
}

// renew does what cmctl renew does.
func (c *certManagerTest) renew() {
	c.Helper()
	mustKubectl(c.T, "", "wait", "certificates.cert-manager.io/web", "-n", c.namespace, "--for=condition=Ready", "--timeout=30s")
	mustKubectl(c.T, "", "patch", "certificates.cert-manager.io", "web", "-n", c.namespace, "--subresource=status", "--type=merge",
		"-p", `{"status":{"conditions":[{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"by hand","lastTransitionTime":"`+time.Now().UTC().Format(time.RFC3339)+`"}]}}`)
}

func (c *certManagerTest) revoked(certificate *x509.Certificate) bool {
	c.Helper()
	status, text, err := c.ca.Do(c.Context(), http.MethodGet, "certificate_revocation_list/ca", nil)
	require.NoError(c, err)
	require.Equal(c, http.StatusOK, status)
	lists, err := puppet.ParseCRLs(text)
	require.NoError(c, err)
	for _, list := range lists {
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(certificate.SerialNumber) == 0 {
				return true
			}
		}
	}
	return false
}

// TestOpenVoxApproval: where the manager approves, it goes by the policies as they are now.
func TestOpenVoxApproval(t *testing.T) {
	namespace := newNamespace(t)
	c := newCertManagerTest(t, authorityMain(t, namespace).CA, namespace, "cm7.example.com")
	before := c.issued()
	c.admitted("late", csrtest.Template{CommonName: "cm-late.example.com"})
	mustKubectl(t, requestToMain(t, namespace, "e2e-late", csrtest.Template{CommonName: "cm-late.example.com"}), "create", "-f", "-")
	c.renew()
	waits := c.requestOfRevision("2")
	require.Empty(t, c.get(waits).Status.Conditions, "nobody approves by default")

	mustKubectl(t, "", "patch", "signingpolicy", "cm", "-n", namespace, "--type=merge", "-p", `{"spec":{"pattern":{"allow":["cm[0-9].example.com"]}}}`)
	withoutManager(t)
	approving, err := startManager(t.Context(), "--openvox-approve-requests")
	require.NoError(t, err)
	t.Cleanup(approving.Stop)

	// The cluster's cert-manager has no webhook that would ask for a permission.
	eventually(t, func() bool {
		said := mustGet(t, "events", "--field-selector=reason=ApprovalForbidden,involvedObject.name=e2e-late", "-o", "jsonpath={.items[*].message}")
		return strings.Contains(said, "needs the role of config/rbac/openvox-approval")
	}, "the CertificateSigningRequest to say that the role is missing")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "-k", "config/rbac/openvox-approval")
	})
	mustKubectl(t, "", "apply", "-k", "config/rbac/openvox-approval")
	c.stored(before)
	require.Equal(t, "SigningPolicyMatches", condition(c.get(waits), cmapi.CertificateRequestConditionApproved).Reason)
	denied := c.waitReason("late", cmapi.CertificateRequestReasonDenied)
	require.NotNil(t, denied.Status.FailureTime)
	require.Equal(t, `signing policy "cm": certname "cm-late.example.com" matches none of its patterns (cm[0-9].example.com)`, condition(denied, cmapi.CertificateRequestConditionDenied).Message)
	eventually(t, func() bool {
		return strings.Contains(mustGet(t, "csr", "e2e-late", "-o", "jsonpath={.status.conditions}"), `certname \"cm-late.example.com\" matches none`)
	}, "the CertificateSigningRequest to be denied")
	eventually(t, func() bool {
		output, ok := kubectl(t, requestToMain(t, namespace, "e2e-good", csrtest.Template{CommonName: "cm9.example.com"}), "create", "-f", "-")
		return ok || strings.Contains(output, "already exists")
	}, "the manager to be asked")
	eventually(t, func() bool {
		return mustGet(t, "csr", "e2e-good", "-o", "jsonpath={.status.certificate}") != ""
	}, "a CertificateSigningRequest to be approved and issued")
}
