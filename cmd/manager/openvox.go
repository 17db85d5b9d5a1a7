package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/webhooks"
)

// openVox asks the rules for OpenVox's kinds, and for requests to its CAs.
type openVox struct {
	cached   client.Client // of OpenVox's kinds
	direct   client.Client // of Secrets, of which none is kept, of what is permitted, and of what a final answer goes by
	snapshot *engine.Snapshot
	// namespaces are those whose objects are judged: all where there are none.
	namespaces []string
}

// newOpenVox is the system openvox.
func newOpenVox(ctx context.Context, mgr manager.Manager, o *options, on bool) ([]webhooks.Product, error) {
	set, err := rules.Set()
	if err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	direct, err := unlimitedClient(mgr)
	if err != nil {
		return nil, err
	}
	s := &openVox{cached: mgr.GetClient(), direct: direct, snapshot: engine.NewSnapshot(admission.BuiltinResources(), set), namespaces: o.openvoxNamespaces}
	products := s.products(on)
	if !on {
		return products, nil
	}
	// Or the first review would wait for the cache.
	for _, kind := range []client.Object{&openvoxv1alpha1.CertificateAuthority{}, &openvoxv1alpha1.SigningPolicy{}, &openvoxv1alpha1.Certificate{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return products, openvox.SetupWithManager(mgr, openvox.Options{
		KeyBits: o.openvoxKeyBits, Approve: o.openvoxApprove,
		Admitter: s.admitCertificate, RequestAdmitter: s.admitRequest, ConfigAdmitter: s.admitConfig,
		Namespaces: o.openvoxNamespaces, ExternalOnly: o.openvoxExternalOnly, Registry: metrics.Registry,
	})
}

// unlimitedClient asks the API server at once: a review that waits for its turn among the
// manager's requests, twenty a second, would wait longer than it takes.
func unlimitedClient(mgr manager.Manager) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the API server's own fairness limits better
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("setting up the client of OpenVox: %w", err)
	}
	return direct, nil
}

// admitCertificate asks the rules about a stored Certificate as if it were created now.
func (s *openVox) admitCertificate(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	certificate, ok := object.(*openvoxv1alpha1.Certificate)
	if !ok {
		return builtin.Verdict{}, fmt.Errorf("%T is no Certificate", object)
	}
	all, err := certificatesIn(ctx, s.cached, certificate.Namespace)
	if err != nil {
		return builtin.Verdict{}, err
	}
	facts, err := s.atAuthority(ctx, certificate, rules.OlderClaims(certificate, all))
	if err != nil {
		return builtin.Verdict{}, err
	}
	return s.admit(ctx, object, openvoxv1alpha1.SchemeGroupVersion, "Certificate", facts)
}

// atAuthority adds to facts about a Certificate what its CertificateAuthority says of it.
func (s *openVox) atAuthority(ctx context.Context, certificate *openvoxv1alpha1.Certificate, facts rules.CertificateFacts) (rules.CertificateFacts, error) {
	var ca openvoxv1alpha1.CertificateAuthority
	err := s.cached.Get(ctx, client.ObjectKey{Namespace: certificate.Namespace, Name: certificate.Spec.AuthorityRef}, &ca)
	if apierrors.IsNotFound(err) {
		return facts, nil
	}
	if err != nil {
		return facts, fmt.Errorf("reading CertificateAuthority %s: %w", certificate.Spec.AuthorityRef, err)
	}
	return facts.At(&ca, certificate), nil
}

// admitConfig asks the rules about a stored Config, which may be older than they are.
func (s *openVox) admitConfig(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	return s.admit(ctx, object, openvoxv1alpha1.SchemeGroupVersion, "Config", nil)
}

// admitRequest asks the rules about a stored request: they may have changed since. What
// they go by is read from the API server, for the answer is final.
func (s *openVox) admitRequest(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	ca, version, kind := client.ObjectKey{}, schema.GroupVersion{}, ""
	switch request := object.(type) {
	case *certificatesv1.CertificateSigningRequest:
		ca.Namespace, ca.Name, _ = rules.ParseSigner(request.Spec.SignerName)
		version, kind = certificatesv1.SchemeGroupVersion, "CertificateSigningRequest"
	case *certmanagerv1.CertificateRequest:
		ca = client.ObjectKey{Namespace: request.Namespace, Name: request.Spec.IssuerRef.Name}
		version, kind = certmanagerv1.SchemeGroupVersion, certmanagerv1.CertificateRequestKind
	default:
		return builtin.Verdict{}, fmt.Errorf("%T is no request for a certificate", object)
	}
	facts, err := s.requestFacts(ctx, s.direct, ca)
	if err != nil {
		return builtin.Verdict{}, err
	}
	if !facts.Authority {
		return builtin.Verdict{}, fmt.Errorf("there is no CertificateAuthority %s", ca)
	}
	facts.MayReference = true // asked when it was made
	return s.admit(ctx, object, version, kind, facts)
}

