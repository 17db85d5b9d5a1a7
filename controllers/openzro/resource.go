package openzro

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// resources reconciles OZResources.
type resources struct {
	*neighbours
	client client.Client
	grants *grants
}

func (r *resources) keep(ctx context.Context, t *task[*v1.OZResource]) error {
	spec, status := &t.object.Spec, &t.next.Status
	ids, unknown := r.groups(ctx, t)
	if unknown != nil && !isProblem(unknown) {
		return unknown
	}
	wanted := wantedResource{
		network: spec.NetworkID, id: &status.NetworkResourceID, record: recordOf("OZResource", t.object),
		request: management.ResourceRequest{Name: spec.Name, Address: spec.Address, Enabled: true, Groups: ids},
	}
	if unknown != nil {
		if held, err := narrowResource(ctx, t, &wanted); err != nil || !held {
			return firstOf(err, unknown)
		}
	}
	held, err := holdResource(ctx, t, wanted)
	if err != nil {
		return err
	}
	if unknown != nil {
		status.NetworkResourceID, status.Groups = held, wanted.request.Groups
		return unknown
	}
	status.NetworkResourceID, status.Groups = held, ids
	status.PolicyName, status.PolicySourceGroups, status.PolicyFriendlyName = spec.PolicyName, spec.PolicySourceGroups, spec.PolicyFriendlyName
	status.TCPPorts, status.UDPPorts = spec.TCPPorts, spec.UDPPorts
	return r.policies(ctx, t)
}

// policies says which OZPolicies lead to a resource. One that is named and is not there is
// a problem: nothing leads there yet.
func (r *resources) policies(ctx context.Context, t *task[*v1.OZResource]) error {
	var missing []string
	t.next.Status.PolicyNameMapping = nil
	for _, name := range listed(t.object.Spec.PolicyName) {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: t.object.Namespace, Name: name}, &v1.OZPolicy{})
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err != nil:
			missing = append(missing, name)
			continue
		case t.next.Status.PolicyNameMapping == nil:
			t.next.Status.PolicyNameMapping = map[string]string{}
		}
		t.next.Status.PolicyNameMapping[name] = name
	}
	if len(missing) > 0 {
		return waiting(v1.ReasonDependency, "the server has the resource, but this namespace has no OZPolicy %s, which spec.policyName names: write it", quoted(missing))
	}
	return nil
}

