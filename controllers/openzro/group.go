package openzro

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// groupController reconciles OZGroups. A group has no description that could name its owner, so the
// status records the creation before it happens.
type groupController struct{ *neighbours }

func (g *groupController) keep(ctx context.Context, t *task[*v1.OZGroup]) (err error) {
	for range 2 {
		if err = t.Groups.Load(ctx); err != nil {
			return err
		}
		if _, _, err := t.Groups.Confirm(ctx, t.next.Status.GroupID); err != nil {
			return err
		}
		if id := t.next.Status.GroupID; isWithdrawn(t, id) {
			have, _ := t.Groups.Get(id)
			released(t, remoteItem{kindGroup, id, have.Name}, "it was not changed")
			t.next.Status.GroupID = ""
		}
		have, found := groupOf(t)
		if found {
			if err := g.mayUse(ctx, t, have); err != nil {
				return err
			}
			return g.hold(ctx, t, have)
		}
		if err = g.create(ctx, t); !management.Is(err, management.AlreadyExists) {
			return err
		}
		// Another client was faster: the groups are listed again.
	}
	return err
}

// mayUse returns a problem if a group belongs to another namespace: only its owner may use it,
// although names are unique in an account.
func (g *groupController) mayUse(ctx context.Context, t *task[*v1.OZGroup], have management.Group) error {
	status := &t.next.Status
	if status.GroupID == have.ID && !status.Adopted {
		return nil
	}
	theirs, err := g.haveGroup(ctx, t.by, have)
	if err != nil || !theirs {
		return err
	}
	status.GroupID, status.Adopted = "", false
	conditionsOf(t.next).Remove(v1.ConditionCreating)
	return &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: fmt.Sprintf(
		"the group %q at the server is that of an OZGroup of another namespace, whose account this is, too: choose another name, or give this namespace a key to an account of its own", have.Name)}
}

// groupOf is the group of an object: that of its ID, else one of its name.
func groupOf(t *task[*v1.OZGroup]) (group management.Group, found bool) {
	status := &t.next.Status
	if group, found = t.Groups.Get(status.GroupID); found && (group.Name == t.object.Spec.Name || !status.Adopted) {
		return group, true
	}
	return groupNamed(t.Tenant, t.object.Spec.Name)
}

// groupNamed returns the group with a name. Groups from another issuer, which API keys cannot
// write, may have the same name.
func groupNamed(t *management.Tenant, name string) (group management.Group, found bool) {
	named := t.Groups.Named(name)
	if i := slices.IndexFunc(named, management.Group.IsIssuedByAPI); i >= 0 {
		return named[i], true
	}
	if len(named) == 0 {
		return group, false
	}
	return named[0], true
}

// hold adopts or updates an existing group for the object.
func (g *groupController) hold(ctx context.Context, t *task[*v1.OZGroup], have management.Group) (err error) {
	status, foreign := &t.next.Status, remoteItem{kindGroup, have.ID, have.Name}
	if status.GroupID != have.ID {
		// Another user has added the members of a group that has some already.
		ours := isCreating(t.next) && have.IsEmpty()
		conditionsOf(t.next).Remove(v1.ConditionCreating)
		status.GroupID, status.Adopted = "", false
		if !ours && !v1.MayAdopt(t.object) {
			return refuseAdoption(foreign)
		}
		if !ours {
			if err := adopt(ctx, t, foreign, &status.GroupID, nil); err != nil {
				return err
			}
		}
		status.GroupID = have.ID
	}
	conditionsOf(t.next).Remove(v1.ConditionCreating)
	if status.Adopted {
		if err := adopt(ctx, t, foreign, &status.GroupID, nil); err != nil {
			return err
		}
	}
	if have.Name != t.object.Spec.Name {
		err = g.rename(ctx, t, have.ID)
	}
	if status.Adopted {
		t.says = "the group was there before and is used; it stays when this object is deleted"
	}
	return err
}

