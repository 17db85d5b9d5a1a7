// Package openclaw holds what OpenClaw's policies have in common. Its domains are the
// only place where their names and packages are written down.
package openclaw

import (
	"slices"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// AllDomains are the areas that a PolicyBundle decides about, and the packages in which
// its policies stand and gateways ask.
var AllDomains = []sidecar.Domain{
	{Name: "models", Packages: []string{"openclaw.enterprise.models"}},
	{Name: "actions", Packages: []string{"openclaw.enterprise.actions"}},
	{Name: "integrations", Packages: []string{"openclaw.enterprise.integrations"}},
	{Name: "agent-to-agent", Packages: []string{
		"openclaw.enterprise.agent_to_agent", "openclaw.enterprise.agent_exchange", "openclaw.enterprise.ocip",
	}},
	{Name: "features", Packages: []string{"openclaw.enterprise.features"}},
	{Name: "data", Packages: []string{"openclaw.enterprise.data"}},
	{Name: "audit", Packages: []string{"openclaw.enterprise.audit"}},
}

// Domain is the domain of a name.
func Domain(name string) (sidecar.Domain, bool) {
	i := slices.IndexFunc(AllDomains, func(d sidecar.Domain) bool { return d.Name == name })
	if i < 0 {
		return sidecar.Domain{}, false
	}
	return AllDomains[i], true
}
