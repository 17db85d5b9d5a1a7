package openzro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// routingPeers carries out OZRoutingPeers. The network is its namespace's, and shared by
// all that are there; group, key, router and Deployment are its own.
type routingPeers struct {
	client  client.Client
	applier *object.Applier
	image   string
	// cluster is the name of this cluster.
	cluster string
	// making are the namespaces whose network is about to be made: at the server, several
	// networks may have one name.
	making sync.Map
}

// routerMetric is that of routers: others that somebody has made come first.
const routerMetric = 9999

// networkName is the name of the network of a namespace.
func (p *routingPeers) networkName(namespace string) string { return p.cluster + "-" + namespace }

// networkRecord is the description of the network of a namespace.
func (p *routingPeers) networkRecord(namespace string) string {
	return networkRecordOf(namespace) + p.cluster
}

func (p *routingPeers) keep(ctx context.Context, t *task[*v1.OZRoutingPeer]) error {
	network, err := p.network(ctx, t)
	if err != nil {
		return err
	}
	group, err := p.group(ctx, t)
	if err != nil {
		return err
	}
	if err := p.exempt(ctx, t, group); err != nil {
		return err
	}
	if err := p.router(ctx, t, network, group); err != nil {
		return err
	}
	key, err := p.key(ctx, t)
	if err != nil {
		return err
	}
	have := &appsv1.Deployment{}
	if _, err := p.applier.Apply(ctx, object.ControlledBy(t.object), deployment(t.object, p.image, t.by.URL, key), have); err != nil {
		return foreign(err)
	}
	t.next.Status.ReadyReplicas = have.Status.ReadyReplicas
	t.says = "the network, its router and the clients are there"
	return nil
}

// foreign says what to do about an object that stands where one of ours would.
func foreign(err error) error {
	if f := (*object.Foreign)(nil); errors.As(err, &f) {
		return &problem{reason: v1.ReasonDuplicateName, message: f.Error(), again: refusedPause}
	}
	return err
}

// network is the ID of the network, which is made if need be.
func (p *routingPeers) network(ctx context.Context, t *task[*v1.OZRoutingPeer]) (id string, err error) {
	namespace := t.object.Namespace
	if _, busy := p.making.LoadOrStore(namespace, true); busy {
		return "", &problem{reason: v1.ReasonDependency, message: "another OZRoutingPeer of the namespace looks for their network", again: time.Second}
	}
	defer p.making.Delete(namespace)
	if err := t.Networks.Load(ctx); err != nil {
		return "", err
	}
	have, found, ours := p.networkOf(t)
	status := &t.next.Status
	if !found {
		request := management.NetworkRequest{Name: p.networkName(namespace), Description: p.networkRecord(namespace)}
		if have, err = t.Networks.Create(ctx, request); err != nil {
			return "", err
		}
		t.made("create")
		ours = true
	}
	status.NetworkID, status.Adopted = have.ID, !ours
	return have.ID, nil
}

func (p *routingPeers) networkOf(t *task[*v1.OZRoutingPeer]) (have management.Network, found, ours bool) {
	var known *candidate[management.Network]
	id, name := t.object.Status.NetworkID, p.networkName(t.object.Namespace)
	if by, has := t.Networks.Get(id); has {
		known = &candidate[management.Network]{by, id, by.Description}
	}
	var named []candidate[management.Network]
	for _, one := range t.Networks.Named(name) {
		named = append(named, candidate[management.Network]{one, one.ID, one.Description})
	}
	return find(known, t.object.Status.Adopted, p.networkRecord(t.object.Namespace), named)
}

// childName is the name of the OZGroup and the OZSetupKey of an OZRoutingPeer.
func childName(of *v1.OZRoutingPeer) string { return childPrefix + of.Name }

const childPrefix = "routingpeer-"

func (p *routingPeers) groupName(of *v1.OZRoutingPeer) string {
	return p.networkName(of.Namespace) + "-" + of.Name
}

