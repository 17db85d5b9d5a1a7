package openzro

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// policies reconciles OZPolicies: each is up to two policies at the server. The descriptions of
// their rules name the object.
type policies struct {
	*neighbours
	now func() time.Time
}

// side is one of the two policies of an object.
type side struct {
	protocol v1.Protocol
	suffix   string
	id       func(*v1.OZPolicyStatus) *string
}

var allSides = []side{
	{v1.ProtocolTCP, " TCP", func(s *v1.OZPolicyStatus) *string { return &s.TCPPolicyID }},
	{v1.ProtocolUDP, " UDP", func(s *v1.OZPolicyStatus) *string { return &s.UDPPolicyID }},
}

// namesPolicy reports whether a resource names a policy.
func namesPolicy(r *v1.OZResource, policy string) bool {
	return slices.Contains(listed(r.Spec.PolicyName), policy)
}

// listed are the names in a list with commas between.
func listed(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (p *policies) keep(ctx context.Context, t *task[*v1.OZPolicy]) error {
	r, err := p.reach(ctx, t.object)
	if err != nil {
		return err
	}
	t.next.Status.ManagedServiceList = r.resources
	if err := t.Policies.Load(ctx); err != nil {
		return err
	}
	if err := confirmPolicies(ctx, t); err != nil {
		return err
	}
	missing := r.missing()
	for _, s := range allSides { // removals do not wait for groups
		if missing != "" || len(r.ports[s.protocol]) == 0 || isWithdrawn(t, *s.id(&t.next.Status)) {
			if err := p.drop(ctx, t, s); err != nil {
				return err
			}
		}
	}
	if missing != "" {
		t.next.Status.Adopted = false
		return stalled(v1.ReasonInvalidConfig, "nothing is reached: %s", missing)
	}
	ids, err := p.groupIDs(ctx, t.Tenant, t.by, slices.Concat(r.sources, r.destinations))
	if isProblem(err) {
		return firstOf(p.narrow(ctx, t, r, ids), err)
	}
	if err != nil {
		return err
	}
	for _, s := range allSides { // before anything is written: both policies, or none
		have, found, ours := policyOf(t, s)
		if len(r.ports[s.protocol]) > 0 && found && !ours && !permitsAdoption(t, have.ID, *s.id(&t.next.Status)) {
			return refuseAdoption(foreignPolicy(have))
		}
	}
	sources, destinations := idsOf(ids, r.sources), idsOf(ids, r.destinations)
	adopted := false
	for _, s := range allSides {
		if len(r.ports[s.protocol]) == 0 {
			continue
		}
		ours, err := p.hold(ctx, t, s, wantedPolicy(t.object, s, sources, destinations, r.ports[s.protocol]))
		if err != nil {
			return err // of the other one, nothing new is known
		}
		adopted = adopted || !ours
		t.next.Status.Adopted = t.next.Status.Adopted || adopted
	}
	t.next.Status.Adopted = adopted
	return nil
}

// narrow takes back what an object no longer opens, while groups that it names have to be
// waited for. ids are those of the other groups.
func (p *policies) narrow(ctx context.Context, t *task[*v1.OZPolicy], r reach, ids map[string]string) error {
	for _, s := range allSides {
		have, found, ours := policyOf(t, s)
		if !found || !ours || len(have.Rules) != 1 {
			continue
		}
		is := have.Rules[0]
		sources := stillNamed(t.Tenant, management.IDs(is.Sources), idsOf(ids, r.sources))
		destinations := stillNamed(t.Tenant, management.IDs(is.Destinations), idsOf(ids, r.destinations))
		ports := slices.DeleteFunc(slices.Clone(is.Ports), func(port string) bool { return !slices.Contains(r.ports[s.protocol], port) })
		if len(sources) == 0 || len(destinations) == 0 || len(ports) == 0 {
			if err := p.drop(ctx, t, s); err != nil {
				return err
			}
			continue
		}
		wanted := wantedPolicy(t.object, s, sources, destinations, ports)
		wanted.Rules[0].Bidirectional = wanted.Rules[0].Bidirectional && is.Bidirectional
		if _, err := p.hold(ctx, t, s, wanted); err != nil {
			return err
		}
	}
	return nil
}

// reach gathers what a policy opens.
func (p *policies) reach(ctx context.Context, of *v1.OZPolicy) (reach, error) {
	var all v1.OZResourceList
	if err := p.client.List(ctx, &all, client.InNamespace(of.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return reach{}, err
	}
	var naming []v1.OZResource
	for _, r := range all.Items {
		if r.DeletionTimestamp.IsZero() && namesPolicy(&r, of.Name) {
			naming = append(naming, r)
		}
	}
	return reachOf(of, naming), nil
}

// hold updates the policy at the server to the desired one. ours reports that it was created for
// the object.
func (p *policies) hold(ctx context.Context, t *task[*v1.OZPolicy], s side, wanted management.PolicyRequest) (ours bool, err error) {
	have, found, ours := policyOf(t, s)
	id := s.id(&t.next.Status)
	if err := p.dropOthers(ctx, t, s, have.ID); err != nil {
		return ours || !found, err
	}
	if !found {
		made, err := t.Policies.Create(ctx, wanted)
		if err != nil {
			return true, err
		}
		*id = made.ID
		p.wrote(t, "create")
		return true, p.whole(ctx, t, made, wanted, true)
	}
	if !ours {
		if err := p.adopt(ctx, t, have, id); err != nil {
			return ours, err
		}
		wanted.Rules[0].Description = recordIn(have)
	}
	*id = have.ID
	if ours && len(have.Rules) > 1 {
		return ours, p.renew(ctx, t, s, have, wanted)
	}
	if samePolicy(have, wanted) {
		return ours, nil
	}
	wanted.SourcePostureChecks = have.SourcePostureChecks
	if rule := ruleOf(have); rule != nil {
		wanted.Rules[0].ID = rule.ID
	}
	written, err := t.Policies.Update(ctx, have.ID, wanted)
	if err != nil {
		return ours, gone(err, t.Policies.Forget)
	}
	p.wrote(t, "update")
	return ours, p.whole(ctx, t, written, wanted, false)
}

// dropOthers deletes duplicates of one side of an object, which were created while a server
// returned an incomplete list.
func (p *policies) dropOthers(ctx context.Context, t *task[*v1.OZPolicy], s side, id string) error {
	record := recordOf("OZPolicy", t.object)
	for _, one := range t.Policies.Named(t.object.Spec.Name + s.suffix) {
		if one.ID == id || recordIn(one) != record {
			continue
		}
		if err := t.Policies.Remove(ctx, one.ID); err != nil {
			return err
		}
		p.wrote(t, "delete")
	}
	return nil
}

// whole returns an error if the server stored a different policy: it silently drops groups that
// no longer exist. A new policy that differs from the request is deleted again.
func (p *policies) whole(ctx context.Context, t *task[*v1.OZPolicy], is management.Policy, wanted management.PolicyRequest, made bool) error {
	if samePolicy(is, wanted) {
		return nil
	}
	differs := &problem{reason: v1.ReasonAPIError, message: fmt.Sprintf("the server keeps policy %s otherwise than it was written", wanted.Name), again: failedPause}
	rule, want := ruleOf(is), wanted.Rules[0]
	if rule == nil || !management.SameIDs(rule.Sources, want.Sources) || !management.SameIDs(rule.Destinations, want.Destinations) {
		t.Groups.Forget()
		differs = waiting(v1.ReasonGroupNotFound, "a group of policy %s was deleted at the server meanwhile", wanted.Name)
		differs.again = time.Second
	}
	if made {
		if err := t.Policies.Remove(ctx, is.ID); err != nil {
			return err
		}
	}
	return differs
}

// renew re-creates a policy with rules that another client has added: the server keeps rules
// that an update does not contain.
func (p *policies) renew(ctx context.Context, t *task[*v1.OZPolicy], s side, have management.Policy, wanted management.PolicyRequest) error {
	if err := t.Policies.Remove(ctx, have.ID); err != nil {
		return err
	}
	p.wrote(t, "delete")
	wanted.SourcePostureChecks = have.SourcePostureChecks
	made, err := t.Policies.Create(ctx, wanted)
	if err != nil {
		return err
	}
	*s.id(&t.next.Status) = made.ID
	p.wrote(t, "create")
	return p.whole(ctx, t, made, wanted, true)
}

// gone retries soon after an item vanished between two requests.
func gone(err error, forget func()) error {
	if !management.Is(err, management.NotFound) {
		return err
	}
	forget()
	return &problem{reason: v1.ReasonAPIError, message: fmt.Sprintf("something was deleted at the server meanwhile, and is looked for again (%s)", err), again: time.Second}
}

func (p *policies) wrote(t *task[*v1.OZPolicy], operation string) {
	t.made(operation)
	t.next.Status.LastUpdatedAt = &metav1.Time{Time: p.now().Truncate(time.Second)}
}

// drop deletes the policy of one side if it was created for the object, and releases it if the
// object has adopted it.
func (p *policies) drop(ctx context.Context, t *task[*v1.OZPolicy], s side) error {
	have, found, ours := policyOf(t, s)
	if found && ours {
		if err := t.Policies.Remove(ctx, have.ID); err != nil {
			return err
		}
		p.wrote(t, "delete")
	} else if found && have.ID == *s.id(&t.next.Status) {
		if err := p.release(ctx, t, have); err != nil {
			return err
		}
	}
	if err := p.dropOthers(ctx, t, s, have.ID); err != nil {
		return err
	}
	*s.id(&t.next.Status) = ""
	return nil
}

func (p *policies) remove(ctx context.Context, t *task[*v1.OZPolicy]) error {
	if err := t.Policies.Load(ctx); err != nil {
		return err
	}
	if err := confirmPolicies(ctx, t); err != nil {
		return err
	}
	for _, s := range allSides {
		if _, found, _ := policyOf(t, s); !found {
			record, name := recordOf("OZPolicy", t.object), t.object.Spec.Name+s.suffix
			absent, err := t.Policies.AbsentIfUnsure(ctx, string(t.object.UID)+s.suffix, func(p management.Policy) bool { return p.Name == name && recordIn(p) == record })
			if err != nil {
				return err
			}
			if _, found, _ := policyOf(t, s); !found && !absent {
				return inFlight(kindPolicy)
			}
		}
		if err := p.drop(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// confirmPolicies reads the policies of the status that the list lacks.
func confirmPolicies(ctx context.Context, t *task[*v1.OZPolicy]) error {
	for _, s := range allSides {
		if _, _, err := t.Policies.Confirm(ctx, *s.id(&t.next.Status)); err != nil {
			return err
		}
	}
	return nil
}
