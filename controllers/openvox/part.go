package openvox

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// Part is the system openvox.
func Part() system.Part {
	a := &admitter{}
	return system.Part{
		Flags: a.flags, Check: a.check, Scheme: v1alpha1.AddToScheme,
		Caches: a.caches, Controls: a.controls, SetUp: a.setUp,
	}
}

func (a *admitter) flags(flags *pflag.FlagSet) {
	flags.IntVar(&a.keyBits, "openvox-key-bits", 4096, "`bits` of the RSA keys of Certificates, from 2048 to 8192")
	flags.BoolVar(&a.approve, "openvox-approve-requests", false, "approve the requests to CertificateAuthorities that signing policies permit, and deny the others; needs config/rbac/openvox-approval")
	flags.StringSliceVar(&a.namespaces, "openvox-namespaces", nil, "`namespaces` whose OpenVox objects are reviewed and applied, for which config/rbac/openvox-namespaced is enough; none: all")
	flags.BoolVar(&a.externalOnly, "openvox-external-only", false, "set up no CertificateAuthorities in the cluster, for which config/rbac/openvox-external is enough")
}

func (a *admitter) check() error {
	if a.keyBits < 2048 || a.keyBits > 8192 {
		return fmt.Errorf("--openvox-key-bits=%d is not from 2048 to 8192", a.keyBits)
	}
	return system.CheckNamespaces("openvox-namespaces", a.namespaces)
}

func (a *admitter) setUp(ctx context.Context, mgr system.Manager, on bool) ([]builtin.Product, error) {
	snapshot, err := rules.New()
	if err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	if a.direct, err = unlimitedClient(mgr.Manager); err != nil {
		return nil, err
	}
	a.cached, a.snapshot = mgr.GetClient(), snapshot
	a.tenants = mgr.Namespaces(a.cached, a.direct)
	products := a.products(on)
	if !on {
		return products, nil
	}
	// Or the first review would wait for the cache.
	for _, kind := range reviewedKinds() {
		if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return products, a.addControllers(mgr)
}

// reviewedKinds returns the kinds that reviews depend on.
func reviewedKinds() []client.Object {
	return []client.Object{&v1alpha1.CertificateAuthority{}, &v1alpha1.SigningPolicy{}, &v1alpha1.Certificate{}, &v1alpha1.Config{}, &v1alpha1.Server{}, &v1alpha1.Pool{}, &v1alpha1.Database{}}
}

// caches limits the manager's cache to the reviewed namespaces. Without a limit, it configures
// none of these kinds, which may not be installed.
func (a *admitter) caches() map[client.Object]cache.ByObject {
	kinds := map[client.Object]cache.ByObject{}
	if len(a.namespaces) == 0 {
		return kinds
	}
	for _, kind := range reviewedKinds() {
		kinds[kind] = cache.ByObject{Namespaces: object.Only(a.namespaces)}
	}
	return kinds
}

// unlimitedClient returns a client without rate limit: a review that waits behind the manager's
// requests, at twenty a second, would take too long.
func unlimitedClient(mgr manager.Manager) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the API server's own fairness limits better
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("setting up the client of OpenVox: %w", err)
	}
	return direct, nil
}

