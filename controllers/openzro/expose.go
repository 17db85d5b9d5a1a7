package openzro

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
)

// exposer creates an OZResource for each Service with the annotation openzro.io/expose. Users
// who may write Services need not have rights on openZro's kinds: what an annotation reaches
// is bounded by grants, by the namespace and by the owners of OZPolicies.
type exposer struct {
	client  client.Client
	applier *object.Applier
	events  events.EventRecorder
	// grants are those of --openzro-expose.
	grants []string
	// cluster is the name of this cluster, and dns the domain of its Services.
	cluster, dns string
}

// exposeManager owns the fields of the OZResources of Services.
const exposeManager = "lintel-openzro-service"

// exposingPeer is the name of the OZRoutingPeer whose network Services are exposed in.
const exposingPeer = "router"

// Reconcile implements reconcile.Reconciler.
func (e *exposer) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var service corev1.Service
	if err := e.client.Get(ctx, request.NamespacedName, &service); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err) // its OZResource is deleted with it
	}
	err := e.reconcile(ctx, &service)
	if refused, is := errors.AsType[*problem](err); is {
		object.Send(e.events, &service, "Expose", object.Event{Warning: true, Reason: "NotExposed", Message: refused.message})
		return reconcile.Result{RequeueAfter: refused.again}, nil
	}
	return reconcile.Result{}, err
}

func (e *exposer) reconcile(ctx context.Context, service *corev1.Service) error {
	wanted, refused := exposedSpec(service, e.grants, e.cluster, e.dns)
	if wanted == nil || !service.DeletionTimestamp.IsZero() {
		if err := e.hide(ctx, service); err != nil || refused == nil {
			return err
		}
		return refused
	}
	var accepted []string
	var unaccepted error
	for _, name := range listed(wanted.PolicyName) {
		err := e.mayName(ctx, service, name)
		if err != nil && !isProblem(err) {
			return err
		}
		if err == nil {
			accepted = append(accepted, name)
		} else if unaccepted == nil {
			unaccepted = err
		}
	}
	if wanted.PolicyName = strings.Join(accepted, ","); wanted.PolicyName == "" {
		wanted.TCPPorts, wanted.UDPPorts = nil, nil
	}
	var peer v1.OZRoutingPeer
	err := e.client.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: exposingPeer}, &peer)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if wanted.NetworkID = peer.Status.NetworkID; wanted.NetworkID == "" {
		return waiting(v1.ReasonDependency, "namespace %s has no OZRoutingPeer %s with a network: create it, and the Service is exposed when its network exists", service.Namespace, exposingPeer)
	}
	metadata := metav1.ObjectMeta{
		Namespace: service.Namespace, Name: service.Name, Labels: map[string]string{managedByLabel: managedBy},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
	}
	metadata.OwnerReferences[0].BlockOwnerDeletion = nil
	have := &v1.OZResource{}
	_, err = e.applier.Apply(ctx, object.ControlledBy(service), child("OZResource", metadata, wanted), have)
	switch {
	case apierrors.IsInvalid(err) && e.isMoved(ctx, service, wanted.NetworkID):
		if err := e.hide(ctx, service); err != nil {
			return err
		}
		return waiting(v1.ReasonDependency, "the network of OZRoutingPeer %s is another one: the OZResource is created again", exposingPeer)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return &problem{reason: v1.ReasonNotAdmitted, again: refusedPause, message: "OZResource " + service.Name + ", which is created for this Service, is refused: " + err.Error()}
	}
	if err := foreign(err); err != nil {
		return err
	}
	return cmp.Or(unaccepted, refusedAtServer(have))
}