func (s *openVox) admit(ctx context.Context, object builtin.Object, version schema.GroupVersion, kind string, facts any) (builtin.Verdict, error) {
	return builtin.Ask(ctx, s.snapshot, builtin.Question{
		Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind},
		Resource: strings.ToLower(kind) + "s",
		Object:   object, Facts: facts,
	})
}

// products are the entries for OpenVox's kinds and for requests. Where the system is
// off they are there and called for nothing: entries never come and go.
func (s *openVox) products(on bool) []webhooks.Product {
	known := func(context.Context, *admission.Review) (any, error) { return rules.KnownNames(), nil }
	entries := []webhooks.BuiltIn{
		{Name: "openvox-certificate", Entry: "vcertificate.kb.io", Facts: s.certificateFacts, Rules: openVoxRules("certificates")},
		{Name: "openvox-certificateauthority", Entry: "vcertificateauthority.kb.io", Facts: s.authorityFacts, Rules: openVoxRules("certificateauthorities")},
		{Name: "openvox-config", Entry: "vconfig.kb.io", Rules: openVoxRules("configs")},
		{Name: "openvox-signingpolicy", Entry: "vsigningpolicy.kb.io", Facts: known, Rules: openVoxRules("signingpolicies")},
		{Name: "openvox-certificatesigningrequest", Entry: "certificatesigningrequest.openvox.voxpupuli.org", Facts: s.signingRequestFacts, Rules: signingRequestRules()},
		{Name: "openvox-certificaterequest", Entry: "certificaterequest.openvox.voxpupuli.org", Facts: s.certificateRequestFacts, Rules: certificateRequestRules()},
	}
	var products []webhooks.Product
	for _, entry := range entries {
		entry.Snapshot = s.snapshot
		if !on {
			entry.Rules = nil
		}
		product := entry.Validating()
		product.MatchConditions = append(slices.Clone(openVoxConditions[entry.Entry]), s.within(entry.Entry)...)
		products = append(products, product)
	}
	return products
}

// openVoxConditions keep all requests to other signers and issuers away. Each field is
// guarded, because a condition that errs denies.
var openVoxConditions = map[string][]admissionregistrationv1.MatchCondition{
	"certificatesigningrequest.openvox.voxpupuli.org": {
		{Name: "to-a-certificateauthority", Expression: `object != null && has(object.spec) && has(object.spec.signerName) && object.spec.signerName.startsWith("` + rules.SignerPrefix + `")`},
		{Name: "made-or-approved", Expression: `request.operation == "CREATE" || (has(object.status) && has(object.status.conditions) && object.status.conditions.exists(c, c.type == "Approved"))`},
	},
	"certificaterequest.openvox.voxpupuli.org": {
		{Name: "to-a-certificateauthority", Expression: `object != null && has(object.spec) && has(object.spec.issuerRef) && has(object.spec.issuerRef.group) && object.spec.issuerRef.group == "` + openvoxv1alpha1.GroupName + `"`},
	},
}

// within keeps what is in other namespaces, or for a CA there, away: somebody else may serve
// it, and it is not looked at here.
func (s *openVox) within(entry string) []admissionregistrationv1.MatchCondition {
	if len(s.namespaces) == 0 {
		return nil
	}
	var quoted []string
	for _, namespace := range s.namespaces {
		quoted = append(quoted, "'"+namespace+"'")
	}
	expression := "request.namespace in [%s]"
	if entry == "certificatesigningrequest.openvox.voxpupuli.org" { // of no namespace; its CA is of one
		expression = "[%s].exists(n, object.spec.signerName.startsWith('" + rules.SignerPrefix + "' + n + '.'))"
	}
	return []admissionregistrationv1.MatchCondition{{Name: "in-a-namespace-of-openvox", Expression: fmt.Sprintf(expression, strings.Join(quoted, ", "))}}
}

func openVoxRules(resource string) []admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.NamespacedScope
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{openvoxv1alpha1.GroupName}, APIVersions: []string{openvoxv1alpha1.SchemeGroupVersion.Version},
			Resources: []string{resource}, Scope: &scope,
		},
	}}
}

func signingRequestRules() []admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.ClusterScope
	rule := func(operation admissionregistrationv1.OperationType, resource string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{operation},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"certificates.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{resource}, Scope: &scope},
		}
	}
	return []admissionregistrationv1.RuleWithOperations{
		rule(admissionregistrationv1.Create, "certificatesigningrequests"),
		rule(admissionregistrationv1.Update, "certificatesigningrequests/approval"),
	}
}

func certificateRequestRules() []admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.NamespacedScope
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"cert-manager.io"}, APIVersions: []string{"v1"}, Resources: []string{"certificaterequests"}, Scope: &scope},
	}}
}

