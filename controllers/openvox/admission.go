package openvox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// admitter evaluates the rules for OpenVox's kinds, and for requests to its CAs.
type admitter struct {
	keyBits               int
	approve, externalOnly bool

	cached   client.Client // of OpenVox's kinds
	direct   client.Client // uncached: Secrets, access reviews, and the inputs of a final answer
	snapshot *engine.Snapshot
	// tenants finds the Namespace of a Pool, which lists the addresses that the Pool may have.
	tenants builtin.NamespaceGetter
	// namespaces are those whose objects are reviewed: all if empty.
	namespaces []string
}

// admitCertificate evaluates the rules for a stored Certificate as if it were created now.
func (a *admitter) admitCertificate(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	certificate, ok := object.(*v1alpha1.Certificate)
	if !ok {
		return builtin.Verdict{}, fmt.Errorf("%T is not a Certificate", object)
	}
	all, err := layout.CertificatesIn(ctx, a.cached, certificate.Namespace)
	if err != nil {
		return builtin.Verdict{}, err
	}
	facts, err := a.atAuthority(ctx, certificate, rules.OlderClaims(certificate, all))
	if err != nil {
		return builtin.Verdict{}, err
	}
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "Certificate", facts)
}

// atAuthority adds to facts about a Certificate what its CertificateAuthority says of it.
func (a *admitter) atAuthority(ctx context.Context, certificate *v1alpha1.Certificate, facts rules.CertificateFacts) (rules.CertificateFacts, error) {
	var ca v1alpha1.CertificateAuthority
	err := a.cached.Get(ctx, client.ObjectKey{Namespace: certificate.Namespace, Name: certificate.Spec.AuthorityRef}, &ca)
	if apierrors.IsNotFound(err) {
		return facts, nil
	}
	if err != nil {
		return facts, fmt.Errorf("reading CertificateAuthority %s: %w", certificate.Spec.AuthorityRef, err)
	}
	return facts.At(&ca, certificate), nil
}

// signingPolicyFacts are about a SigningPolicy that is to be stored.
func (a *admitter) signingPolicyFacts(ctx context.Context, review *admission.Review) (any, error) {
	policy, err := system.Read[v1alpha1.SigningPolicy](review, review.Object)
	if err != nil {
		return nil, err
	}
	configs, err := layout.ConfigsIn(ctx, a.cached, review.Namespace)
	if err != nil {
		return nil, err
	}
	servers, err := layout.ServersIn(ctx, a.cached, review.Namespace)
	if err != nil {
		return nil, err
	}
	policy.Name, policy.Namespace = review.Name, review.Namespace
	var former *v1alpha1.SigningPolicy
	if review.Operation == "UPDATE" {
		if former, err = system.Read[v1alpha1.SigningPolicy](review, review.OldObject); err != nil {
			return nil, err
		}
	}
	var policies v1alpha1.SigningPolicyList
	if err := a.cached.List(ctx, &policies, client.InNamespace(review.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the SigningPolicies of %s: %w", review.Namespace, err)
	}
	return rules.SigningPolicyFacts{
		PolicyFacts: rules.KnownNames(), AutosignConfigs: rules.AutosignConfigs(policy.Spec.CertificateAuthorityRef, configs, servers),
		PolicySizes: rules.SizesOf(policy, former, policies.Items),
	}, nil
}

// mayNotGet are those of some objects that the requester may not get.
func (a *admitter) mayNotGet(ctx context.Context, review *admission.Review, resource string, names []string) (refused []string, err error) {
	for _, name := range names {
		allowed, err := a.may(ctx, review, authorizationv1.ResourceAttributes{Namespace: review.Namespace, Verb: "get", Resource: resource, Name: name})
		if err != nil {
			return nil, err
		}
		if !allowed {
			refused = append(refused, name)
		}
	}
	return refused, nil
}

func (a *admitter) admit(ctx context.Context, object builtin.Object, version schema.GroupVersion, kind string, facts any) (builtin.Verdict, error) {
	return builtin.Ask(ctx, a.snapshot, builtin.Question{
		Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind},
		Resource: strings.ToLower(kind) + "s",
		Object:   object, Facts: facts,
	})
}