// refusedAtServer is the problem of a Service whose OZResource may not use its name or a group
// at the server: users who write Services may not be able to read OZResources.
func refusedAtServer(of *v1.OZResource) error {
	ready := meta.FindStatusCondition(of.Status.Conditions, v1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonNotGranted && ready.Reason != v1.ReasonDuplicateName {
		return nil
	}
	return &problem{reason: ready.Reason, again: refusedPause, message: "OZResource " + of.Name + ": " + ready.Message}
}

// isMoved reports whether the OZResource of a Service is in another network than it should be.
func (e *exposer) isMoved(ctx context.Context, service *corev1.Service, network string) bool {
	var have v1.OZResource
	err := e.client.Get(ctx, client.ObjectKeyFromObject(service), &have)
	return err == nil && metav1.IsControlledBy(&have, service) && have.Spec.NetworkID != network
}

// hide deletes the OZResource of a Service that is not exposed: one that it controls.
func (e *exposer) hide(ctx context.Context, service *corev1.Service) error {
	return e.applier.Remove(ctx, object.ControlledBy(service), client.ObjectKeyFromObject(service), &v1.OZResource{})
}

// mayName refuses an OZPolicy that does not accept Services: the ports of a Service would be
// opened at all destinations of the policy.
func (e *exposer) mayName(ctx context.Context, service *corev1.Service, name string) error {
	var policy v1.OZPolicy
	err := e.client.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: name}, &policy)
	switch {
	case apierrors.IsNotFound(err):
		return waiting(v1.ReasonDependency, "metadata.annotations[%s]: namespace %s has no OZPolicy %q: create it", v1.PolicyAnnotation, service.Namespace, name)
	case err != nil:
		return err
	case policy.Annotations[v1.AcceptServicesAnnotation] != "true":
		return waiting(v1.ReasonNotGranted, "metadata.annotations[%s]: OZPolicy %q does not accept Services: annotate it with %s=true, which permits users who write Services to add ports and destinations to it", v1.PolicyAnnotation, name, v1.AcceptServicesAnnotation)
	}
	return nil
}

// exposedSpec is the OZResource of a Service without its network: nil if it is not to be
// exposed. refused says why, if its annotations ask for it.
func exposedSpec(service *corev1.Service, grants []string, cluster, dns string) (spec *v1.OZResourceSpec, refused *problem) {
	value, asked := service.Annotations[v1.ExposeAnnotation]
	if !asked || value == "false" || service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes" {
		return nil, nil
	}
	refuse := func(annotation, format string, arguments ...any) (*v1.OZResourceSpec, *problem) {
		return nil, stalled(v1.ReasonNotGranted, "metadata.annotations[%s]: %s", annotation, fmt.Sprintf(format, arguments...))
	}
	if !hasGrant(grants, service.Namespace) {
		return refuse(v1.ExposeAnnotation, "namespace %s has no grant to expose Services: write an OZResource or OZNetworkResource, or have the administrator start the manager with --openzro-expose=%q", service.Namespace, service.Namespace+"=*")
	}
	// The name of any other Service resolves to what its author writes into it.
	if service.Spec.Type == corev1.ServiceTypeExternalName || len(service.Spec.Selector) == 0 {
		return nil, stalled(v1.ReasonInvalidConfig, "metadata.annotations[%s]: only Services with spec.selector, and not of type ExternalName, can be exposed", v1.ExposeAnnotation)
	}
	prefix := cluster + "-" + service.Namespace + "-"
	own := prefix + service.Name
	spec = &v1.OZResourceSpec{
		Name: service.Namespace + "-" + service.Name, Address: service.Name + "." + service.Namespace + "." + dns, Groups: []string{own},
		PolicyName: strings.Join(listed(service.Annotations[v1.PolicyAnnotation]), ","),
	}
	if name := strings.TrimSpace(service.Annotations[v1.ResourceNameAnnotation]); name != "" && name != spec.Name {
		if !strings.HasPrefix(name, prefix) && !isGranted(grants, service.Namespace, name) {
			return refuse(v1.ResourceNameAnnotation, "Invalid value %q: names are unique in an account: begin it with %q, or have the administrator start the manager with --openzro-expose=%q", name, prefix, service.Namespace+"="+name)
		}
		spec.Name = name
	}
	if groups := listed(service.Annotations[v1.GroupsAnnotation]); len(groups) > 0 {
		spec.Groups = groups
	}
	for _, group := range spec.Groups {
		if group != own && !isGranted(grants, service.Namespace, group) {
			return refuse(v1.GroupsAnnotation, "namespace %s has no grant for the group %q: leave the annotation out to use the group %q, or have the administrator start the manager with --openzro-expose=%q", service.Namespace, group, own, service.Namespace+"="+group)
		}
	}
	if spec.PolicyName == "" {
		return spec, nil
	}
	ports, invalid := exposedPorts(service)
	if invalid != "" {
		return refuse(v1.PolicyPortsAnnotation, "Invalid value %q: must be ports from 1 to 65535 with commas between, such as 80,443", invalid)
	}
	protocol := strings.ToLower(strings.TrimSpace(service.Annotations[v1.PolicyProtocolAnnotation]))
	if protocol != "" && protocol != string(v1.ProtocolTCP) && protocol != string(v1.ProtocolUDP) {
		return refuse(v1.PolicyProtocolAnnotation, "Invalid value %q: must be tcp or udp", protocol)
	}
	for _, port := range service.Spec.Ports {
		kind := v1.Protocol(strings.ToLower(cmp.Or(string(port.Protocol), string(corev1.ProtocolTCP))))
		if ports != nil && !slices.Contains(ports, port.Port) || protocol != "" && protocol != string(kind) {
			continue
		}
		switch kind {
		case v1.ProtocolTCP:
			spec.TCPPorts = append(spec.TCPPorts, port.Port)
		case v1.ProtocolUDP:
			spec.UDPPorts = append(spec.UDPPorts, port.Port)
		}
	}
	slices.Sort(spec.TCPPorts)
	slices.Sort(spec.UDPPorts)
	return spec, nil
}

