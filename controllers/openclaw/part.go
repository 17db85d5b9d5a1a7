package openclaw

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openclaw"
)

// compareTimeout limits how long a review reads the policies of a bundle and compares them with
// broader ones. The result of a comparison that takes longer is unknown.
const compareTimeout = 3 * time.Second

// defaultPolicyDeadline is how long gateways may run other policies than are wanted.
const defaultPolicyDeadline = time.Minute

// admitter evaluates the rules for OpenClaw's kinds, in the webhook and in controllers.
type admitter struct {
	imageRegistries []string
	maxReplicas     int
	rootNamespace   string
	namespaces      []string
	policyDeadline  time.Duration

	bundles  client.Reader
	parser   *rules.Parser
	snapshot *engine.Snapshot
	timeout  time.Duration // of reading and comparing
}

// Part is the system openclaw.
func Part() system.Part {
	a := &admitter{}
	return system.Part{Flags: a.flags, Check: a.check, Scheme: v1.AddToScheme, Caches: a.caches, Controls: a.controls, SetUp: a.setUp}
}

func (a *admitter) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&a.imageRegistries, "openclaw-image-registries", nil, "`registries`, paths or repositories of the images that OpenClawInstances may name, such as registry.example.com/openclaw; without it, no images")
	flags.IntVar(&a.maxReplicas, "openclaw-max-replicas", 20, "maximum `number` of gateways of an OpenClawInstance")
	flags.StringSliceVar(&a.namespaces, "openclaw-namespaces", nil, "`namespaces` whose OpenClawInstances and PolicyBundles the manager reviews and reconciles, in addition to the root namespace; it then needs config/rbac/openclaw-namespace in each. Without it, all namespaces")
	flags.StringVar(&a.rootNamespace, "openclaw-root-namespace", "", "`namespace` whose enterprise policies apply to the OpenClawInstances of every namespace")
	flags.DurationVar(&a.policyDeadline, "openclaw-policy-deadline", defaultPolicyDeadline, "maximum `duration` for which gateways run policies other than the latest ones; after it, they are deleted, even if no others can start")
}

func (a *admitter) check() error {
	if a.maxReplicas < 1 {
		return fmt.Errorf("--openclaw-max-replicas: Invalid value %d: must be at least 1", a.maxReplicas)
	}
	return system.CheckNamespaces("openclaw-namespaces", a.namespaces)
}

// served returns the namespaces whose objects are reviewed and reconciled, including the root
// namespace: nil for all.
func (a *admitter) served() []string {
	if len(a.namespaces) == 0 || a.rootNamespace == "" || slices.Contains(a.namespaces, a.rootNamespace) {
		return a.namespaces
	}
	return append(slices.Clone(a.namespaces), a.rootNamespace)
}

// caches has the manager's cache hold no other namespaces than those that are served.
func (a *admitter) caches() map[client.Object]cache.ByObject {
	if len(a.namespaces) == 0 {
		return nil
	}
	return map[client.Object]cache.ByObject{&v1.PolicyBundle{}: {Namespaces: object.Only(a.served())}}
}

func (a *admitter) setUp(ctx context.Context, mgr system.Manager, on bool) ([]builtin.Product, error) {
	if a.policyDeadline < time.Second {
		return nil, fmt.Errorf("--openclaw-policy-deadline: Invalid value %q: must be at least 1s", a.policyDeadline)
	}
	var err error
	if a.snapshot, err = rules.New(); err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	a.bundles, a.parser, a.timeout = mgr.GetClient(), rules.NewParser(), compareTimeout
	products := a.products(on)
	if !on {
		return products, nil
	}
	// Or the first review would wait for the cache.
	if _, err := mgr.GetCache().GetInformer(ctx, &v1.PolicyBundle{}); err != nil {
		return nil, fmt.Errorf("watching PolicyBundles: %w", err)
	}
	if a.rootNamespace == "" {
		mgr.GetLogger().Info("warning: anyone who may write PolicyBundles may write enterprise policies, which bind the OpenClawInstances of their namespace; " +
			"name the namespace of those who may with --openclaw-root-namespace")
	}
	return products, a.addControllers(ctx, mgr)
}

