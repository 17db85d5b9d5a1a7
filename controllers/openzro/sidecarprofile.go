package openzro

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	rules "github.com/lintel-policy/lintel/policies/rules/openzro"
)

// sidecarProfiles reports whether Pods that an OZSidecarProfile selects get a client. The
// webhook adds it; nothing is created at the server.
type sidecarProfiles struct{ *shared }

const profileKind = "OZSidecarProfile"

func (p *sidecarProfiles) of() string { return profileKind }

// Reconcile implements reconcile.Reconciler.
func (p *sidecarProfiles) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	reporter := object.Reporter[*v1.OZSidecarProfile, v1.OZSidecarProfileStatus]{
		Client: p.client, Manager: fieldManager(profileKind), Action: "Reconcile", Events: p.events,
		Status:     func(of *v1.OZSidecarProfile) *v1.OZSidecarProfileStatus { return &of.Status },
		Conditions: func(s *v1.OZSidecarProfileStatus) []metav1.Condition { return s.Conditions },
		News:       map[string]object.News{v1.ConditionReady: object.Turned(metav1.ConditionFalse)},
		Gone: func(_ context.Context, name client.ObjectKey) error {
			p.metrics.says(profileKind, name, false)
			return nil
		},
	}
	return reporter.Reconcile(ctx, request, &v1.OZSidecarProfile{}, p.report)
}

func (p *sidecarProfiles) report(ctx context.Context, of *v1.OZSidecarProfile) (report object.Report[v1.OZSidecarProfileStatus], err error) {
	if !of.DeletionTimestamp.IsZero() {
		return report, nil
	}
	wrong, err := p.problem(ctx, of)
	if err != nil {
		return report, err
	}
	next := of.DeepCopy()
	setStatus(next, wrong, "Pods that the selector matches get a client when they are created", outage{})
	p.metrics.says(profileKind, client.ObjectKeyFromObject(of), wrong != nil)
	report.Status = &next.Status
	return report, nil
}

// problem is why Pods that a profile selects are refused: nil if they are not.
func (p *sidecarProfiles) problem(ctx context.Context, of *v1.OZSidecarProfile) (*problem, error) {
	verdict, err := p.admit(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", profileKind, of.Namespace, of.Name, err)
	}
	if verdict.Denied() {
		return stalled(v1.ReasonNotAdmitted, "%s", verdict.Message()), nil
	}
	var key v1.OZSetupKey
	name := of.Spec.SetupKeyRef.Name
	err = p.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: name}, &key)
	if apierrors.IsNotFound(err) {
		return waiting(v1.ReasonDependency, "spec.setupKeyRef.name: this namespace has no OZSetupKey %q, and Pods that the selector matches are refused: create it", name), nil
	}
	if err != nil {
		return nil, err
	}
	if facts := rules.FactsOfSetupKey(&key, ""); !facts.Ready {
		return waiting(v1.ReasonDependency, "OZSetupKey %s is not ready, and Pods that the selector matches are refused (%s: %s)", name, facts.Reason, facts.Message), nil
	}
	return nil, nil
}

func (p *sidecarProfiles) setUp(mgr system.Manager, c cluster.Cluster) error {
	return object.Control(mgr, fieldManager(profileKind), 2, p,
		source.Kind[client.Object](c.GetCache(), &v1.OZSidecarProfile{}, &handler.EnqueueRequestForObject{}, changed()),
		object.Mapped(c, &v1.OZSetupKey{}, func(ctx context.Context, key *v1.OZSetupKey) []reconcile.Request {
			return object.RequestsFor(ctx, p.client, &v1.OZSidecarProfileList{}, func(of *v1.OZSidecarProfile) bool { return of.Spec.SetupKeyRef.Name == key.Name }, client.InNamespace(key.Namespace))
		}),
	)
}

// profileOf finds the OZSidecarProfile that selects a Pod of a namespace: of several, the first
// by name. Profiles that are being deleted select nothing.
func (a *admitter) profileOf(ctx context.Context, namespace string, pod *corev1.Pod) (*v1.OZSidecarProfile, error) {
	var all v1.OZSidecarProfileList
	if err := a.objects.List(ctx, &all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for OZSidecarProfiles of namespace %s: %w", namespace, err)
	}
	slices.SortFunc(all.Items, func(a, b v1.OZSidecarProfile) int { return strings.Compare(a.Name, b.Name) })
	for i := range all.Items {
		if one := &all.Items[i]; one.DeletionTimestamp.IsZero() && selects(one, pod) {
			return one, nil
		}
	}
	return nil, nil
}

// selects reports whether a profile selects a Pod. A selector that the rules deny selects
// nothing.
func selects(profile *v1.OZSidecarProfile, pod *corev1.Pod) bool {
	if profile.Spec.PodSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(profile.Spec.PodSelector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}