func (s *openVox) signingRequestFacts(ctx context.Context, review *admission.Review) (any, error) {
	var request struct {
		Spec struct{ SignerName string }
	}
	if err := readObject(review, &request); err != nil {
		return nil, err
	}
	namespace, name, ok := rules.ParseSigner(request.Spec.SignerName)
	if !ok {
		return rules.RequestFacts{MayReference: true}, nil
	}
	facts, err := s.requestFacts(ctx, s.cached, client.ObjectKey{Namespace: namespace, Name: name})
	if err != nil || review.Operation != "CREATE" {
		return facts, err
	}
	facts.MayReference, err = s.mayReference(ctx, review, request.Spec.SignerName)
	return facts, err
}

func (s *openVox) certificateRequestFacts(ctx context.Context, review *admission.Review) (any, error) {
	var request struct {
		Spec struct {
			IssuerRef struct{ Name, Kind, Group string }
		}
	}
	if err := readObject(review, &request); err != nil {
		return nil, err
	}
	return s.requestFacts(ctx, s.cached, client.ObjectKey{Namespace: review.Namespace, Name: request.Spec.IssuerRef.Name})
}

// requestFacts are what decides about a request to a CertificateAuthority.
func (s *openVox) requestFacts(ctx context.Context, reader client.Reader, key client.ObjectKey) (rules.RequestFacts, error) {
	facts := rules.RequestFacts{}
	var ca openvoxv1alpha1.CertificateAuthority
	if err := reader.Get(ctx, key, &ca); apierrors.IsNotFound(err) {
		return facts, nil
	} else if err != nil {
		return facts, fmt.Errorf("reading CertificateAuthority %s: %w", key, err)
	}
	var policies openvoxv1alpha1.SigningPolicyList
	if err := reader.List(ctx, &policies, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("listing the SigningPolicies of %s: %w", key, err)
	}
	certificates, err := certificatesIn(ctx, reader, key.Namespace)
	if err != nil {
		return facts, err
	}
	secrets := &secretValues{ctx: ctx, reader: s.direct, namespace: key.Namespace, read: map[string]*corev1.Secret{}}
	facts.Authority = true
	facts.Rendered = rules.Render(&ca, policies.Items, certificates, secrets.value)
	return facts, secrets.failure
}

// certificatesIn are those of a namespace, for reading only.
func certificatesIn(ctx context.Context, reader client.Reader, namespace string) ([]openvoxv1alpha1.Certificate, error) {
	var list openvoxv1alpha1.CertificateList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Certificates of %s: %w", namespace, err)
	}
	return list.Items, nil
}

// certificateFacts are about a Certificate that is to be stored.
func (s *openVox) certificateFacts(ctx context.Context, review *admission.Review) (any, error) {
	var certificate openvoxv1alpha1.Certificate
	if err := readObject(review, &certificate); err != nil {
		return nil, err
	}
	certificate.Name, certificate.Namespace = review.Name, review.Namespace
	all, err := certificatesIn(ctx, s.cached, review.Namespace)
	if err != nil {
		return nil, err
	}
	return s.atAuthority(ctx, &certificate, rules.Claims(&certificate, all))
}

// authorityFacts are about a CertificateAuthority that is to be stored.
func (s *openVox) authorityFacts(ctx context.Context, review *admission.Review) (any, error) {
	var ca openvoxv1alpha1.CertificateAuthority
	if err := readObject(review, &ca); err != nil {
		return nil, err
	}
	name := ca.Spec.IntermediateCA.SecretName
	if !ca.Spec.IntermediateCA.Enabled || name == "" {
		return rules.AuthorityFacts{}, nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := s.direct.Get(ctx, client.ObjectKey{Namespace: review.Namespace, Name: name}, secret)
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
	ctx       context.Context
	reader    client.Reader
	namespace string
	read      map[string]*corev1.Secret
	// failure is that the API server gave no answer, which says nothing about a Secret.
	failure error
}

func (v *secretValues) value(name, key string) (string, error) {
	secret, ok := v.read[name]
	if !ok {
		secret = &corev1.Secret{}
		if err := v.reader.Get(v.ctx, client.ObjectKey{Namespace: v.namespace, Name: name}, secret); err != nil {
			err = fmt.Errorf("reading Secret %s: %w", name, err)
			if !apierrors.IsNotFound(err) {
				v.failure = err
			}
			return "", err
		}
		v.read[name] = secret
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("the Secret %s has no key %q", name, key)
	}
	return string(value), nil
}

// mayReference asks whether the requester may name the signer.
func (s *openVox) mayReference(ctx context.Context, review *admission.Review, signer string) (bool, error) {
	text, err := review.UserInfo()
	if err != nil {
		return false, err
	}
	var user authenticationv1.UserInfo
	if err := json.Unmarshal(text, &user); err != nil {
		return false, fmt.Errorf("reading the requester: %w", err)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "signers", Verb: "reference", Name: signer},
	}}
	for key, values := range user.Extra {
		access.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := s.direct.Create(ctx, access); err != nil {
		return false, fmt.Errorf("asking whether %s may reference signer %s: %w", user.Username, signer, err)
	}
	return access.Status.Allowed, nil
}

func readObject(review *admission.Review, into any) error {
	text, err := review.Object()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the %s: %w", review.Kind.Kind, err)
	}
	return nil
}