// products are the entries for OpenVox's kinds and for requests. Where the system is
// off they are there and called for nothing: entries never come and go.
func (a *admitter) products(on bool) []builtin.Product {
	entries := []builtin.BuiltIn{
		{Product: builtin.Product{Name: "openvox-certificate", Entry: "vcertificate.kb.io", Rules: calledFor("certificates")}, Facts: a.certificateFacts},
		{Product: builtin.Product{Name: "openvox-certificateauthority", Entry: "vcertificateauthority.kb.io", Rules: calledFor("certificateauthorities")}, Facts: a.authorityFacts},
		{Product: builtin.Product{Name: "openvox-config", Entry: "vconfig.kb.io", Rules: calledFor("configs")}, Facts: a.configFacts},
		{Product: builtin.Product{Name: "openvox-database", Entry: "vdatabase.kb.io", Rules: calledFor("databases")}},
		{Product: builtin.Product{Name: "openvox-pool", Entry: "vpool.kb.io", Rules: calledFor("pools")}, Facts: a.poolFacts, Namespaces: a.tenants},
		{Product: builtin.Product{Name: "openvox-server", Entry: "vserver.kb.io", Rules: calledFor("servers")}, Facts: a.serverFacts},
		{Product: builtin.Product{Name: "openvox-nodeclassifier", Entry: "vnodeclassifier.kb.io", Rules: calledFor("nodeclassifiers")}},
		{Product: builtin.Product{Name: "openvox-reportprocessor", Entry: "vreportprocessor.kb.io", Rules: calledFor("reportprocessors")}},
		{Product: builtin.Product{Name: "openvox-signingpolicy", Entry: "vsigningpolicy.kb.io", Rules: calledFor("signingpolicies")}, Facts: a.signingPolicyFacts},
		{Product: builtin.Product{Name: "openvox-certificatesigningrequest", Entry: "certificatesigningrequest.openvox.voxpupuli.org", Rules: signingRequestRules()}, Facts: a.signingRequestFacts},
		{Product: builtin.Product{Name: "openvox-certificaterequest", Entry: "certificaterequest.openvox.voxpupuli.org", Rules: builtin.Called(admissionregistrationv1.NamespacedScope, "cert-manager.io", "v1", []string{"certificaterequests"}, admissionregistrationv1.Create)}, Facts: a.certificateRequestFacts},
	}
	var products []builtin.Product
	for _, entry := range entries {
		entry.Snapshot = a.snapshot
		if !on {
			entry.Rules = nil
		}
		product := entry.Validating()
		product.MatchConditions = append(slices.Clone(requestConditions[entry.Entry]), a.within(entry.Entry)...)
		products = append(products, product)
	}
	return products
}

// requestConditions keep all requests to other signers and issuers away. Each field is
// guarded, because a condition that errs denies.
var requestConditions = map[string][]admissionregistrationv1.MatchCondition{
	"certificatesigningrequest.openvox.voxpupuli.org": {
		{Name: "to-a-certificateauthority", Expression: `object != null && has(object.spec) && has(object.spec.signerName) && object.spec.signerName.startsWith("` + rules.SignerPrefix + `")`},
		{Name: "made-or-approved", Expression: `request.operation == "CREATE" || (has(object.status) && has(object.status.conditions) && object.status.conditions.exists(c, c.type == "Approved"))`},
	},
	"certificaterequest.openvox.voxpupuli.org": {
		{Name: "to-a-certificateauthority", Expression: `object != null && has(object.spec) && has(object.spec.issuerRef) && has(object.spec.issuerRef.group) && object.spec.issuerRef.group == "` + v1alpha1.GroupName + `"`},
	},
}

// within excludes objects in other namespaces, and requests for CAs there.
func (a *admitter) within(entry string) []admissionregistrationv1.MatchCondition {
	format := builtin.OfTheirs
	if entry == "certificatesigningrequest.openvox.voxpupuli.org" { // of no namespace; its CA is of one
		format = "%s.exists(n, object.spec.signerName.startsWith('" + rules.SignerPrefix + "' + n + '.'))"
	}
	return builtin.InNamespaces(a.namespaces, format)
}

func calledFor(resource string) []admissionregistrationv1.RuleWithOperations {
	return builtin.CalledForObjects(v1alpha1.GroupName, v1alpha1.SchemeGroupVersion.Version, resource)
}

func signingRequestRules() []admissionregistrationv1.RuleWithOperations {
	return slices.Concat(
		builtin.Called(admissionregistrationv1.ClusterScope, "certificates.k8s.io", "v1", []string{"certificatesigningrequests"}, admissionregistrationv1.Create),
		builtin.Called(admissionregistrationv1.ClusterScope, "certificates.k8s.io", "v1", []string{"certificatesigningrequests/approval"}, admissionregistrationv1.Update),
	)
}
