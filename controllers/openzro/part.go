package openzro

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openzro"
)

// admitter evaluates the rules for openZro's kinds and for Pods, for the webhook and the
// controllers.
type admitter struct {
	settings settings
	snapshot *engine.Snapshot
	// objects has the kinds in a cache; live reads Secrets.
	objects, live client.Reader
	// excluded are the namespaces whose Pods are left alone.
	excluded []string
}

// Part is the system openzro.
func Part() system.Part {
	a := &admitter{}
	return system.Part{Flags: a.settings.addTo, Check: a.settings.check, Controls: a.controls, SetUp: a.setUp}
}

func (a *admitter) setUp(ctx context.Context, mgr system.Manager, on bool) (products []builtin.Product, err error) {
	if a.snapshot, err = rules.New(); err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	if !on {
		return a.products(false), nil
	}
	c, err := newCluster(ctx, mgr.GetConfig(), a.settings.namespaces)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		return nil, err
	}
	a.objects, a.live, a.excluded = c.GetClient(), c.GetAPIReader(), mgr.Excluded
	return a.products(true), addControllers(mgr, c, options{a.settings, a.admit, c.GetEventRecorder("lintel-openzro")})
}

// podsEntry is the name of the entry for Pods in the product document.
const podsEntry = "mpod-v1.openzro.io"

// products are the entries for openZro's kinds, and for Pods. Where the system is off they
// are there and called for nothing: entries never come and go.
func (a *admitter) products(on bool) []builtin.Product {
	objects := builtin.BuiltIn{
		Product: builtin.Product{Name: "openzro", Entry: "objects.openzro.io"}, Snapshot: a.snapshot,
		Facts: func(ctx context.Context, review *admission.Review) (any, error) { return a.facts(ctx, review) },
	}
	pods := builtin.BuiltIn{
		Product: builtin.Product{Name: "openzro-pods", Entry: podsEntry}, Snapshot: a.snapshot,
		Facts: func(ctx context.Context, review *admission.Review) (any, error) { return a.podFacts(ctx, review) },
	}
	if on {
		served := builtin.InNamespaces(a.settings.namespaces, builtin.OfTheirs)
		objects.MatchConditions = append(served, rules.Changed())
		objects.Rules = builtin.CalledForObjects(v1.GroupName, v1.SchemeGroupVersion.Version, rules.Resources()...)
		pods.MatchConditions = append(rules.PodConditions(a.excluded, a.settings.sidecarProfiles), served...)
		pods.Rules = builtin.Called(admissionregistrationv1.NamespacedScope, "", "v1", []string{"pods"}, admissionregistrationv1.Create)
	}
	return []builtin.Product{objects.Validating(), pods.Validating(), pods.Mutating()}
}

// facts finds who has the name that an object under review would have at the server.
func (a *admitter) facts(ctx context.Context, review *admission.Review) (rules.Facts, error) {
	object, err := read(review, review.Object)
	if err != nil {
		return rules.Facts{}, err
	}
	if review.Operation == "UPDATE" {
		old, err := read(review, review.OldObject)
		if err != nil || rules.RemoteName(old) == rules.RemoteName(object) {
			return a.granted(object), err // the owner of the name had it before
		}
	}
	return a.taken(ctx, object, func(v1.Object) bool { return true })
}

// granted are the facts about what the administrator permits the namespace of an object.
func (a *admitter) granted(object v1.Object) rules.Facts {
	return rules.Facts{
		PodTemplates:    matchesAny(a.settings.podTemplates, object.GetNamespace()),
		SidecarProfiles: matchesAny(a.settings.sidecarProfiles, object.GetNamespace()),
	}
}

func read(review *admission.Review, text func() (json.RawMessage, error)) (v1.Object, error) {
	object, err := emptyOf[v1.Object](review.Kind.Kind)
	if err != nil {
		return nil, err
	}
	raw, err := text()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("reading the %s: %w", review.Kind.Kind, err)
	}
	object.SetNamespace(review.Namespace)
	return object, nil
}

