package openvox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/issuing"
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
	all, err := issuing.CertificatesIn(ctx, a.cached, certificate.Namespace)
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

// admitConfig evaluates the rules for a stored Config, which may be older than the rules.
func (a *admitter) admitConfig(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	config, ok := object.(*v1alpha1.Config)
	if !ok {
		return builtin.Verdict{}, fmt.Errorf("%T is not a Config", object)
	}
	facts, err := a.aboutConfig(ctx, config)
	if err != nil {
		return builtin.Verdict{}, err
	}
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "Config", facts)
}

// configFacts are about a Config that is to be stored.
func (a *admitter) configFacts(ctx context.Context, review *admission.Review) (any, error) {
	config, err := system.Read[v1alpha1.Config](review, review.Object)
	if err != nil {
		return nil, err
	}
	config.Name, config.Namespace = review.Name, review.Namespace
	facts, err := a.aboutConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	facts.Unreadable, err = a.unreadableByConfig(ctx, review, config)
	return facts, err
}

// mostAsked is how many permissions one request is asked about. Of objects beyond, the requester has
// none.
const mostAsked = 64

// unreadableByConfig are the objects that the Servers of a Config read by programs that a request
// changes, and that the requester may neither get nor mount in a Pod.
func (a *admitter) unreadableByConfig(ctx context.Context, review *admission.Review, config *v1alpha1.Config) (unreadable []rules.UnreadableObject, err error) {
	var before *v1alpha1.ConfigSpec
	if review.Operation == "UPDATE" {
		former, err := system.Read[v1alpha1.Config](review, review.OldObject)
		if err != nil {
			return nil, err
		}
		before = &former.Spec
	}
	servers, err := layout.ServersIn(ctx, a.cached, review.Namespace)
	if err != nil {
		return nil, err
	}
	used := rules.UsedByConfig(config, before, servers)
	if len(used) == 0 {
		return nil, nil
	}
	allowed, err := a.may(ctx, review, authorizationv1.ResourceAttributes{Namespace: review.Namespace, Verb: "create", Resource: "pods"})
	if err != nil || allowed {
		return nil, err
	}
	resources := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps"}
	for i, object := range used {
		resource, gettable := resources[object.Kind]
		allowed := false
		if gettable && i < mostAsked {
			if allowed, err = a.may(ctx, review, authorizationv1.ResourceAttributes{Namespace: review.Namespace, Verb: "get", Resource: resource, Name: object.Name}); err != nil {
				return nil, err
			}
		}
		if !allowed {
			unreadable = append(unreadable, object)
		}
	}
	return unreadable, nil
}

func (a *admitter) aboutConfig(ctx context.Context, config *v1alpha1.Config) (facts rules.ConfigFacts, err error) {
	if config.Spec.Puppet.AutosignCommand == "" {
		return facts, nil
	}
	var policies v1alpha1.SigningPolicyList
	if err := a.cached.List(ctx, &policies, client.InNamespace(config.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("listing the SigningPolicies of %s: %w", config.Namespace, err)
	}
	for i := range policies.Items {
		if policy := &policies.Items[i]; policy.Spec.CertificateAuthorityRef == config.Spec.AuthorityRef && policy.DeletionTimestamp.IsZero() {
			facts.SigningPolicies = append(facts.SigningPolicies, policy.Name)
		}
	}
	slices.Sort(facts.SigningPolicies)
	return facts, nil
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

// admitServer evaluates the rules for a stored Server as if it were created now. Of two that
// were created concurrently, the older one keeps the CA.
func (a *admitter) admitServer(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	server, ok := object.(*v1alpha1.Server)
	if !ok {
		return builtin.Verdict{}, fmt.Errorf("%T is not a Server", object)
	}
	facts, err := a.aboutServer(ctx, server, rules.Unreadable{}, rules.Older[*v1alpha1.Server])
	if err != nil {
		return builtin.Verdict{}, err
	}
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "Server", facts)
}

// admitPool evaluates the rules for a stored Pool. The controller of Pools decides which of them
// owns a host name.
func (a *admitter) admitPool(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	namespace, err := a.tenants.Namespace(ctx, object.GetNamespace())
	if err != nil {
		return builtin.Verdict{}, fmt.Errorf("reading Namespace %s: %w", object.GetNamespace(), err)
	}
	return builtin.Ask(ctx, a.snapshot, builtin.Question{
		Kind:     metav1.GroupVersionKind{Group: v1alpha1.GroupName, Version: v1alpha1.SchemeGroupVersion.Version, Kind: "Pool"},
		Resource: "pools", Object: object, Facts: rules.PoolFacts{}, Namespace: namespace,
	})
}

// admitDatabase evaluates the rules for a stored Database.
func (a *admitter) admitDatabase(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "Database", nil)
}