func (p *routingPeers) childMeta(of *v1.OZRoutingPeer) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: of.Namespace, Name: childName(of), Labels: map[string]string{managedByLabel: managedBy},
		OwnerReferences: []metav1.OwnerReference{controllerReference(of, "OZRoutingPeer")},
	}
}

// child is an object as it is applied: without a status.
func child(kind string, meta metav1.ObjectMeta, spec any) map[string]any {
	return map[string]any{"apiVersion": v1.SchemeGroupVersion.String(), "kind": kind, "metadata": meta, "spec": spec}
}

// group is the ID of the group of the clients, an OZGroup's.
func (p *routingPeers) group(ctx context.Context, t *task[*v1.OZRoutingPeer]) (id string, err error) {
	have := &v1.OZGroup{}
	wanted := child("OZGroup", p.childMeta(t.object), v1.OZGroupSpec{Name: p.groupName(t.object)})
	if _, err := p.applier.Apply(ctx, object.ControlledBy(t.object), wanted, have); err != nil {
		return "", foreign(err)
	}
	if isDuplicate(have) {
		return "", &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: fmt.Sprintf(
			"the group %s at the server is another namespace's already: give this object another name", have.Spec.Name)}
	}
	before := t.next.Status.GroupID
	if t.next.Status.GroupID = have.Status.GroupID; have.Status.GroupID == "" {
		return "", notReady("OZGroup", have)
	}
	if before != "" && before != have.Status.GroupID {
		_, err = t.Exempt(ctx, before, false)
	}
	return have.Status.GroupID, err
}