// taken finds another object of the kind and namespace that has the name of one, among
// those that count.
func (a *admitter) taken(ctx context.Context, object v1.Object, counts func(other v1.Object) bool) (facts rules.Facts, err error) {
	facts = a.granted(object)
	name, kind := rules.RemoteName(object), kindOf(object)
	if name == "" {
		return facts, nil
	}
	list, err := emptyOf[client.ObjectList](kind + "List")
	if err != nil {
		return facts, err
	}
	if err := a.objects.List(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{nameIndex: name}, client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("looking for other %ss named %q at the server: %w", kind, name, err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if other := item.(v1.Object); other.GetName() != object.GetName() && other.GetDeletionTimestamp().IsZero() && counts(other) {
			facts.Taken = &rules.Reference{Kind: kind, Name: other.GetName()}
		}
		return nil
	})
	return facts, err
}

func kindOf(object v1.Object) string { return reflect.TypeOf(object).Elem().Name() }

// podFacts are about the OZSetupKey that a Pod names.
func (a *admitter) podFacts(ctx context.Context, review *admission.Review) (rules.PodFacts, error) {
	facts := rules.PodFacts{ClientImage: a.settings.clientImage}
	pod, err := system.Read[corev1.Pod](review, review.Object)
	if err != nil {
		return facts, err
	}
	facts.SetupKey.Name = strings.TrimSpace(pod.Annotations[v1.SetupKeyAnnotation])
	_, asked := pod.Annotations[v1.SetupKeyAnnotation]
	if !asked && pod.Annotations[v1.InjectAnnotation] != "false" && matchesAny(a.settings.sidecarProfiles, review.Namespace) {
		profile, err := a.profileOf(ctx, review.Namespace, pod)
		if err != nil || profile == nil {
			return facts, err
		}
		verdict, err := a.admit(ctx, profile)
		if err != nil {
			return facts, err
		}
		facts.Profile, facts.SetupKey.Name = rules.FactsOfProfile(profile, verdict.Message()), profile.Spec.SetupKeyRef.Name
	}
	if facts.SetupKey.Name == "" {
		return facts, nil
	}
	var key v1.OZSetupKey
	err = a.objects.Get(ctx, client.ObjectKey{Namespace: review.Namespace, Name: facts.SetupKey.Name}, &key)
	if client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("reading OZSetupKey %s/%s: %w", review.Namespace, facts.SetupKey.Name, err)
	}
	if err != nil {
		return facts, nil // there is none
	}
	url, err := a.managementURL(ctx, review.Namespace)
	facts.SetupKey = rules.FactsOfSetupKey(&key, url)
	return facts, err
}

// managementURL is where the peers of a namespace enrol.
func (a *admitter) managementURL(ctx context.Context, namespace string) (string, error) {
	var secret corev1.Secret
	err := a.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1.APIKeySecret}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Secret %s/%s: %w", namespace, v1.APIKeySecret, err)
	}
	return cmp.Or(strings.TrimSpace(string(secret.Data[v1.APIManagementURL])), a.settings.managementURL), nil
}

// admit evaluates the rules for a stored object. Of two objects with one name, the older one
// owns it.
func (a *admitter) admit(ctx context.Context, object builtin.Object) (builtin.Verdict, error) {
	known, is := object.(v1.Object)
	if !is {
		return builtin.Verdict{}, fmt.Errorf("there are no rules for %T", object)
	}
	facts, err := a.taken(ctx, known, func(other v1.Object) bool { return older(other, known) })
	if err != nil {
		return builtin.Verdict{}, err
	}
	return rules.Evaluate(ctx, a.snapshot, known, facts)
}

func older(a, b v1.Object) bool {
	made, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return made.Before(&other) || made.Equal(&other) && a.GetName() < b.GetName()
}