// exposedPorts are those of a Service's annotation: nil for all. invalid is one that is not a
// port.
func exposedPorts(service *corev1.Service) (ports []int32, invalid string) {
	for _, text := range listed(service.Annotations[v1.PolicyPortsAnnotation]) {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return nil, text
		}
		ports = append(ports, int32(port))
	}
	return ports, ""
}

// setUp adds the controller of Services.
func (e *exposer) setUp(mgr system.Manager, c cluster.Cluster) error {
	isExposed := func(s *corev1.Service) bool { _, asked := s.Annotations[v1.ExposeAnnotation]; return asked }
	exposed := func(ctx context.Context, namespace string, concerned func(*corev1.Service) bool) []reconcile.Request {
		return object.RequestsFor(ctx, e.client, &corev1.ServiceList{}, func(s *corev1.Service) bool { return isExposed(s) && concerned(s) }, client.InNamespace(namespace))
	}
	return object.Control(mgr, exposeManager, 1, e,
		object.Mapped(c, &corev1.Service{}, func(_ context.Context, s *corev1.Service) []reconcile.Request {
			return object.Request(s.Namespace, s.Name)
		}),
		object.Owned(c, &v1.OZResource{}, &corev1.Service{}),
		object.Mapped(c, &v1.OZRoutingPeer{}, func(ctx context.Context, p *v1.OZRoutingPeer) []reconcile.Request {
			if p.Name != exposingPeer {
				return nil
			}
			return exposed(ctx, p.Namespace, func(*corev1.Service) bool { return true })
		}, object.Updates(func(was, is *v1.OZRoutingPeer) bool { return was.Status.NetworkID != is.Status.NetworkID })),
		object.Mapped(c, &v1.OZPolicy{}, func(ctx context.Context, p *v1.OZPolicy) []reconcile.Request {
			return exposed(ctx, p.Namespace, func(s *corev1.Service) bool {
				return slices.Contains(listed(s.Annotations[v1.PolicyAnnotation]), p.Name)
			})
		}, object.Updates(func(was, is *v1.OZPolicy) bool {
			return was.Annotations[v1.AcceptServicesAnnotation] != is.Annotations[v1.AcceptServicesAnnotation]
		})),
	)
}
