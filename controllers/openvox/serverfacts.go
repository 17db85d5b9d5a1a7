package openvox

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

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
