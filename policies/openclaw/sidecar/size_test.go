package sidecar

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// TestSizeIsAnUpperBound: no policy adds more to a composition than its Size, for any decisions
// and in any combination.
func TestSizeIsAnUpperBound(t *testing.T) {
	texts := []string{"x := 1", "allow := true", "deny if input.x", `autonomy_level := "notify"`, `max_classification := "public"`, "require_mfa := true"}
	var many []string
	for i := range 60 {
		for _, decision := range []string{"allow_%d", "deny_%d", "max_%d", "max_classification_%d", "allowed_%d", "other_%d"} {
			many = append(many, fmt.Sprintf(decision+" := true", i))
		}
	}
	texts = append(texts, strings.Join(many, "\n"), "allow_"+strings.Repeat("x", 300)+" := true\ndeny_"+strings.Repeat("x", 300)+" := true")
	var chain []*Policy
	before := 0
	for _, domain := range []string{"models", "agent-to-agent"} {
		for i, text := range texts {
			p := mustParse(t, hierarchy.AllLevels[i%4], fmt.Sprintf("a-bundle-of-some-name/policy-%d", i), "package openclaw.enterprise.models\nimport rego.v1\n"+text)
			if domain != "models" {
				p = parseIn(t, domain, p)
			}
			if len(chain) == 0 {
				before = sizeOfAll(t, nil)
			}
			chain = append(chain, p)
			after := sizeOfAll(t, chain)
			require.LessOrEqual(t, after-before, p.Size(), "%s: %.60s", domain, text)
			before = after
		}
	}
}

// parseIn is a policy again, in another domain.
func parseIn(t *testing.T, domain string, p *Policy) *Policy {
	t.Helper()
	d := openclawDomain(domain)
	again, err := Parse(Source{p.Level, p.Name, d, strings.Replace(p.Content, "openclaw.enterprise.models", d.Packages[0], 1)})
	require.NoError(t, err)
	return again
}

func sizeOfAll(t *testing.T, policies []*Policy) int {
	t.Helper()
	files, err := Compose(policies)
	require.NoError(t, err)
	return SignedSize(files)
}
