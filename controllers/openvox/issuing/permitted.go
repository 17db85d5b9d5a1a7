package issuing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/policies/csr"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	signingrules "github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// reasonPolicyDenied means that no SigningPolicy matches.
const reasonPolicyDenied = "PolicyDenied"

// refusals are why no SigningPolicy permits a Certificate: none if its CertificateAuthority needs
// none for it. The operator's own Certificates and that of the CA's server need none: the CA
// could not run without them.
func refusals(ctx context.Context, reader client.Reader, s authority.Secrets, certificate *v1alpha1.Certificate) ([]string, error) {
	ca := &v1alpha1.CertificateAuthority{}
	if err := reader.Get(ctx, authorityOf(certificate), ca); err != nil {
		return nil, client.IgnoreNotFound(err) // for which it waits
	}
	if ca.Spec.CertificatePolicy != v1alpha1.CertificatesByPolicies || layout.IsOperators(certificate.Name) || rules.ServerCertificate(ca) == certificate.Name {
		return nil, nil
	}
	var policies v1alpha1.SigningPolicyList
	if err := reader.List(ctx, &policies, client.InNamespace(ca.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the SigningPolicies of %s: %w", ca.Namespace, err)
	}
	// The rules read the key, and its own is not made yet. Names of Certificates are reserved, its
	// own among them: the rules of Certificates keep them apart.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := newRequest(certificate.Spec, key)
	if err != nil {
		return nil, err
	}
	rendered := rules.Render(ca, policies.Items, nil, s.PolicyValues(ctx, ca.Namespace))
	return signingrules.Refusals(ctx, signingrules.Question{
		Certname: certificate.Spec.Certname, CSR: csr.Parse(request), Rendered: signingrules.Rendered{Policies: rendered.Policies},
	})
}