// rename gives a group its name again. Writing a group sets its members, too: those are
// written that were read just before.
func (g *groupController) rename(ctx context.Context, t *task[*v1.OZGroup], id string) error {
	now, err := t.Groups.Read(ctx, id)
	if err != nil {
		return err
	}
	request := management.GroupRequest{Name: t.object.Spec.Name, Resources: now.Resources}
	for _, peer := range now.Peers {
		request.Peers = append(request.Peers, peer.ID)
	}
	_, err = t.Groups.Update(ctx, id, request)
	return t.counted("update", err)
}

// create creates a group.
func (g *groupController) create(ctx context.Context, t *task[*v1.OZGroup]) error {
	t.next.Status.GroupID, t.next.Status.Adopted = "", false
	return createRecorded(ctx, t, kindGroup, &t.next.Status.GroupID, func() (string, error) {
		made, err := t.Groups.Create(ctx, management.GroupRequest{Name: t.object.Spec.Name})
		return made.ID, err
	})
}

func (g *groupController) remove(ctx context.Context, t *task[*v1.OZGroup]) error {
	if !hasMade(t.object) {
		return nil
	}
	if err := t.Groups.Load(ctx); err != nil {
		return err
	}
	if _, _, err := t.Groups.Confirm(ctx, t.next.Status.GroupID); err != nil {
		return err
	}
	inDoubt := t.next.Status.GroupID == "" && isCreating(t.next)
	if inDoubt {
		name := t.object.Spec.Name
		absent, err := t.Groups.Absent(ctx, string(t.object.UID), func(g management.Group) bool { return g.Name == name })
		if err != nil || absent {
			return err
		}
	}
	have, found := groupOf(t)
	if !found && inDoubt {
		return inFlight(kindGroup)
	}
	if !found || t.next.Status.Adopted || t.next.Status.GroupID == "" && (!inDoubt || !have.IsEmpty()) {
		return nil
	}
	if inDoubt {
		if theirs, err := g.haveGroup(ctx, t.by, have); err != nil || theirs {
			return err
		}
	}
	if used, err := g.isUsed(ctx, t.object, have.ID); err != nil || used {
		return err
	}
	err := t.Groups.Remove(ctx, have.ID)
	if management.Is(err, management.Invalid) {
		return stillLinked("the group is in use at the server and cannot be deleted yet; take it out there (%s)", err)
	}
	if err == nil {
		t.made("delete")
	}
	return err
}