// groups returns the IDs of the groups of a resource. It creates OZGroups for missing ones. With
// a problem, it returns those without one.
func (r *resources) groups(ctx context.Context, t *task[*v1.OZResource]) ([]string, error) {
	if err := t.Groups.Load(ctx); err != nil {
		return nil, err
	}
	var all v1.OZGroupList
	if err := r.client.List(ctx, &all, client.InNamespace(t.object.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	ids, missing := namedGroups(t.Tenant, all.Items, t.object.Spec.Groups)
	if len(missing) > 0 && !areBeingMade(all.Items, missing) {
		if _, err := t.Groups.Missed(ctx, missing...); err != nil {
			return nil, err
		}
		ids, missing = namedGroups(t.Tenant, all.Items, t.object.Spec.Groups)
	}
	refused := cmp.Or(r.mayName(ctx, t.Tenant, t.by, ids), r.mayJoin(t, all.Items, ids))
	if refused != nil && !isProblem(refused) {
		return nil, refused
	}
	known := idsOf(ids, t.object.Spec.Groups)
	making, err := r.owners(ctx, t, all.Items, missing)
	if err != nil {
		return known, err
	}
	if len(missing) > 0 {
		p := waiting(v1.ReasonGroupNotFound, "the server has no group %s yet: waiting for the OZGroup that is created for each", quoted(missing))
		p.quiet = making
		return known, p
	}
	return known, refused
}

// mayJoin refuses groups of the OZResource of a Service that were neither created for it nor
// granted, and removes them from ids. A group of the default name may be another one: of a
// routing peer, or one that was created in the dashboard.
func (r *resources) mayJoin(t *task[*v1.OZResource], groups []v1.OZGroup, ids map[string]string) error {
	if owner := metav1.GetControllerOf(t.object); owner == nil || owner.Kind != "Service" {
		return nil
	}
	groups = slices.DeleteFunc(slices.Clone(groups), func(g v1.OZGroup) bool {
		return g.Annotations[generatedByAnnotation] != t.object.Namespace+"/"+t.object.Name
	})
	var foreign, pending []string
	for name, id := range ids {
		created := slices.ContainsFunc(groups, func(g v1.OZGroup) bool { return g.Status.GroupID == id && !g.Status.Adopted })
		group, _ := t.Groups.Get(id)
		switch {
		case created || isGrantedGroup(r.grants.expose, t.object.Namespace, group):
			continue
		case slices.ContainsFunc(groups, func(g v1.OZGroup) bool {
			return g.Spec.Name == name && g.Status.GroupID == "" && duplicateName(&g) == ""
		}):
			pending = append(pending, name)
		default:
			foreign = append(foreign, name)
		}
		delete(ids, name)
	}
	if len(foreign)+len(pending) == 0 {
		return nil
	}
	if len(foreign) == 0 {
		p := waiting(v1.ReasonGroupNotFound, "the group %s is being created at the server", quoted(pending))
		p.quiet = true
		return p
	}
	slices.Sort(foreign)
	return waiting(v1.ReasonNotGranted,
		"the server already has the group %s, which was not created for this Service: rename the Service, or have the administrator start the manager with --openzro-expose=%q, which covers groups that were created in the dashboard or by the API",
		quoted(foreign), t.object.Namespace+"="+foreign[0])
}

// owners creates an OZGroup for each missing group, and adds the resource as an owner of those
// that were created in this way: they are deleted with their last resource. making reports that
// the missing ones will exist soon.
func (r *resources) owners(ctx context.Context, t *task[*v1.OZResource], all []v1.OZGroup, missing []string) (making bool, err error) {
	taken, wanted := map[string]bool{}, missing
	for i := range all {
		group := &all[i]
		taken[group.Name] = true
		missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool { return name == group.Spec.Name })
		if err := r.own(ctx, t.object, group); err != nil {
			return false, err
		}
	}
	for _, name := range missing {
		group := generatedGroup(t.object, name, taken)
		if taken[group.Name] {
			return false, stalled(v1.ReasonDuplicateName, "group %q is not at the server, and another OZGroup has the name %s: make an OZGroup for it", name, group.Name)
		}
		taken[group.Name] = true
		if err := controllerutil.SetOwnerReference(t.object, group, r.client.Scheme()); err != nil {
			return false, err
		}
		if err := r.client.Create(ctx, group, client.FieldOwner(fieldManager("OZResource"))); err != nil {
			return false, err
		}
		all = append(all, *group)
	}
	return areBeingMade(all, wanted), nil
}

// own adds a resource as an owner of a group that was created for resources, if the resource is
// in it.
func (r *resources) own(ctx context.Context, of *v1.OZResource, group *v1.OZGroup) error {
	_, generated := group.Annotations[generatedByAnnotation]
	if !generated || !slices.Contains(of.Spec.Groups, group.Spec.Name) || !group.DeletionTimestamp.IsZero() {
		return nil
	}
	// A reference to an earlier resource of the name is replaced: the group would be deleted with it.
	if slices.ContainsFunc(group.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == of.UID }) {
		return nil
	}
	group = group.DeepCopy()
	before := client.MergeFromWithOptions(group.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := controllerutil.SetOwnerReference(of, group, r.client.Scheme()); err != nil {
		return err
	}
	return r.client.Patch(ctx, group, before, client.FieldOwner(fieldManager("OZResource")))
}

// generatedByAnnotation names the object for which another one was first created.
const generatedByAnnotation = "openzro.io/generated-by"

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// generatedGroup is an OZGroup for a group that a resource is in. taken are the names that
// it cannot have.
func generatedGroup(of *v1.OZResource, name string, taken map[string]bool) *v1.OZGroup {
	group := &v1.OZGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: of.Namespace, Annotations: map[string]string{generatedByAnnotation: of.Namespace + "/" + of.Name},
	}, Spec: v1.OZGroupSpec{Name: name}}
	group.Name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if group.Name == "" || len(group.Name) > maxGeneratedName || taken[group.Name] {
		digest := sha256.Sum256([]byte(name))
		group.Name = strings.Trim(group.Name[:min(len(group.Name), maxGeneratedName)]+"-"+hex.EncodeToString(digest[:4]), "-")
	}
	return group
}

const maxGeneratedName = 200

func (r *resources) remove(ctx context.Context, t *task[*v1.OZResource]) error {
	return removeResource(ctx, t, wantedResource{
		network: t.object.Spec.NetworkID, id: &t.next.Status.NetworkResourceID, record: recordOf("OZResource", t.object),
		request: management.ResourceRequest{Name: t.object.Spec.Name},
	})
}