// certificateFacts are about a Certificate that is to be stored.
func (a *admitter) certificateFacts(ctx context.Context, review *admission.Review) (any, error) {
	certificate, err := system.Read[v1alpha1.Certificate](review, review.Object)
	if err != nil {
		return nil, err
	}
	certificate.Name, certificate.Namespace = review.Name, review.Namespace
	all, err := layout.CertificatesIn(ctx, a.cached, review.Namespace)
	if err != nil {
		return nil, err
	}
	return a.atAuthority(ctx, certificate, rules.Claims(certificate, all))
}

// authorityFacts are about a CertificateAuthority that is to be stored.
func (a *admitter) authorityFacts(ctx context.Context, review *admission.Review) (any, error) {
	ca, err := system.Read[v1alpha1.CertificateAuthority](review, review.Object)
	if err != nil {
		return nil, err
	}
	name := ca.Spec.IntermediateCA.SecretName
	if !ca.Spec.IntermediateCA.Enabled || name == "" {
		return rules.AuthorityFacts{}, nil
	}
	secret := object.MetadataOf(object.SecretKind)
	err = a.direct.Get(ctx, client.ObjectKey{Namespace: review.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return rules.AuthorityFacts{}, nil // the setup Job waits for it
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return rules.AuthorityFacts{IntermediateFor: new(secret.Annotations[rules.IntermediateAnnotation])}, nil
}

// secretValues reads the Secrets that signing policies name, each at most once.
type secretValues struct {
	ctx                 context.Context
	reader, authorities client.Reader
	namespace           string
	read                map[string]*corev1.Secret
	// failure is that the API server gave no answer, which says nothing about a Secret.
	failure error
}

func (v *secretValues) value(name, key string) (string, error) {
	secret, ok := v.read[name]
	if !ok {
		secret = &corev1.Secret{}
		if err := v.reader.Get(v.ctx, client.ObjectKey{Namespace: v.namespace, Name: name}, secret); err != nil {
			if apierrors.IsNotFound(err) {
				return "", layout.NoSecretValue(name, key, layout.OfItsOwn)
			}
			v.failure = fmt.Errorf("reading Secret %s: %w", name, err)
			return "", v.failure
		}
		v.read[name] = secret
	}
	value, problem, err := layout.PolicyValue(v.ctx, v.authorities, name, secret, key)
	if err != nil {
		v.failure = err
	}
	return value, errors.Join(problem, err)
}

// mayReference asks whether the requester may name the signer. It does not wait for the answer, for
// which answer waits; answer must be called.
func (a *admitter) mayReference(ctx context.Context, review *admission.Review, signer string) (answer func() (bool, error), err error) {
	access, err := accessReviewOf(review, authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "signers", Verb: "reference", Name: signer})
	if err != nil {
		return nil, err
	}
	var allowed bool
	var failure error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		allowed, failure = a.ask(ctx, access)
	}()
	return func() (bool, error) {
		<-answered
		return allowed, failure
	}, nil
}

// may asks whether the requester has a permission.
func (a *admitter) may(ctx context.Context, review *admission.Review, permission authorizationv1.ResourceAttributes) (bool, error) {
	access, err := accessReviewOf(review, permission)
	if err != nil {
		return false, err
	}
	return a.ask(ctx, access)
}

// accessReviewOf is the question whether the requester has a permission.
func accessReviewOf(review *admission.Review, permission authorizationv1.ResourceAttributes) (*authorizationv1.SubjectAccessReview, error) {
	text, err := review.UserInfo()
	if err != nil {
		return nil, err
	}
	var user authenticationv1.UserInfo
	if err := json.Unmarshal(text, &user); err != nil {
		return nil, fmt.Errorf("reading the requester: %w", err)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &permission,
	}}
	for key, values := range user.Extra {
		access.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	return access, nil
}

func (a *admitter) ask(ctx context.Context, access *authorizationv1.SubjectAccessReview) (bool, error) {
	permission := access.Spec.ResourceAttributes
	if err := a.direct.Create(ctx, access); err != nil {
		return false, fmt.Errorf("asking whether %s may %s %s %s: %w", access.Spec.User, permission.Verb, permission.Resource, permission.Name, err)
	}
	return access.Status.Allowed, nil
}