// isUsed reports whether another object of the namespace has the same group.
func (g *groupController) isUsed(ctx context.Context, of *v1.OZGroup, id string) (bool, error) {
	var all v1.OZGroupList
	if err := g.client.List(ctx, &all, client.InNamespace(of.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	return slices.ContainsFunc(all.Items, func(other v1.OZGroup) bool {
		return other.UID != of.UID && other.Status.GroupID == id && other.DeletionTimestamp.IsZero()
	}), nil
}

// groupIDs returns the IDs of groups by name, for an object with some credentials. Names that
// the server does not have are a problem: nothing is created or widened without them. The IDs of
// the others are returned too, so that groups that are no longer named can be removed.
func (n *neighbours) groupIDs(ctx context.Context, t *management.Tenant, by credentials, names []string) (map[string]string, error) {
	if err := t.Groups.Load(ctx); err != nil {
		return nil, err
	}
	var all v1.OZGroupList
	if err := n.client.List(ctx, &all, client.InNamespace(by.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	ids, missing := namedGroups(t, all.Items, names)
	quiet := len(missing) > 0 && areBeingMade(all.Items, missing)
	if len(missing) > 0 && !quiet {
		if _, err := t.Groups.Missed(ctx, missing...); err != nil {
			return nil, err
		}
		ids, missing = namedGroups(t, all.Items, names)
	}
	err := n.mayName(ctx, t, by, ids)
	if len(missing) == 0 || err != nil && !isProblem(err) {
		return ids, err
	}
	p := waiting(v1.ReasonGroupNotFound, "the server has no group %s yet; %s", quoted(missing), remedy(all.Items, missing))
	p.quiet = quiet
	return ids, p
}

// groupsByID returns the groups with some IDs, for an object with some credentials. With a
// problem, it returns those without one.
func (n *neighbours) groupsByID(ctx context.Context, t *management.Tenant, by credentials, field string, ids []string) (all []management.Group, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := t.Groups.Load(ctx); err != nil {
		return nil, err
	}
	lacks := func(id string) bool { _, found := t.Groups.Get(id); return !found }
	if slices.ContainsFunc(ids, lacks) {
		if _, err := t.Groups.Missed(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !lacks(id) })...); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		group, found := t.Groups.Get(id)
		if !found {
			err = cmp.Or(err, error(waiting(v1.ReasonGroupNotFound, "%s: the server has no group with the ID %q: name the ID of a group that it has, such as in status.groupID of an OZGroup", field, id)))
			continue
		}
		refused := n.mayName(ctx, t, by, map[string]string{group.Name: id})
		if refused != nil && !isProblem(refused) {
			return nil, refused
		}
		if err = cmp.Or(err, refused); refused == nil {
			all = append(all, group)
		}
	}
	return all, err
}

// joined are IDs without duplicates, in order.
func joined(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// stillNamed are those IDs of groups that an item has at the server without those that its
// object no longer names. named are those that it names; a group that the list of the server
// lacks may be another one of them.
func stillNamed(t *management.Tenant, have, named []string) []string {
	return joined(slices.DeleteFunc(slices.Clone(have), func(id string) bool {
		_, known := t.Groups.Get(id)
		return known && !slices.Contains(named, id)
	}))
}

// remedy says how groups that are missing come to be named. They are sought by spec.name, not
// by the name of an OZGroup.
func remedy(groups []v1.OZGroup, missing []string) string {
	var mistaken []string
	for _, g := range groups {
		if slices.Contains(missing, g.Name) && g.Spec.Name != g.Name && g.DeletionTimestamp.IsZero() {
			mistaken = append(mistaken, fmt.Sprintf("OZGroup %s is %q at the server: name that", g.Name, g.Spec.Name))
		}
	}
	slices.Sort(mistaken)
	return strings.Join(append(mistaken, "make an OZGroup that has the name in spec.name"), ", or ")
}

// mayName says which of some groups are another namespace's, where alone they can be named, and
// removes them from ids.
func (n *neighbours) mayName(ctx context.Context, t *management.Tenant, by credentials, ids map[string]string) error {
	var theirs []string
	for name, id := range ids {
		group, _ := t.Groups.Get(id)
		is, err := n.haveGroup(ctx, by, group)
		if err != nil {
			return err
		}
		if is {
			theirs = append(theirs, name)
			delete(ids, name)
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	slices.Sort(theirs)
	return waiting(v1.ReasonGroupNotFound, "the group %s at the server belongs to an OZGroup of another namespace, and only objects of that namespace can name it: name a group of this namespace, or one that was created in the dashboard", quoted(theirs))
}

// areBeingMade reports whether OZGroups with these names exist that were not reconciled yet:
// they will soon enqueue the objects that wait for them.
func areBeingMade(groups []v1.OZGroup, names []string) bool {
	making := map[string]bool{}
	for _, g := range groups {
		making[g.Spec.Name] = making[g.Spec.Name] || g.DeletionTimestamp.IsZero() && meta.FindStatusCondition(g.Status.Conditions, v1.ConditionReady) == nil
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !making[name] })
}

// namedGroups are the IDs of groups by their names: of several with one name, that of the
// OZGroup.
func namedGroups(t *management.Tenant, groups []v1.OZGroup, names []string) (ids map[string]string, missing []string) {
	ids = map[string]string{}
	for _, g := range groups {
		if have, found := t.Groups.Get(g.Status.GroupID); found && have.Name == g.Spec.Name && slices.Contains(names, have.Name) {
			ids[have.Name] = have.ID
		}
	}
	for _, name := range names {
		if ids[name] != "" || slices.Contains(missing, name) {
			continue
		}
		if have, found := groupNamed(t, name); found {
			ids[name] = have.ID
		} else {
			missing = append(missing, name)
		}
	}
	return ids, missing
}

// idsOf are the IDs of some of the names, each once, in order.
func idsOf(ids map[string]string, names []string) (some []string) {
	for _, name := range names {
		if id := ids[name]; id != "" {
			some = append(some, id)
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}
