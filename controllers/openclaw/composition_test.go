package openclaw

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// padded is a policy of about so many bytes.
func padded(rule string, size int) string {
	return fmt.Sprintf("package openclaw.enterprise.models\nimport rego.v1\n%s\nx := %q\n", rule, strings.Repeat("x", size))
}

func namesLeft(c *composition) (names []string) {
	for _, l := range c.left {
		names = append(names, fmt.Sprintf("%s %s", l.level, l.bundle))
	}
	return names
}

// TestATighteningHasRoom: policies of narrower scopes never displace those of broader ones from
// the composition.
func TestATighteningHasRoom(t *testing.T) {
	l := newLibrary("")
	bind := func(bundle *v1.PolicyBundle) applied { return applied{content: l.read(bundle)} }
	bundles := []applied{
		bind(makeBundle("a", v1.ScopeTeam, padded("allow := true", 390<<10))),
		bind(makeBundle("b", v1.ScopeTeam, padded("allow := true", 391<<10))),
		bind(makeBundle("c", v1.ScopeTeam, padded("allow := true", 412<<10))),
		bind(makeBundle("d", v1.ScopeUser, padded("deny if input.d", 1<<10))),
		bind(makeBundle("enterprise", v1.ScopeEnterprise, padded("deny if input.tightened", 200<<10))),
	}
	c := l.compose(bundles)
	require.Nil(t, c.failure)
	require.LessOrEqual(t, sidecar.SignedSize(c.files), maxConfigMap)
	require.Contains(t, c.files["lintel/policies/models/enterprise/enterprise/routing.rego"], "input.tightened")
	require.Contains(t, c.files, "lintel/policies/models/team/a/routing.rego", "of one scope, the smaller ones have room first")
	require.Contains(t, c.files, "lintel/policies/models/user/d/routing.rego", "what still has room is in force")
	require.Equal(t, []string{"team c"}, namesLeft(c))
	require.Len(t, c.leftOf("c"), 1)
	require.Empty(t, c.leftOf("a"))
	problem := c.leftProblem()
	require.Equal(t, ReasonTooLarge, problem.reason)
	require.Contains(t, problem.message, "not in force here: team policies of PolicyBundle c (1); the policies that bind a gateway take ")
	require.Same(t, c, l.compose(bundles), "composed once")
	require.Nil(t, l.compose(bundles[:2]).leftProblem())

	// The broader, the sooner; the root's before any other.
	l = newLibrary("root")
	stale := makeBundle("stale", v1.ScopeEnterprise, padded("allow := true", 900<<10))
	root := makeBundle("rules", v1.ScopeEnterprise, padded("deny if input.tightened", 300<<10))
	root.Namespace = "root"
	c = l.compose([]applied{bind(stale), bind(makeBundle("org", v1.ScopeOrg, padded("deny if input.org", 300<<10))), {content: l.read(root), enterpriseOnly: true, root: true}})
	require.Nil(t, c.failure)
	require.Equal(t, []string{"enterprise stale"}, namesLeft(c))
	require.Contains(t, c.files, "lintel/policies/models/enterprise/root/rules/routing.rego")
}

// TestCompositionsAreBounded by their effort and by their size.
func TestCompositionsAreBounded(t *testing.T) {
	l := newLibrary("")
	of := func(name string, level v1.Scope, effort int) composedPart {
		p := partsOf([]applied{{content: l.read(makeBundle(name, level, padded("deny if input.a", 10)))}})[0]
		require.Positive(t, p.effort)
		p.effort = effort
		return p
	}
	parts := []composedPart{
		of("enterprise", v1.ScopeEnterprise, maxGatewayEffort/2), of("org", v1.ScopeOrg, maxGatewayEffort/2),
		of("team", v1.ScopeTeam, 1), of("user", v1.ScopeUser, 1),
	}
	require.Nil(t, composed(parts[:2], false).leftProblem())
	c := composed(parts, false)
	require.Equal(t, []string{"user user", "team team"}, namesLeft(c))
	require.Contains(t, c.leftProblem().message, "have 200002 words, names and operators together, and there is room for 200000")
	parts[0].effort = maxGatewayEffort + 1
	require.Equal(t, ReasonTooLarge, composed(parts[:1], false).failure.reason)
}

// TestEnterprisePoliciesAreNeverLeftOut: a gateway stays at its old policies instead of running
// without some of them.
func TestEnterprisePoliciesAreNeverLeftOut(t *testing.T) {
	l := newLibrary("")
	var all []applied
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, applied{content: l.read(makeBundle(name, v1.ScopeEnterprise, padded("allow := true", 390<<10)))})
	}
	c := l.compose(all)
	require.Equal(t, ReasonTooLarge, c.failure.reason)
	require.Nil(t, c.files, "nothing half-written")
	require.Nil(t, l.compose(all[:2]).failure)
}

// TestOneThatDoesNotComposeHoldsUpNobody: two policies of one name stand for all that
// may be wrong between policies that are each good alone.
func TestOneThatDoesNotComposeHoldsUpNobody(t *testing.T) {
	l := newLibrary("")
	of := func(name string, level v1.Scope, rule string) composedPart {
		return partsOf([]applied{{content: l.read(makeBundle(name, level, padded(rule, 10)))}})[0]
	}
	twice := of("same", v1.ScopeTeam, "deny if input.b")
	c := composed([]composedPart{
		of("enterprise", v1.ScopeEnterprise, "deny if input.tightened"),
		of("same", v1.ScopeTeam, "deny if input.a"), twice,
		of("user", v1.ScopeUser, "deny if input.user"),
	}, false)
	require.Nil(t, c.failure)
	require.Equal(t, []string{"team same"}, namesLeft(c))
	require.Equal(t, ReasonNotComposed, c.leftProblem().reason)
	require.Contains(t, c.files["lintel/policies/models/team/same/routing.rego"], "input.a")
	require.Contains(t, c.files, "lintel/policies/models/user/user/routing.rego")
	require.Contains(t, c.files["lintel/policies/models/enterprise/enterprise/routing.rego"], "input.tightened")
}

func TestPartsAreInTheOrderOfTheirRoom(t *testing.T) {
	l := newLibrary("")
	both := makeBundle("both", v1.ScopeUser, padded("deny if input.x", 10))
	both.Spec.Policies = append(both.Spec.Policies, v1.Policy{Scope: v1.ScopeOrg, Domain: "models", Name: "own", Content: padded("deny if input.y", 500)})
	parts := partsOf([]applied{{content: l.read(both)}, {content: l.read(makeBundle("small", v1.ScopeOrg, padded("deny if input.x", 10)))}})
	var order []string
	for _, p := range parts {
		order = append(order, fmt.Sprint(p.level, " ", p.content.name))
	}
	require.Equal(t, []string{"org small", "org both", "user both"}, order)
	require.Equal(t, sidecar.Level("org"), parts[0].level)
}

// TestOneThatTakesLongHoldsUpNobody: a tenant's text may take seconds to compile.
func TestOneThatTakesLongHoldsUpNobody(t *testing.T) {
	l := newLibrary("")
	begun, end := make(chan struct{}), make(chan struct{})
	slow := make(chan *content)
	go func() {
		slow <- l.contents.get("slow", 1, func() *content {
			close(begun)
			<-end
			return &content{name: "slow"}
		})
	}()
	<-begun
	never := func() *content { t.Error("it is known"); return nil }
	made := &content{name: "other"}
	require.Same(t, made, l.contents.get("other", 1, func() *content { return made }))
	require.Same(t, made, l.contents.get("other", 1, never))
	close(end)
	require.Same(t, <-slow, l.contents.get("slow", 1, never))
}