// serverFacts are about a Server that is to be stored.
func (a *admitter) serverFacts(ctx context.Context, review *admission.Review) (any, error) {
	server, err := system.Read[v1alpha1.Server](review, review.Object)
	if err != nil {
		return nil, err
	}
	server.Name, server.Namespace = review.Name, review.Namespace
	unreadable, err := a.unreadable(ctx, review, &server.Spec)
	if err != nil {
		return nil, err
	}
	facts, err := a.aboutServer(ctx, server, unreadable, func(other, of *v1alpha1.Server) bool { return other.Name != of.Name })
	facts.Unreadable = unreadable
	return facts, err
}

// unreadable returns the objects whose use in a Server's Pods a request changes, and that the
// requester may neither get nor mount in a Pod. A user who may create Pods may use all of them,
// except those that the rules protect.
func (a *admitter) unreadable(ctx context.Context, review *admission.Review, spec *v1alpha1.ServerSpec) (unreadable rules.Unreadable, err error) {
	var before *v1alpha1.ServerSpec
	if review.Operation == "UPDATE" {
		former, err := system.Read[v1alpha1.Server](review, review.OldObject)
		if err != nil {
			return unreadable, err
		}
		before = &former.Spec
	}
	used := rules.UseChanged(before, spec)
	if len(used.Secrets)+len(used.ConfigMaps)+len(used.Claims) == 0 || len(used.Secrets) > rules.MostReferences || len(used.ConfigMaps) > rules.MostReferences {
		return unreadable, nil // nothing to ask about, or denied in any case
	}
	allowed, err := a.may(ctx, review, authorizationv1.ResourceAttributes{Namespace: review.Namespace, Verb: "create", Resource: "pods"})
	if err != nil || allowed {
		return unreadable, err
	}
	unreadable.Claims = used.Claims // no permission to get one reads its files
	if unreadable.Secrets, err = a.mayNotGet(ctx, review, "secrets", used.Secrets); err != nil {
		return unreadable, err
	}
	unreadable.ConfigMaps, err = a.mayNotGet(ctx, review, "configmaps", used.ConfigMaps)
	return unreadable, err
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

// aboutServer returns the other relevant Servers of the CA, and the facts about the Secrets and
// claims that a Server names. Unreadable ones are denied without being read, so that no answer
// depends on whether they exist.
func (a *admitter) aboutServer(ctx context.Context, server *v1alpha1.Server, unreadable rules.Unreadable, counts func(other, of *v1alpha1.Server) bool) (facts rules.ServerFacts, err error) {
	extras := rules.ServerFacts{ProtectedSecrets: map[string]string{}}
	secrets := rules.SecretsOf(&server.Spec)
	if len(secrets) > rules.MostReferences {
		secrets = nil // it is denied in any case
	}
	for _, name := range secrets {
		if slices.Contains(unreadable.Secrets, name) {
			continue
		}
		secret, err := layout.ReadSecret(ctx, a.direct, server.Namespace, name)
		if err != nil {
			return facts, err
		}
		if secret == nil {
			continue
		}
		what, err := layout.ReservedKeyIn(ctx, a.cached, secret)
		if err != nil {
			return facts, err
		}
		if what != "" {
			extras.ProtectedSecrets[name] = what
		}
	}
	for _, name := range rules.ClaimsOf(&server.Spec) {
		if slices.Contains(unreadable.Claims, name) {
			continue
		}
		claim, err := layout.FindClaim(ctx, a.cached, a.direct, server.Namespace, name)
		if err != nil {
			return facts, err
		}
		if claim == layout.CAVolume {
			extras.AuthorityClaims = append(extras.AuthorityClaims, name)
		}
	}
	if !server.Spec.CA {
		return extras, nil
	}
	servers, err := layout.ServersIn(ctx, a.cached, server.Namespace)
	if err != nil {
		return facts, err
	}
	configs, err := layout.ConfigsIn(ctx, a.cached, server.Namespace)
	if err != nil {
		return facts, err
	}
	extras.OtherCAServers = rules.CAServers(server, servers, configs, counts).OtherCAServers
	return extras, nil
}

// poolFacts are about a Pool that is to be stored.
func (a *admitter) poolFacts(ctx context.Context, review *admission.Review) (any, error) {
	pool, err := system.Read[v1alpha1.Pool](review, review.Object)
	if err != nil {
		return nil, err
	}
	pool.Name, pool.Namespace = review.Name, review.Namespace
	var pools v1alpha1.PoolList
	if err := a.cached.List(ctx, &pools, client.InNamespace(review.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Pools of %s: %w", review.Namespace, err)
	}
	return rules.PoolFacts{HostTakenBy: rules.HostTaken(pool, pools.Items)}, nil
}

// admitClassifier evaluates the rules for a stored NodeClassifier.
func (a *admitter) admitClassifier(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "NodeClassifier", nil)
}

// admitProcessor evaluates the rules for a stored ReportProcessor.
func (a *admitter) admitProcessor(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	return a.admit(ctx, object, v1alpha1.SchemeGroupVersion, "ReportProcessor", nil)
}

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

func (a *admitter) admit(ctx context.Context, object builtin.Object, version schema.GroupVersion, kind string, facts any) (builtin.Verdict, error) {
	return builtin.Ask(ctx, a.snapshot, builtin.Question{
		Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind},
		Resource: strings.ToLower(kind) + "s",
		Object:   object, Facts: facts,
	})
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
	facts, err := a.requestFacts(ctx, a.cached, client.ObjectKey{Namespace: namespace, Name: name})
	if err != nil || review.Operation != "CREATE" {
		return facts, err
	}
	facts.MayReference, err = a.mayReference(ctx, review, request.Spec.SignerName)
	return facts, err
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
	certificates, err := issuing.CertificatesIn(ctx, reader, key.Namespace)
	if err != nil {
		return facts, err
	}
	secrets := &secretValues{ctx: ctx, reader: a.direct, authorities: reader, namespace: key.Namespace, read: map[string]*corev1.Secret{}}
	facts.Authority = true
	facts.Rendered = rules.Render(&ca, policies.Items, certificates, secrets.value)
	return facts, secrets.failure
}

// certificateFacts are about a Certificate that is to be stored.
func (a *admitter) certificateFacts(ctx context.Context, review *admission.Review) (any, error) {
	certificate, err := system.Read[v1alpha1.Certificate](review, review.Object)
	if err != nil {
		return nil, err
	}
	certificate.Name, certificate.Namespace = review.Name, review.Namespace
	all, err := issuing.CertificatesIn(ctx, a.cached, review.Namespace)
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

// mayReference asks whether the requester may name the signer.
func (a *admitter) mayReference(ctx context.Context, review *admission.Review, signer string) (bool, error) {
	return a.may(ctx, review, authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "signers", Verb: "reference", Name: signer})
}

// may asks whether the requester has a permission.
func (a *admitter) may(ctx context.Context, review *admission.Review, permission authorizationv1.ResourceAttributes) (bool, error) {
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
		ResourceAttributes: &permission,
	}}
	for key, values := range user.Extra {
		access.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := a.direct.Create(ctx, access); err != nil {
		return false, fmt.Errorf("asking whether %s may %s %s %s: %w", user.Username, permission.Verb, permission.Resource, permission.Name, err)
	}
	return access.Status.Allowed, nil
}
