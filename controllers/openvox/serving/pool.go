package serving

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const (
	// routeInterval is how often a TLSRoute is read. It is not watched, because its kind may be
	// installed and removed.
	routeInterval = 15 * time.Second

	reasonServed           = "Served"
	reasonNoEndpoints      = "NoEndpoints"
	reasonNoGatewayAPI     = "NoGatewayAPI"
	reasonHostnameConflict = "HostnameConflict"
	reasonRouteNotAccepted = "RouteNotAccepted"
)

// routeKind is that of TLSRoutes, in whichever version the cluster has them.
var routeKind = schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "TLSRoute"}

// PoolReconciler has Pools reached.
type PoolReconciler struct {
	client  client.Client
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter
	// externalOnly disables Services for Pools; the status reports it.
	externalOnly bool
}

type poolReport = object.Report[v1alpha1.PoolStatus]

func (r *PoolReconciler) reporter() object.Reporter[*v1alpha1.Pool, v1alpha1.PoolStatus] {
	return object.Reporter[*v1alpha1.Pool, v1alpha1.PoolStatus]{
		Client: r.client, Manager: poolsManager, Action: "Expose", Events: r.events,
		Status:     func(p *v1alpha1.Pool) *v1alpha1.PoolStatus { return &p.Status },
		Conditions: func(s *v1alpha1.PoolStatus) []metav1.Condition { return s.Conditions },
		News: map[string]object.News{v1alpha1.ConditionReady: object.Reasoned(func(reason string) bool {
			return reason != reasonServed && reason != reasonNoEndpoints
		})},
	}
}

// Reconcile has one Pool reached.
func (r *PoolReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.Pool{}, poolPausing.Step(r.carryOut))
}

func (r *PoolReconciler) carryOut(ctx context.Context, pool *v1alpha1.Pool) (poolReport, error) {
	if !pool.DeletionTimestamp.IsZero() {
		return poolReport{}, nil
	}
	o, err := obstacleOf(r.expose(ctx, pool))
	if err != nil {
		return poolReport{}, err // and it is tried again
	}
	next := pool.Status.DeepCopy()
	next.ObservedGeneration = pool.Generation
	if !r.externalOnly {
		next.ServiceName = pool.Name
		if next.Endpoints, err = r.endpoints(ctx, pool); err != nil {
			return poolReport{}, err
		}
	}
	report := poolReport{Status: next}
	if routed(pool) {
		report.Again = routeInterval
	}
	c := object.Conditions{List: &next.Conditions, Generation: pool.Generation}
	switch {
	case o != nil:
		c.Set(v1alpha1.ConditionReady, false, o.reason, o.message)
		report.Again = o.wait
	case next.Endpoints == 0:
		c.Set(v1alpha1.ConditionReady, false, reasonNoEndpoints, "no server that names this Pool in spec.poolRefs is ready")
	default:
		c.Set(v1alpha1.ConditionReady, true, reasonServed, "servers are reached by Service "+pool.Name)
	}
	return report, nil
}

func routed(pool *v1alpha1.Pool) bool { return pool.Spec.Route != nil && pool.Spec.Route.Enabled }

// expose writes the objects of a Pool. An object that cannot reach its desired state is an
// *obstacle.
func (r *PoolReconciler) expose(ctx context.Context, pool *v1alpha1.Pool) error {
	if r.externalOnly {
		return &obstacle{reason: reasonExternalOnly, message: "the manager has no servers reached in the cluster (--openvox-external-only)"}
	}
	verdict, err := r.admit(ctx, pool)
	if err != nil {
		return err
	}
	if verdict.Denied() {
		return &obstacle{reason: reasonNotAdmitted, message: verdict.Message(), wait: conflictRetry}
	}
	if _, err := r.applier.Apply(ctx, object.ControlledBy(pool), service(pool), nil); err != nil {
		return err
	}
	return r.route(ctx, pool)
}

// route has the TLSRoute of a Pool be there, or gone.
func (r *PoolReconciler) route(ctx context.Context, pool *v1alpha1.Pool) error {
	mapping, err := r.client.RESTMapper().RESTMapping(routeKind)
	if meta.IsNoMatchError(err) {
		if !routed(pool) {
			return nil
		}
		return noGatewayAPI()
	}
	if err != nil {
		return fmt.Errorf("asking for TLSRoutes: %w", err)
	}
	ours, have := object.ControlledBy(pool), &unstructured.Unstructured{}
	have.SetGroupVersionKind(mapping.GroupVersionKind)
	if !routed(pool) {
		return r.applier.Remove(ctx, ours, client.ObjectKeyFromObject(pool), have)
	}
	var pools v1alpha1.PoolList
	if err := r.client.List(ctx, &pools, client.InNamespace(pool.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Pools: %w", err)
	}
	if first := rules.OlderHost(pool, pools.Items); first != "" {
		if err := r.applier.Remove(ctx, ours, client.ObjectKeyFromObject(pool), have); err != nil {
			return err
		}
		return &obstacle{reason: reasonHostnameConflict, message: fmt.Sprintf("spec.route.hostname: Pool %s has %s already, and is older; take another name", first, pool.Spec.Route.Hostname), wait: routeInterval}
	}
	_, err = r.applier.Apply(ctx, ours, tlsRoute(pool, mapping.GroupVersionKind), have)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // the kind was there, and is known still
		return noGatewayAPI()
	}
	if err != nil {
		return err
	}
	return accepted(have)
}

