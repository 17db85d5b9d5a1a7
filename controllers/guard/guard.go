// Package guard is the webhook entries that protect what controllers create, for all
// systems together: the gathering of what the rules in policies/rules/controlled read.
//
// Invariant: the API server never calls the entries for the manager's own writes, nor for
// what the garbage collector and the namespace controller do. Neither the repair of an
// object nor the deletion of a namespace depends on Lintel.
package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/controlled"
)

// kubernetesUsers are the controllers of Kubernetes that delete objects, and that write
// metadata of workloads. One user of all of them is that of clusters whose controller
// manager runs without --use-service-account-credentials.
var kubernetesUsers = []string{
	"system:kube-controller-manager",
	"system:serviceaccount:kube-system:deployment-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:ttl-after-finished-controller",
}

// guard gathers facts for the rules.
type guard struct {
	snapshot *engine.Snapshot
	owners   client.Reader
	users    []string
	controls []system.Controls
}

// Products returns the entries that protect the objects of the given systems, and a function
// that recognizes the systems' own writes. Without systems, no request calls the entries, which
// stay registered because the set of entries is
// go.
func Products(ctx context.Context, mgr manager.Manager, controls []system.Controls) ([]builtin.Product, func(*admission.Review) bool, error) {
	if len(controls) == 0 {
		products, err := Entries("", nil, nil)
		return products, nil, err
	}
	user, err := userOf(ctx, mgr.GetConfig())
	if err != nil {
		return nil, nil, err
	}
	owners, err := newReader(mgr)
	if err != nil {
		return nil, nil, err
	}
	products, err := Entries(user, owners, controls)
	return products, Own(user, controls), err
}

// Own reports whether a review is about a write of the given user, the manager's, of an
// object with the label of one of the systems, before and after it, or of a finalizer or the
// status of an object of a system.
func Own(user string, controls []system.Controls) func(*admission.Review) bool {
	return func(review *admission.Review) bool {
		if review.Username != user {
			return false
		}
		ofSystem := func(holds func(system.Controls) bool) bool {
			return slices.ContainsFunc(controls, func(c system.Controls) bool { return serves(c, review.Namespace) && holds(c) })
		}
		if ofSystem(func(c system.Controls) bool { return c.Group == review.Resource.Group }) &&
			(review.SubResource == "status" || review.SubResource == "" && review.ChangesOnly("finalizers")) {
			return true
		}
		labelled := func(object *admission.Object) bool {
			return object == nil || ofSystem(func(c system.Controls) bool { return object.Labels()[system.ManagedByLabel] == c.ManagedBy })
		}
		return labelled(review.New) && labelled(review.Old) && (review.New != nil || review.Old != nil)
	}
}

// Entries are the entries of a manager with the given user, which reads owners.
func Entries(user string, owners client.Reader, controls []system.Controls) ([]builtin.Product, error) {
	snapshot, err := rules.New()
	if err != nil {
		return nil, fmt.Errorf("compiling the rules for controlled objects: %w", err)
	}
	g := &guard{snapshot: snapshot, owners: owners, users: append([]string{user}, kubernetesUsers...), controls: controls}
	return g.products(), nil
}

// userOf is the name of the manager's user, as the API server knows it: of its
// ServiceAccount in a Pod, and of its kubeconfig elsewhere.
func userOf(ctx context.Context, config *rest.Config) (string, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("finding out the manager's user: %w", err)
	}
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("finding out the manager's user, by which its own writes are admitted: %w; "+
			"every authenticated user may create selfsubjectreviews.authentication.k8s.io by the ClusterRole system:basic-user", err)
	}
	return review.Status.UserInfo.Username, nil
}

// newReader reads from the API server, and never waits for its turn among the manager's
// requests: a review would wait longer than it takes.
func newReader(mgr manager.Manager) (client.Reader, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the API server's own fairness limits better
	reader, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("setting up the client that reads owners: %w", err)
	}
	return reader, nil
}

// controlledFacts are about a write of an object with the label of a system.
func (g *guard) controlledFacts(ctx context.Context, review *admission.Review) (any, error) {
	facts := rules.Facts{Users: g.users, Labels: []string{}}
	text := review.OldObject
	if review.Operation == "CREATE" {
		text = review.Object
	}
	object, err := system.Read[metav1.PartialObjectMetadata](review, text)
	if err != nil {
		return nil, err
	}
	for _, c := range g.controls {
		if !serves(c, review.Namespace) {
			continue
		}
		facts.Labels = append(facts.Labels, c.ManagedBy)
		if object.Labels[system.ManagedByLabel] != c.ManagedBy {
			continue
		}
		owner := ownerOf(c, object, review.Namespace)
		if owner == nil {
			continue
		}
		exists, err := g.exists(ctx, *owner)
		switch {
		case err != nil:
			return nil, err
		case !exists:
			facts.Kept = owner.Kept
		case review.Operation != "CREATE":
			facts.Owner = new(factOf(*owner))
		}
	}
	return facts, nil
}

func serves(c system.Controls, namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// ownerOf is the owner that an object names: nil if it names none of the system.
func ownerOf(c system.Controls, object *metav1.PartialObjectMetadata, namespace string) *system.Reference {
	if reference := metav1.GetControllerOf(object); reference != nil {
		kind := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
		if kind.Group != c.Group {
			return nil
		}
		return &system.Reference{Kind: kind, NamespacedName: client.ObjectKey{Namespace: namespace, Name: reference.Name}, UID: reference.UID}
	}
	if c.Owner == nil {
		return nil
	}
	return c.Owner(object)
}

func factOf(owner system.Reference) rules.Owner {
	return rules.Owner{Group: owner.Kind.Group, Kind: owner.Kind.Kind, Namespace: owner.Namespace, Name: owner.Name}
}

// exists reads an owner live. One whose kind is gone is gone, too.
func (g *guard) exists(ctx context.Context, owner system.Reference) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(owner.Kind)
	err := g.owners.Get(ctx, owner.NamespacedName, found)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s %s: %w", owner.Kind.Kind, owner.NamespacedName, err)
	}
	return owner.UID == "" || owner.UID == found.UID, nil
}

// reservedFacts are about the creation of an object under a name that controllers may need.
func (g *guard) reservedFacts(ctx context.Context, review *admission.Review) (any, error) {
	facts := rules.Facts{Users: g.users, Labels: []string{}, Claimants: []rules.Owner{}}
	resource := schema.GroupResource{Group: review.Resource.Group, Resource: review.Resource.Resource}
	for _, c := range g.controls {
		for _, name := range c.Names {
			if !slices.Contains(name.Resources, resource) || !serves(c, review.Namespace) {
				continue
			}
			for _, owner := range claimed(name, review.Name) {
				reference := system.Reference{Kind: name.Owner, NamespacedName: client.ObjectKey{Namespace: review.Namespace, Name: owner}}
				exists, err := g.exists(ctx, reference)
				if err != nil {
					return nil, err
				}
				if exists {
					facts.Claimants = append(facts.Claimants, factOf(reference))
				}
			}
		}
	}
	return facts, nil
}

// claimed are the names of the owners for which controllers would need a name. There may be
// several only of a generated name: the name of an owner may have the suffix, too.
func claimed(name system.Name, under string) (owners []string) {
	rest, hasPrefix := strings.CutPrefix(under, name.Prefix)
	for i := 1; hasPrefix && i <= len(rest); i++ {
		after, hasSuffix := strings.CutPrefix(rest[i:], name.Suffix)
		if hasSuffix && (after == "" || name.Generated) {
			owners = append(owners, rest[:i])
		}
	}
	return owners
}
