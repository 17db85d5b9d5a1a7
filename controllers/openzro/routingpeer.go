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

// routingPeers reconciles OZRoutingPeers. All OZRoutingPeers of a namespace share its network;
// each has its own group, key, router and Deployment.
type routingPeers struct {
	client  client.Client
	applier *object.Applier
	image   string
	// cluster is the name of this cluster.
	cluster string
	// making are the namespaces whose network is about to be created: at the server, several
	// networks may have one name.
	making sync.Map
}

// networkName is the name of the network of a namespace.
func (p *routingPeers) networkName(namespace string) string { return p.cluster + "-" + namespace }

// networkRecord is the description of the network of a namespace.
func (p *routingPeers) networkRecord(namespace string) string {
	return networkRecordOf(namespace) + p.cluster
}

func (p *routingPeers) keep(ctx context.Context, t *task[*v1.OZRoutingPeer]) error {
	if err := p.withdraw(ctx, t); err != nil {
		return err
	}
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
	wanted, err := deployment(t.object, p.image, t.by.URL, key)
	if err != nil {
		return err
	}
	have := &appsv1.Deployment{}
	if _, err := p.applier.Apply(ctx, object.ControlledBy(t.object), wanted, have); err != nil {
		return foreign(err)
	}
	t.next.Status.ReadyReplicas = have.Status.ReadyReplicas
	t.says = "the network, its router and the clients are there"
	return nil
}

// foreign returns the problem for a foreign object with the name of one of ours.
func foreign(err error) error {
	if f := (*object.Foreign)(nil); errors.As(err, &f) {
		return &problem{reason: v1.ReasonDuplicateName, message: f.Error(), again: refusedPause}
	}
	return err
}

// withdraw releases what the object has adopted, once it no longer carries the annotation.
func (p *routingPeers) withdraw(ctx context.Context, t *task[*v1.OZRoutingPeer]) error {
	status := &t.next.Status
	if isWithdrawn(t, status.RouterID) {
		if err := p.removeRouter(ctx, t, status.NetworkID); err != nil {
			return err
		}
		status.RouterID = ""
	}
	if isWithdrawn(t, status.NetworkID) {
		released(t, remoteItem{kindNetwork, status.NetworkID, p.networkName(t.object.Namespace)}, "it was not changed")
		status.NetworkID = ""
	}
	return nil
}

// network returns the ID of the network, which it creates if missing.
func (p *routingPeers) network(ctx context.Context, t *task[*v1.OZRoutingPeer]) (id string, err error) {
	namespace := t.object.Namespace
	if _, busy := p.making.LoadOrStore(namespace, true); busy {
		return "", &problem{reason: v1.ReasonDependency, message: "another OZRoutingPeer of the namespace looks for their network", again: time.Second}
	}
	defer p.making.Delete(namespace)
	if err := t.Networks.Load(ctx); err != nil {
		return "", err
	}
	status := &t.next.Status
	if _, _, err := t.Networks.Confirm(ctx, status.NetworkID); err != nil {
		return "", err
	}
	have, found, ours := p.networkOf(t)
	if !found {
		pending, err := t.Networks.Missed(ctx, p.networkName(namespace))
		if err != nil {
			return "", err
		}
		if pending || t.Networks.IsUnsure() {
			return "", waiting(v1.ReasonDependency, "the network is looked for in the next list of the server, before it is created")
		}
		have, found, ours = p.networkOf(t)
	}
	if found && !ours {
		foreign := remoteItem{kindNetwork, have.ID, have.Name}
		if !permitsAdoption(t, have.ID, status.NetworkID) {
			return "", refuseAdoption(foreign)
		}
		if err := adopt(ctx, t, foreign, &status.NetworkID, nil); err != nil {
			return "", err
		}
	}
	if !found {
		request := management.NetworkRequest{Name: p.networkName(namespace), Description: p.networkRecord(namespace)}
		if have, err = t.Networks.Create(ctx, request); err != nil {
			return "", err
		}
		t.made("create")
		ours = true
	}
	status.NetworkID, status.Adopted = have.ID, !ours || len(status.Adoptions) > 0
	return have.ID, nil
}

