package openzro

import (
	"slices"
	"strconv"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// reach is the access that a policy opens, with groups by name. resources are the OZResources
// that name it.
type reach struct {
	sources, destinations []string
	ports                 map[v1.Protocol][]string
	resources             []string
}

// reachOf unites what a policy says with what the resources say that name it.
func reachOf(p *v1.OZPolicy, resources []v1.OZResource) reach {
	r := reach{sources: p.Spec.SourceGroups, destinations: slices.Clone(p.Spec.DestinationGroups), ports: map[v1.Protocol][]string{}}
	ports := map[v1.Protocol][]int32{v1.ProtocolTCP: slices.Clone(p.Spec.Ports), v1.ProtocolUDP: slices.Clone(p.Spec.Ports)}
	for _, resource := range resources {
		r.resources = append(r.resources, resource.Namespace+"/"+resource.Name)
		r.destinations = append(r.destinations, resource.Spec.Groups...)
		ports[v1.ProtocolTCP] = append(ports[v1.ProtocolTCP], resource.Spec.TCPPorts...)
		ports[v1.ProtocolUDP] = append(ports[v1.ProtocolUDP], resource.Spec.UDPPorts...)
	}
	slices.Sort(r.resources)
	for protocol, all := range ports {
		if len(p.Spec.Protocols) == 0 || slices.Contains(p.Spec.Protocols, protocol) {
			r.ports[protocol] = texts(all)
		}
	}
	return r
}

// texts are ports as the server has them, each once.
func texts(ports []int32) (all []string) {
	slices.Sort(ports)
	for _, port := range slices.Compact(ports) {
		if port > 0 {
			all = append(all, strconv.Itoa(int(port)))
		}
	}
	return all
}

// missing returns what a policy lacks to open any access: "" for nothing.
func (r reach) missing() string {
	switch {
	case len(r.sources) == 0:
		return "spec.sourceGroups has no group"
	case len(r.destinations) == 0:
		return "spec.destinationGroups has no group, and no OZResource of this namespace names this policy"
	case len(r.ports[v1.ProtocolTCP])+len(r.ports[v1.ProtocolUDP]) == 0:
		return "spec.ports has no port, and no OZResource that names this policy has one for its protocols"
	}
	return ""
}

func wantedPolicy(of *v1.OZPolicy, s side, sources, destinations, ports []string) management.PolicyRequest {
	name := of.Spec.Name + s.suffix
	return management.PolicyRequest{
		Name: name, Description: of.Spec.Description, Enabled: true,
		Rules: []management.PolicyRuleRequest{{
			Name: name, Description: recordOf("OZPolicy", of), Enabled: true, Action: "accept",
			Bidirectional: of.Spec.Bidirectional == nil || *of.Spec.Bidirectional,
			Protocol:      string(s.protocol), Ports: ports, Sources: sources, Destinations: destinations,
		}},
	}
}

// policyOf is the policy of one side of an object, as the server has it.
func policyOf(t *task[*v1.OZPolicy], s side) (have management.Policy, found, ours bool) {
	return find(t.Policies, *s.id(&t.next.Status), t.object.Spec.Name+s.suffix, recordOf("OZPolicy", t.object), t.object.Status.Adopted, recordIn)
}

// recordIn returns the record of the owner in a policy's rule.
func recordIn(p management.Policy) string {
	if rule := ruleOf(p); rule != nil {
		return rule.Description
	}
	return ""
}

// ruleOf is the rule of a policy that is an object's: one that says so, else the first. nil
// for a policy without rules.
func ruleOf(p management.Policy) *management.PolicyRule {
	for i := range p.Rules {
		if isRecord(p.Rules[i].Description) {
			return &p.Rules[i]
		}
	}
	if len(p.Rules) == 0 {
		return nil
	}
	return &p.Rules[0]
}

// samePolicy compares the actual with the desired policy, in the server's own form.
func samePolicy(have management.Policy, wanted management.PolicyRequest) bool {
	if have.Name != wanted.Name || have.Description != wanted.Description || have.Enabled != wanted.Enabled || len(have.Rules) == 0 {
		return false
	}
	is, want := ruleOf(have), wanted.Rules[0]
	return is.Name == want.Name && is.Description == want.Description && is.Enabled == want.Enabled &&
		is.Action == want.Action && is.Bidirectional == want.Bidirectional && is.Protocol == want.Protocol &&
		is.SourceResource == nil && is.DestinationResource == nil && len(is.PortRanges) == 0 &&
		slices.Equal(slices.Sorted(slices.Values(is.Ports)), slices.Sorted(slices.Values(want.Ports))) &&
		management.SameIDs(is.Sources, want.Sources) && management.SameIDs(is.Destinations, want.Destinations)
}
