package openvox

import (
	"context"
	"errors"
	"fmt"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// admitRequest evaluates the rules for a stored request, because they may have changed since.
// Their input is read from the API server, because the answer is final.
func (a *admitter) admitRequest(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	ca, version, kind := client.ObjectKey{}, schema.GroupVersion{}, ""
	switch request := object.(type) {
	case *certificatesv1.CertificateSigningRequest:
		ca.Namespace, ca.Name, _ = rules.ParseSigner(request.Spec.SignerName)
		version, kind = certificatesv1.SchemeGroupVersion, "CertificateSigningRequest"
	case *certmanagerv1.CertificateRequest:
		ca = client.ObjectKey{Namespace: request.Namespace, Name: request.Spec.IssuerRef.Name}
		version, kind = certmanagerv1.SchemeGroupVersion, certmanagerv1.CertificateRequestKind
	default:
		return builtin.Verdict{}, fmt.Errorf("%T is not a certificate request", object)
	}
	facts, err := a.requestFacts(ctx, a.direct, ca)
	if err != nil {
		return builtin.Verdict{}, err
	}
	if !facts.Authority {
		return builtin.Verdict{}, fmt.Errorf("there is no CertificateAuthority %s", ca)
	}
	facts.MayReference = true // checked when the request was created
	return a.admit(ctx, object, version, kind, facts)
}

func (a *admitter) signingRequestFacts(ctx context.Context, review *admission.Review) (any, error) {
	request, err := system.Read[struct {
		Spec struct{ SignerName string }
	}](review, review.Object)
	if err != nil {
		return nil, err
	}
	namespace, name, ok := rules.ParseSigner(request.Spec.SignerName)
	if !ok {
		return rules.RequestFacts{MayReference: true}, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if review.Operation != "CREATE" {
		return a.requestFacts(ctx, a.cached, key)
	}
	// The question to the API server takes longer than the rules. Most requesters have the
	// permission, so the rules are evaluated meanwhile as if this one had it.
	may, err := a.mayReference(ctx, review, request.Spec.SignerName)
	if err != nil {
		return nil, err
	}
	facts, err := a.requestFacts(ctx, a.cached, key)
	if err != nil {
		_, unanswered := may()
		return nil, errors.Join(err, unanswered)
	}
	facts.MayReference = true
	return &builtin.Assumption{Facts: facts, Confirm: func() (any, error) {
		allowed, err := may()
		if err != nil || allowed {
			return nil, err
		}
		refused := facts
		refused.MayReference = false
		return refused, nil
	}}, nil
}

func (a *admitter) certificateRequestFacts(ctx context.Context, review *admission.Review) (any, error) {
	request, err := system.Read[struct {
		Spec struct {
			IssuerRef struct{ Name, Kind, Group string }
		}
	}](review, review.Object)
	if err != nil {
		return nil, err
	}
	return a.requestFacts(ctx, a.cached, client.ObjectKey{Namespace: review.Namespace, Name: request.Spec.IssuerRef.Name})
}

// requestFacts are what decides about a request to a CertificateAuthority.
func (a *admitter) requestFacts(ctx context.Context, reader client.Reader, key client.ObjectKey) (rules.RequestFacts, error) {
	facts := rules.RequestFacts{}
	var ca v1alpha1.CertificateAuthority
	if err := reader.Get(ctx, key, &ca); apierrors.IsNotFound(err) {
		return facts, nil
	} else if err != nil {
		return facts, fmt.Errorf("reading CertificateAuthority %s: %w", key, err)
	}
	var policies v1alpha1.SigningPolicyList
	if err := reader.List(ctx, &policies, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("listing the SigningPolicies of %s: %w", key, err)
	}
	certificates, err := layout.CertificatesIn(ctx, reader, key.Namespace)
	if err != nil {
		return facts, err
	}
	secrets := &secretValues{ctx: ctx, reader: a.direct, authorities: reader, namespace: key.Namespace, read: map[string]*corev1.Secret{}}
	facts.Authority = true
	facts.Rendered = rules.Render(&ca, policies.Items, certificates, secrets.value)
	return facts, secrets.failure
}
