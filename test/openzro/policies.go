package openzro

import (
	"slices"
	"strconv"
)

type storedPolicy struct {
	id, name, description string
	enabled               bool
	postureChecks         []string
	rules                 []*storedRule
}

func (p *storedPolicy) key() string { return p.id }

// storedRule is one of a policy, as it is answered but for its groups: those are IDs.
type storedRule struct {
	Rule
	Sources      *[]string `json:"sources"`
	Destinations *[]string `json:"destinations"`
}

func (r *storedRule) key() string { return r.ID }

func (r *storedRule) sources() []string      { return dereferenced(r.Sources) }
func (r *storedRule) destinations() []string { return dereferenced(r.Destinations) }

func dereferenced(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// names says whether a policy is about a group.
func (p *storedPolicy) names(group string) bool {
	return slices.ContainsFunc(p.rules, func(r *storedRule) bool {
		return slices.Contains(r.sources(), group) || slices.Contains(r.destinations(), group)
	})
}

var policyRoutes = map[string]handler{
	"GET /api/policies": func(r *request) (any, error) {
		return never(transform(r.account.policies, r.account.showPolicy)), nil
	},
	"POST /api/policies":        createPolicy,
	"GET /api/policies/{id}":    getting((*request).policyNamed, (*Account).showPolicy),
	"PUT /api/policies/{id}":    updatePolicy,
	"DELETE /api/policies/{id}": deleting((*request).policyNamed, func(a *Account, p *storedPolicy) { a.policies = without(a.policies, p.id) }),
}

func (a *Account) showPolicy(p *storedPolicy) Policy {
	shown := Policy{ID: p.id, Name: p.name, Description: p.description, Enabled: p.enabled, SourcePostureChecks: p.postureChecks}
	seen := map[string]GroupSize{}
	for _, r := range p.rules {
		shown.Rules = append(shown.Rules, a.showRule(r, seen))
	}
	return shown
}

// showRule shows a group as a source once in all a policy, and as a destination as it was
// shown first.
func (a *Account) showRule(r *storedRule, seen map[string]GroupSize) Rule {
	shown := r.Rule
	for _, id := range r.sources() {
		g, ok := find(a.groups, id)
		if _, before := seen[id]; before || !ok {
			continue
		}
		seen[id] = GroupSize{ID: g.id, Name: g.name, PeersCount: len(g.peers)}
		shown.Sources = append(shown.Sources, seen[id])
	}
	for _, id := range r.destinations() {
		g, ok := find(a.groups, id)
		if !ok {
			continue
		}
		if _, before := seen[id]; !before {
			seen[id] = g.size()
		}
		shown.Destinations = append(shown.Destinations, seen[id])
	}
	return shown
}

// policyNamed is the one that the path names.
func (r *request) policyNamed() (*storedPolicy, error) {
	return named(r, r.account.policies, "policy", "id")
}

func createPolicy(r *request) (any, error) {
	asked, err := r.policyBody(newID())
	if err != nil {
		return nil, err
	}
	stored := *asked
	stored.rules = nil
	for _, one := range asked.rules {
		if _, taken := find(stored.rules, one.ID); !taken {
			stored.rules = append(stored.rules, one)
		}
	}
	r.account.policies = append(r.account.policies, &stored)
	return r.account.showPolicy(asked), nil
}

// updatePolicy replaces the rules whose IDs it names, and keeps the others.
func updatePolicy(r *request) (any, error) {
	found, err := r.policyNamed()
	if err != nil {
		return nil, err
	}
	asked, err := r.policyBody(found.id)
	if err != nil {
		return nil, err
	}
	stored := *asked
	stored.rules = found.rules
	for _, one := range asked.rules {
		if at := slices.IndexFunc(stored.rules, func(other *storedRule) bool { return other.ID == one.ID }); at >= 0 {
			stored.rules[at] = one
		} else {
			stored.rules = append(stored.rules, one)
		}
	}
	*found = stored
	return r.account.showPolicy(asked), nil
}

// policyBody is a policy as it is asked for. A rule without an ID has that of the policy,
// so that there is one of those at most.
func (r *request) policyBody(id string) (*storedPolicy, error) {
	var body struct {
		Name                string        `json:"name"`
		Description         string        `json:"description"`
		Enabled             bool          `json:"enabled"`
		SourcePostureChecks []string      `json:"source_posture_checks"`
		Rules               []*storedRule `json:"rules"`
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	if body.Name == "" || len(body.Rules) == 0 {
		return nil, invalid("a policy needs a name and a rule")
	}
	for _, one := range body.Rules {
		if err := one.check(); err != nil {
			return nil, err
		}
		if one.ID == "" || r.PathValue("id") == "" {
			one.ID = id
		}
		r.account.dropUnknown(one.Sources)
		r.account.dropUnknown(one.Destinations)
	}
	asked := &storedPolicy{id: id, name: body.Name, description: body.Description, enabled: body.Enabled, rules: body.Rules}
	if body.SourcePostureChecks != nil {
		asked.postureChecks = []string{} // the double has none that could be known
	}
	return asked, nil
}

// dropUnknown forgets groups that the account does not have, and says nothing.
func (a *Account) dropUnknown(groups *[]string) {
	if groups == nil {
		return
	}
	*groups = slices.DeleteFunc(*groups, func(id string) bool {
		_, ok := find(a.groups, id)
		return !ok
	})
}

// check is what the server asks of a rule.
func (r *storedRule) check() error {
	switch {
	case (r.Sources != nil) == (r.SourceResource != nil):
		return invalid("a rule has sources or a source resource")
	case (r.Destinations != nil) == (r.DestinationResource != nil):
		return invalid("a rule has destinations or a destination resource")
	case r.Action != "accept" && r.Action != "drop":
		return invalid("there is no action %q", r.Action)
	case !slices.Contains([]string{"all", "tcp", "udp", "icmp"}, r.Protocol):
		return invalid("there is no protocol %q", r.Protocol)
	case len(r.Ports) > 0 && len(r.PortRanges) > 0:
		return invalid("a rule has ports or ranges of ports")
	}
	return r.checkPorts()
}

func (r *storedRule) checkPorts() error {
	for _, text := range r.Ports {
		if port, err := strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return invalid("%q is no port: they are 1 to 65535", text)
		}
	}
	for _, ports := range r.PortRanges {
		if ports.Start < 1 || ports.End > 65535 {
			return invalid("%d to %d are no ports: they are 1 to 65535", ports.Start, ports.End)
		}
	}
	if len(r.Ports)+len(r.PortRanges) > 0 && (r.Protocol == "all" || r.Protocol == "icmp") {
		return invalid("the protocol %s has no ports", r.Protocol)
	}
	return nil
}
