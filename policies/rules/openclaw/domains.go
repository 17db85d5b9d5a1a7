package openclaw

import (
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/scope"
)

// Domains are the areas in which OpenClaw's policies decide.
var Domains = []string{"models", "actions", "integrations", "agent-to-agent", "features", "data", "audit"}

// aliases are further packages of a domain that gateways ask.
var aliases = map[string][]string{"agent-to-agent": {"agent_exchange", "ocip"}}

// Domain is the domain of that name, with the packages in which gateways ask.
func Domain(name string) (domain scope.Domain, known bool) {
	domain = scope.Domain{Name: name, Packages: []string{packageOf(strings.ReplaceAll(name, "-", "_"))}}
	for _, alias := range aliases[name] {
		domain.Packages = append(domain.Packages, packageOf(alias))
	}
	return domain, slices.Contains(Domains, name)
}

func packageOf(name string) string { return "openclaw.enterprise." + name }