func (p *routingPeers) networkOf(t *task[*v1.OZRoutingPeer]) (have management.Network, found, ours bool) {
	namespace, status := t.object.Namespace, &t.next.Status
	return find(t.Networks, status.NetworkID, p.networkName(namespace), p.networkRecord(namespace), status.Adopted, func(n management.Network) string { return n.Description })
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

// child returns an object for server-side apply, without a status.
func child(kind string, meta metav1.ObjectMeta, spec any) map[string]any {
	return map[string]any{"apiVersion": v1.SchemeGroupVersion.String(), "kind": kind, "metadata": meta, "spec": spec}
}

// group is the ID of the group of the clients, an OZGroup's.
func (p *routingPeers) group(ctx context.Context, t *task[*v1.OZRoutingPeer]) (id string, err error) {
	have, meta := &v1.OZGroup{}, p.childMeta(t.object)
	if v1.MayAdopt(t.object) {
		meta.Annotations = map[string]string{v1.AdoptAnnotation: "true"}
	}
	wanted := child("OZGroup", meta, v1.OZGroupSpec{Name: p.groupName(t.object)})
	if _, err := p.applier.Apply(ctx, object.ControlledBy(t.object), wanted, have); err != nil {
		return "", foreign(err)
	}
	if why := duplicateName(have); why != "" {
		return "", &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: fmt.Sprintf("OZGroup %s: %s", have.Name, why)}
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

// duplicateName is the message of a group that the server has already, such as that of
// another namespace: NAMESPACE-NAME may be the same for two, and its peers would route for
// both.
func duplicateName(group *v1.OZGroup) string {
	ready := meta.FindStatusCondition(group.Status.Conditions, v1.ConditionReady)
	if ready == nil || ready.Reason != v1.ReasonDuplicateName {
		return ""
	}
	return ready.Message
}

// notReady waits for a child.
func notReady(kind string, of v1.Object) error {
	ready := meta.FindStatusCondition(of.CommonStatus().Conditions, v1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return waiting(v1.ReasonDependency, "%s %s is being created", kind, of.GetName())
	}
	return waiting(v1.ReasonDependency, "%s %s, which is created for this object, is not ready (%s: %s)", kind, of.GetName(), ready.Reason, ready.Message)
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
		// The desired fields have changed, which the server fixes when it creates a key.
		if err := p.applier.Remove(ctx, object.ControlledBy(t.object), client.ObjectKey{Namespace: t.object.Namespace, Name: childName(t.object)}, have); err != nil {
			return ref, err
		}
		return ref, waiting(v1.ReasonDependency, "the setup key of the clients is being created again")
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

// remove deletes the items without an object of their own: the others are deleted with their
// owner.
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
	if _, _, err := t.Networks.Confirm(ctx, status.NetworkID); err != nil {
		return err
	}
	have, found, ours := p.networkOf(t)
	if !found {
		record := p.networkRecord(t.object.Namespace)
		absent, err := t.Networks.AbsentIfUnsure(ctx, string(t.object.UID), func(n management.Network) bool { return n.Description == record })
		if err != nil || absent {
			return err
		}
		if have, found, ours = p.networkOf(t); !found {
			return inFlight(kindNetwork)
		}
	}
	if err := p.removeRouter(ctx, t, have.ID); err != nil {
		return err
	}
	if !ours {
		return nil
	}
	return p.removeNetwork(ctx, t, have.ID)
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
	routers := len(t.Routers(id).All())
	if len(names)+routers == 0 {
		// The lists may be wrong: the network itself is the second answer.
		have, err := t.Networks.Read(ctx, id)
		if management.Is(err, management.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		names, routers = have.Resources, len(have.Routers)
	}
	if len(names)+routers > 0 {
		return stillLinked("network %s has %d other routers, and the resources %s, and stays as long: delete those that are not needed",
			p.networkName(t.object.Namespace), routers, strings.Join(append(names, "(no more)"), ", "))
	}
	return t.counted("delete", t.RemoveNetwork(ctx, id))
}