// isDuplicate says whether a group is that of another namespace: NAMESPACE-NAME may be the
// same for two. Its peers would route for both.
func isDuplicate(group *v1.OZGroup) bool {
	ready := meta.FindStatusCondition(group.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Reason == v1.ReasonDuplicateName
}

// notReady waits for a child.
func notReady(kind string, of v1.Object) error {
	ready := meta.FindStatusCondition(of.CommonStatus().Conditions, v1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return waiting(v1.ReasonDependency, "%s %s is being made", kind, of.GetName())
	}
	return waiting(v1.ReasonDependency, "%s %s, which is made for this object, is not ready (%s: %s)", kind, of.GetName(), ready.Reason, ready.Message)
}

// key is where the setup key of the clients is stored, an OZSetupKey's.
func (p *routingPeers) key(ctx context.Context, t *task[*v1.OZRoutingPeer]) (ref corev1.SecretKeySelector, err error) {
	have := &v1.OZSetupKey{}
	wanted := child("OZSetupKey", p.childMeta(t.object), v1.OZSetupKeySpec{
		Name: p.groupName(t.object), Type: v1.KeyTypeReusable, AutoGroups: []string{p.groupName(t.object)}, Ephemeral: new(isTrue(t.object.Spec.Ephemeral)),
		ReplaceWhen: []v1.Replacement{v1.ReplaceRevoked, v1.ReplaceExpired, v1.ReplaceOverused},
	})
	_, err = p.applier.Apply(ctx, object.ControlledBy(t.object), wanted, have)
	if apierrors.IsInvalid(err) {
		// What is wanted of it has changed, which the server fixes when it makes a key.
		if err := p.applier.Remove(ctx, object.ControlledBy(t.object), client.ObjectKey{Namespace: t.object.Namespace, Name: childName(t.object)}, have); err != nil {
			return ref, err
		}
		return ref, waiting(v1.ReasonDependency, "the setup key of the clients is made again")
	}
	if err != nil {
		return ref, foreign(err)
	}
	if t.next.Status.SetupKeyID = have.Status.SetupKeyID; !isReconciled(have) {
		return ref, notReady("OZSetupKey", have)
	}
	return have.SecretKey(), nil
}

// exempt lets the clients in without being approved one by one, or not.
func (p *routingPeers) exempt(ctx context.Context, t *task[*v1.OZRoutingPeer], group string) error {
	wanted := t.object.Spec.ExemptFromAdmission == nil || *t.object.Spec.ExemptFromAdmission
	changed, err := t.Exempt(ctx, group, wanted)
	if changed {
		t.made("update")
	}
	return err
}

// router has the clients route to the network. Other routers are somebody else's.
func (p *routingPeers) router(ctx context.Context, t *task[*v1.OZRoutingPeer], network, group string) error {
	all := t.Routers(network)
	if err := all.Load(ctx); err != nil {
		return err
	}
	request := management.RouterRequest{Enabled: true, Masquerade: true, Metric: routerMetric, PeerGroups: []string{group}}
	have, found := routerOf(all, t.object.Status.RouterID, group)
	var err error
	switch {
	case !found:
		if have, err = all.Create(ctx, request); err == nil {
			t.made("create")
		}
	case !sameRouter(have, request):
		if have, err = all.Update(ctx, have.ID, request); err == nil {
			t.made("update")
		}
	}
	if err == nil {
		t.next.Status.RouterID = have.ID
	}
	return err
}

// routerOf is the router of the peers of a group, which is one object's: that of an ID, else
// the one that has this group alone.
func routerOf(all *management.Collection[management.Router], id, group string) (have management.Router, found bool) {
	if have, found = all.Get(id); found {
		return have, true
	}
	for _, one := range all.All() {
		if group != "" && slices.Equal(one.PeerGroups, []string{group}) {
			return one, true
		}
	}
	return have, false
}

func sameRouter(have management.Router, wanted management.RouterRequest) bool {
	return have.Enabled == wanted.Enabled && have.Masquerade == wanted.Masquerade && have.Metric == wanted.Metric &&
		have.Peer == "" && slices.Equal(have.PeerGroups, wanted.PeerGroups)
}

// remove takes away what is not made as an object of its own: those go with their owner.
func (p *routingPeers) remove(ctx context.Context, t *task[*v1.OZRoutingPeer]) error {
	status := &t.object.Status
	if status.GroupID != "" {
		if _, err := t.Exempt(ctx, status.GroupID, false); err != nil {
			return err
		}
	}
	if err := t.Networks.Load(ctx); err != nil {
		return err
	}
	have, found, ours := p.networkOf(t)
	if !found {
		return nil
	}
	if err := p.removeRouter(ctx, t, have.ID); err != nil {
		return err
	}
	if !ours {
		return nil
	}
	return p.removeNetwork(ctx, t, have.ID)
}

func (p *routingPeers) removeRouter(ctx context.Context, t *task[*v1.OZRoutingPeer], network string) error {
	all := t.Routers(network)
	if err := all.Load(ctx); err != nil {
		return err
	}
	router, found := routerOf(all, t.object.Status.RouterID, t.object.Status.GroupID)
	if !found {
		return nil
	}
	err := all.Remove(ctx, router.ID)
	if err == nil {
		t.made("delete")
	}
	return err
}

// removeNetwork takes the network of the namespace away, with its last OZRoutingPeer and
// once nothing is in it: the server would delete that, too.
func (p *routingPeers) removeNetwork(ctx context.Context, t *task[*v1.OZRoutingPeer], id string) error {
	var others v1.OZRoutingPeerList
	if err := p.client.List(ctx, &others, client.InNamespace(t.object.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	if slices.ContainsFunc(others.Items, func(o v1.OZRoutingPeer) bool { return o.UID != t.object.UID && o.DeletionTimestamp.IsZero() }) {
		return nil
	}
	for _, c := range []interface {
		Refresh(context.Context) (bool, error)
	}{t.Resources(id), t.Routers(id)} {
		if _, err := c.Refresh(ctx); err != nil {
			return err
		}
	}
	var names []string
	for _, one := range t.Resources(id).All() {
		names = append(names, one.Name)
	}
	if routers := len(t.Routers(id).All()); len(names)+routers > 0 {
		return stillLinked("network %s has %d other routers, and the resources %s, and stays as long: delete those that are not needed",
			p.networkName(t.object.Namespace), routers, strings.Join(append(names, "(no more)"), ", "))
	}
	err := t.RemoveNetwork(ctx, id)
	if err == nil {
		t.made("delete")
	}
	return err
}