func noGatewayAPI() error {
	return &obstacle{reason: reasonNoGatewayAPI, message: "spec.route: the cluster does not serve TLSRoutes; install the Gateway API to create the route", wait: routeInterval}
}

// accepted returns why a Gateway rejects a TLSRoute: nil if it accepts the route, or has not
// evaluated it yet.
func accepted(route *unstructured.Unstructured) error {
	parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
	for _, parent := range parents {
		fields, _ := parent.(map[string]any)
		conditions, _, _ := unstructured.NestedSlice(fields, "conditions")
		for _, condition := range conditions {
			if c, _ := condition.(map[string]any); (c["type"] == "Accepted" || c["type"] == "ResolvedRefs") && c["status"] == "False" {
				return &obstacle{reason: reasonRouteNotAccepted, message: fmt.Sprintf("TLSRoute %s: the Gateway says %v: %v", route.GetName(), c["reason"], c["message"]), wait: routeInterval}
			}
		}
	}
	return nil
}

// endpoints is how many servers are ready behind the Service of a Pool.
func (r *PoolReconciler) endpoints(ctx context.Context, pool *v1alpha1.Pool) (int32, error) {
	var slices discoveryv1.EndpointSliceList
	if err := r.client.List(ctx, &slices, client.InNamespace(pool.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: pool.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing the endpoints of Service %s: %w", pool.Name, err)
	}
	ready := map[string]bool{} // a server has one of each family of addresses
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) && len(endpoint.Addresses) > 0 {
				name := endpoint.Addresses[0]
				if endpoint.TargetRef != nil {
					name = string(endpoint.TargetRef.UID)
				}
				ready[name] = true
			}
		}
	}
	return int32(len(ready)), nil //nolint:gosec // as many as there are Pods
}

func poolMeta(pool *v1alpha1.Pool) metav1.ObjectMeta {
	labels := maps.Clone(pool.Spec.Service.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, map[string]string{layout.NameLabel: "openvox", layout.ManagedByLabel: layout.ManagedBy, poolLabelPrefix + pool.Name: "true"})
	return metav1.ObjectMeta{
		Namespace: pool.Namespace, Name: pool.Name, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pool, v1alpha1.SchemeGroupVersion.WithKind("Pool"))},
	}
}

// service reaches the servers that name a Pool, of whichever Config.
func service(pool *v1alpha1.Pool) *corev1.Service {
	spec := pool.Spec.Service
	s := &corev1.Service{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Service"), ObjectMeta: poolMeta(pool),
		Spec: corev1.ServiceSpec{
			Type: spec.Type, Selector: map[string]string{poolLabelPrefix + pool.Name: "true"}, ExternalIPs: slices.Clone(spec.ExternalIPs),
			Ports: []corev1.ServicePort{{Name: serverPort, Protocol: corev1.ProtocolTCP, Port: spec.Port, TargetPort: intstr.FromInt32(layout.Port), NodePort: spec.NodePort}},
		},
	}
	s.Annotations = maps.Clone(spec.Annotations)
	if s.Spec.Type == "" {
		s.Spec.Type = corev1.ServiceTypeClusterIP
	}
	if s.Spec.Ports[0].Port == 0 {
		s.Spec.Ports[0].Port = layout.Port
	}
	return s
}

// tlsRoute returns the TLSRoute from a Gateway to the Service of a Pool, by host name. TLS is
// passed through without decryption.
func tlsRoute(pool *v1alpha1.Pool, kind schema.GroupVersionKind) *unstructured.Unstructured {
	spec := pool.Spec.Route
	parent := map[string]any{"name": spec.GatewayRef.Name}
	for name, value := range map[string]string{"namespace": spec.GatewayRef.Namespace, "sectionName": spec.GatewayRef.SectionName} {
		if value != "" {
			parent[name] = value
		}
	}
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"parentRefs": []any{parent},
		"hostnames":  []any{spec.Hostname},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": pool.Name, "port": int64(service(pool).Spec.Ports[0].Port)}}}},
	}}}
	m := poolMeta(pool)
	route.SetGroupVersionKind(kind)
	route.SetNamespace(m.Namespace)
	route.SetName(m.Name)
	route.SetLabels(m.Labels)
	route.SetOwnerReferences(m.OwnerReferences)
	return route
}
