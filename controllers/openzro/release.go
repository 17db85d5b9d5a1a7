package openzro

import (
	"context"
	"reflect"
	"slices"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// The outcomes of a release, for Events.
const (
	outcomeRestored = "it is as it was before the adoption"
	outcomeUnknown  = "it is disabled, because its state before the adoption is not known"
	outcomeGroups   = "it is disabled, because groups that it named before the adoption are gone"
	outcomeRefused  = "it is disabled, because the server refuses its state before the adoption"
)

func foreignPolicy(p management.Policy) remoteItem { return remoteItem{kindPolicy, p.ID, p.Name} }

func foreignResource(r management.Resource) remoteItem {
	return remoteItem{kindResource, r.ID, r.Name}
}

// adopt stores a policy that an object is about to change. A policy with several rules is not
// adopted: an OZPolicy has one, and the server keeps rules that a write does not name.
func (p *policies) adopt(ctx context.Context, t *task[*v1.OZPolicy], have management.Policy, id *string) error {
	if !slices.Contains(remoteIDs(t.object), have.ID) && len(have.Rules) != 1 {
		return stalled(v1.ReasonDuplicateName, "the %s cannot be adopted: it has %d rules, and an OZPolicy has one; choose another name, or change the policy at the server", foreignPolicy(have), len(have.Rules))
	}
	return adopt(ctx, t, foreignPolicy(have), id, policyRequestOf(have))
}

// release restores a policy that an object has adopted, or disables it where the former
// state cannot be restored: the rule of the object does not outlive the object.
func (p *policies) release(ctx context.Context, t *task[*v1.OZPolicy], have management.Policy) error {
	former, known := formerOf[management.PolicyRequest](t.next, have.ID)
	outcome := outcomeUnknown
	if known {
		if err := t.Groups.Load(ctx); err != nil {
			return err
		}
		has, err := hasGroups(ctx, t.Tenant, groupIDsOf(former))
		if err != nil {
			return err
		}
		if outcome = outcomeRestored; !has {
			known, outcome = false, outcomeGroups
		}
	}
	if known {
		restored, err := p.restore(ctx, t, have, former)
		if err != nil {
			return err
		}
		if !restored {
			known, outcome = false, outcomeRefused
		}
	}
	if !known {
		disabled := policyRequestOf(have)
		disabled.Enabled = false
		if _, err := p.restore(ctx, t, have, disabled); err != nil {
			return err
		}
	}
	released(t, foreignPolicy(have), outcome)
	return nil
}

// restore writes a policy, unless it is so already. ok is false if the server refuses it or
// keeps another one.
func (p *policies) restore(ctx context.Context, t *task[*v1.OZPolicy], have management.Policy, former management.PolicyRequest) (ok bool, err error) {
	if reflect.DeepEqual(policyRequestOf(have), former) {
		return true, nil
	}
	written, err := t.Policies.Update(ctx, have.ID, former)
	switch {
	case management.Is(err, management.NotFound):
		return true, nil // it was deleted at the server meanwhile
	case management.Is(err, management.Invalid):
		return false, nil
	case err != nil:
		return false, err
	}
	p.wrote(t, "update")
	return reflect.DeepEqual(policyRequestOf(written), former), nil
}

// hasGroups reports whether the server has all groups that a former state names. It would
// drop the others, and report nothing. Groups that the list lacks are read by their IDs.
func hasGroups(ctx context.Context, t *management.Tenant, ids []string) (bool, error) {
	for _, id := range ids {
		if _, found, err := t.Groups.Confirm(ctx, id); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

// groupIDsOf are the IDs of the groups that a policy names.
func groupIDsOf(policy management.PolicyRequest) (ids []string) {
	for _, rule := range policy.Rules {
		ids = slices.Concat(ids, rule.Sources, rule.Destinations)
	}
	return ids
}

// policyRequestOf is the request that writes a policy as it is, with sorted lists.
func policyRequestOf(p management.Policy) management.PolicyRequest {
	request := management.PolicyRequest{
		Name: p.Name, Description: p.Description, Enabled: p.Enabled, SourcePostureChecks: sortedOrNil(p.SourcePostureChecks),
	}
	for _, r := range p.Rules {
		request.Rules = append(request.Rules, management.PolicyRuleRequest{
			ID: r.ID, Name: r.Name, Description: r.Description, Enabled: r.Enabled, Action: r.Action,
			Bidirectional: r.Bidirectional, Protocol: r.Protocol, Ports: sortedOrNil(r.Ports),
			Sources: sortedOrNil(management.IDs(r.Sources)), Destinations: sortedOrNil(management.IDs(r.Destinations)),
			PortRanges: append([]management.PortRange(nil), r.PortRanges...), SourceResource: r.SourceResource, DestinationResource: r.DestinationResource,
		})
	}
	return request
}

func sortedOrNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}

// releaseResource restores a resource that an object has adopted, or disables it.
func releaseResource[T v1.Object](ctx context.Context, t *task[T], all *management.Collection[management.Resource], have management.Resource) error {
	former, known := formerOf[management.ResourceRequest](t.next, have.ID)
	outcome := outcomeRestored
	if !known {
		outcome = outcomeUnknown
	} else if err := t.Groups.Load(ctx); err != nil {
		return err
	} else if has, err := hasGroups(ctx, t.Tenant, former.Groups); err != nil {
		return err
	} else if !has {
		known, outcome = false, outcomeGroups
	}
	if !known {
		former = resourceRequestOf(have)
		former.Enabled = false
	}
	if !sameResource(have, former) {
		_, err := all.Update(ctx, have.ID, former)
		if management.IsNameTaken(err) {
			return nameTaken(err)
		}
		if err != nil && !management.Is(err, management.NotFound) {
			return err
		}
		t.made("update")
	}
	released(t, foreignResource(have), outcome)
	return nil
}

func resourceRequestOf(r management.Resource) management.ResourceRequest {
	return management.ResourceRequest{
		Name: r.Name, Description: r.Description, Address: r.Address, Enabled: r.Enabled, Groups: nonNil(management.IDs(r.Groups)),
	}
}