// products are the entries for OpenClaw's kinds. Where the system is off they are there
// and called for nothing: entries never come and go.
func (a *admitter) products(on bool) []builtin.Product {
	bundle := builtin.BuiltIn{
		Product: builtin.Product{Name: "policybundle", Entry: "policybundle.openclaw.enterprise.io", Slow: true}, Snapshot: a.snapshot,
		Facts: func(ctx context.Context, review *admission.Review) (any, error) {
			return a.bundleFacts(ctx, review, a.parser.Find)
		},
	}
	instance := builtin.BuiltIn{
		Product: builtin.Product{Name: "openclawinstance", Entry: "openclawinstance.openclaw.enterprise.io"}, Snapshot: a.snapshot,
		Facts: func(context.Context, *admission.Review) (any, error) { return a.instanceFacts(), nil },
	}
	if on {
		bundle.MatchConditions = builtin.InNamespaces(a.served(), builtin.OfTheirs)
		instance.MatchConditions = bundle.MatchConditions
		bundle.Rules, instance.Rules = builtin.CalledForObjects(v1.GroupName, v1.SchemeGroupVersion.Version, "policybundles"), builtin.CalledForObjects(v1.GroupName, v1.SchemeGroupVersion.Version, "openclawinstances")
	}
	return []builtin.Product{bundle.Validating(), instance.Validating(), instance.Mutating()}
}

func (a *admitter) instanceFacts() any {
	return map[string]any{"registries": append([]string{}, a.imageRegistries...), "maxReplicas": a.maxReplicas}
}

// finder is Parser.Find.
type finder func(ctx context.Context, bundle, old *rules.Bundle, others []*rules.Bundle, root string) (rules.Facts, error)

// bundleFacts compares the bundle under review with all others.
func (a *admitter) bundleFacts(ctx context.Context, review *admission.Review, find finder) (rules.Facts, error) {
	bundle, err := system.Read[rules.Bundle](review, review.Object)
	if err != nil {
		return rules.Facts{}, err
	}
	bundle.Namespace = review.Namespace
	var old *rules.Bundle
	if review.Operation == "UPDATE" {
		if old, err = system.Read[rules.Bundle](review, review.OldObject); err != nil {
			return rules.Facts{}, err
		}
	}
	var list v1.PolicyBundleList
	if err := a.bundles.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return rules.Facts{}, fmt.Errorf("listing the other PolicyBundles: %w", err)
	}
	var others []*rules.Bundle
	for i := range list.Items {
		if other := &list.Items[i]; other.Namespace != bundle.Namespace || other.Name != bundle.Name {
			others = append(others, other)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return find(ctx, bundle, old, others, a.rootNamespace)
}

// reasonExpandsParent is the reason of a stored bundle that expands beyond what broader
// scopes allow by now.
const reasonExpandsParent = "ExpandsParent"

// admit evaluates the rules for a stored object as if it were created now.
func (a *admitter) admit(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	question := builtin.Question{Object: object, Facts: a.instanceFacts(), Resource: "openclawinstances"}
	version := v1.SchemeGroupVersion
	question.Kind = metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: "OpenClawInstance"}
	expands := false
	switch object.(type) {
	case *v1.OpenClawInstance:
	case *v1.PolicyBundle:
		question.Kind.Kind, question.Resource = "PolicyBundle", "policybundles"
		review, err := question.Review()
		if err != nil {
			return builtin.Verdict{}, err
		}
		facts, err := a.bundleFacts(ctx, review, func(ctx context.Context, bundle, _ *rules.Bundle, others []*rules.Bundle, root string) (rules.Facts, error) {
			return a.parser.FindStored(ctx, bundle, others, root)
		})
		if err != nil {
			return builtin.Verdict{}, err
		}
		question.Facts = facts
		expands = slices.ContainsFunc(facts.Comparisons, func(c rules.Comparison) bool { return c.Verdict == restriction.Counterexample && !c.Conflict })
	default:
		return builtin.Verdict{}, fmt.Errorf("there are no rules for %T", object)
	}
	verdict, err := builtin.Ask(ctx, a.snapshot, question)
	if expands && verdict.Denied() {
		verdict.Reason = reasonExpandsParent
	}
	return verdict, err
}
