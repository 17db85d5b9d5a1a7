package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// exception is a PolicyException in JSON.
func exception(name string, spec map[string]any, changes map[string]any) string {
	changed := maps.Clone(spec)
	for field, value := range changes {
		if value == nil {
			delete(changed, field)
		} else {
			changed[field] = value
		}
	}
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicyException",
		"metadata": map[string]any{"name": name}, "spec": changed,
	})
	return string(text)
}

func removeException(name string) {
	_, _ = cluster.Kubectl(context.Background(), "", "delete", "policyexception", name, "--ignore-not-found")
}

// TestPolicyExceptions: the owner of a policy exempts objects until a second, and tenants cannot.
func TestPolicyExceptions(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	other := namespace + "-other"
	makeNamespace(t, other)
	const match = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]%s}\n#   exceptions: {maxDuration: 2d}\n"
	applySource(t, "exceptions-all", fmt.Sprintf(match, ", namespaces: ["+namespace+"*]")+"package exceptions.base\nimport rego.v1\ndeny contains \"forbidden by all\" if input.name == \"forbidden\"", nil)
	applySource(t, "exceptions-team", fmt.Sprintf(match, "")+"package exceptions.team\nimport rego.v1\ndeny contains \"forbidden by the team\" if startswith(input.name, \"for\")", teamScope("exceptions", namespace))
	// Both may write PolicyExceptions, but the tenant only those of the team.
	for user, scopes := range map[string]string{"exceptions-owner": "enterprise", "exceptions-tenant": "team-exceptions"} {
		mustKubectl(t, "", "create", "clusterrole", user, "--verb=create,update,patch,get,delete", "--resource=policyexceptions.policy.lintel.dev")
		mustKubectl(t, fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"%s-scope"},"rules":[{"apiGroups":["policy.lintel.dev"],"resources":["policyscopes"],"resourceNames":[%q],"verbs":["except"]}]}`, user, scopes), "apply", "-f", "-")
		for _, role := range []string{user, user + "-scope"} {
			mustKubectl(t, "", "create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+user)
			t.Cleanup(func() {
				_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrole,clusterrolebinding", role, "--ignore-not-found")
			})
		}
	}
	base := map[string]any{
		"source": "exceptions-all", "policy": "exceptions.base", "match": map[string]any{"namespaces": []string{namespace}},
		"reason": "the migration is not done yet", "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	}
	ofTeam := maps.Clone(base)
	maps.Copy(ofTeam, map[string]any{"source": "exceptions-team", "policy": "exceptions.team", "scope": map[string]any{"level": "team", "name": "exceptions"}})
	as := func(user, object string, more ...string) (string, bool) {
		t.Helper()
		return kubectl(t, object, append([]string{"apply", "-f", "-", "--as=" + user}, more...)...)
	}
	creates := func(namespace, name string) (string, bool) {
		t.Helper()
		return kubectl(t, configMap(namespace, name), "create", "--dry-run=server", "-f", "-")
	}
	output, ok := creates(namespace, "forbidden")
	require.False(t, ok)
	require.Contains(t, output, "forbidden by all")

	t.Run("refused", func(t *testing.T) {
		for name, test := range map[string]struct {
			user    string
			spec    map[string]any
			changes map[string]any
			want    string
		}{
			"by a tenant":              {"exceptions-tenant", base, nil, `user "exceptions-tenant" may not make exceptions from the rules of the enterprise`},
			"by a tenant that lies":    {"exceptions-tenant", base, map[string]any{"scope": ofTeam["scope"]}, "PolicySource exceptions-all belongs to the enterprise, not to team exceptions"},
			"without expiresAt":        {"exceptions-owner", base, map[string]any{"expiresAt": nil}, "expiresAt: Required value"},
			"without a reason":         {"exceptions-owner", base, map[string]any{"reason": nil}, "reason: Required value"},
			"a short reason":           {"exceptions-owner", base, map[string]any{"reason": "because"}, "reason"},
			"a missing policy":         {"exceptions-owner", base, map[string]any{"policy": "exceptions.bas"}, "did you mean exceptions.base?"},
			"a missing source":         {"exceptions-owner", base, map[string]any{"source": "exceptions-later"}, `no PolicySource "exceptions-later" has live policies`},
			"in the past":              {"exceptions-owner", base, map[string]any{"expiresAt": "2020-01-01T00:00:00Z"}, "must be in the future"},
			"too long":                 {"exceptions-owner", base, map[string]any{"expiresAt": time.Now().Add(72 * time.Hour).UTC().Format(time.RFC3339)}, "allows exceptions for 2d at most"},
			"by label":                 {"exceptions-owner", base, map[string]any{"match": map[string]any{"namespaces": []string{namespace}, "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}}, "does not allow exceptions by label"},
			"by nothing":               {"exceptions-owner", base, map[string]any{"match": map[string]any{}}, "at least one of namespaces, kinds and names must be set"},
			"outside the scope":        {"exceptions-tenant", ofTeam, map[string]any{"match": map[string]any{"namespaces": []string{namespace, other}}}, fmt.Sprintf("namespace %q is outside team exceptions", other)},
			"a glob outside the scope": {"exceptions-tenant", ofTeam, map[string]any{"match": map[string]any{"namespaces": []string{"*"}}}, "is outside team exceptions"},
			"a scope without a name":   {"exceptions-tenant", ofTeam, map[string]any{"scope": map[string]any{"level": "team"}}, "a scope below the enterprise needs a name"},
		} {
			t.Run(name, func(t *testing.T) {
				for _, more := range [][]string{nil, {"--dry-run=server"}, {"--server-side"}} {
					output, ok := as(test.user, exception("exceptions-refused", test.spec, test.changes), more...)
					require.False(t, ok, output)
					require.Contains(t, output, test.want)
				}
			})
		}
	})

	t.Run("of the team", func(t *testing.T) {
		output, ok := as("exceptions-tenant", exception("exceptions-team", ofTeam, nil))
		require.True(t, ok, output)
		t.Cleanup(func() { removeException("exceptions-team") })
		eventually(t, func() bool {
			output, _ := creates(namespace, "forbidden")
			return strings.Contains(output, "forbidden by all") && !strings.Contains(output, "forbidden by the team")
		}, "the exception of the team")
		output, ok = creates(namespace, "foreign")
		require.True(t, ok, output)
		require.Contains(t, output, "Warning: PolicyException exceptions-team exempts this object from exceptions.team deny until ")
		output, ok = as("exceptions-tenant", exception("exceptions-team", base, nil))
		require.False(t, ok)
		require.Contains(t, output, "may not make exceptions from the rules of the enterprise", "an update cannot widen it")
	})

	t.Run("until a second", func(t *testing.T) {
		// On a whole second, as expiresAt is.
		expires := time.Now().Add(30 * time.Second).Truncate(time.Second).UTC()
		output, ok := as("exceptions-owner", exception("exceptions-owner", base, map[string]any{"expiresAt": expires.Format(time.RFC3339), "match": map[string]any{"namespaces": []string{namespace + "*"}, "names": []string{"forb*"}}}))
		require.True(t, ok, output)
		t.Cleanup(func() { removeException("exceptions-owner") })
		waitFor(t, "", "policyexception/exceptions-owner", "the exception to be active", func(e *v1alpha1.PolicyException) bool {
			return meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady) && meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionExpiresSoon)
		})
		// The webhook's time is between that before and after the call.
		var exempt, denied int
		for deadline := time.Now().Add(patience); denied == 0 && time.Now().Before(deadline); {
			before := time.Now()
			output, ok := creates(other, "forbidden")
			after := time.Now()
			switch {
			case ok:
				require.Contains(t, output, "Warning: PolicyException exceptions-owner exempts this object from exceptions.base deny until "+expires.Format(time.RFC3339))
				require.True(t, before.Before(expires), "exempt at %s", before)
				exempt++
			case after.Before(expires): // not loaded yet
				require.Zero(t, exempt, "denied at %s, before %s: %s", after, expires, output)
			default:
				require.Contains(t, output, "forbidden by all")
				denied++
			}
		}
		require.Positive(t, exempt)
		require.Positive(t, denied)
		waitFor(t, "", "policyexception/exceptions-owner", "the exception to have expired", func(e *v1alpha1.PolicyException) bool {
			ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
			return ready != nil && ready.Reason == "Expired"
		})
		for _, reason := range []string{"Active", "ExpiresSoon", "Expired"} {
			eventually(t, func() bool {
				reasons, _ := kubectl(t, "", "get", "events", "-A", "--field-selector=involvedObject.kind=PolicyException,involvedObject.name=exceptions-owner,reason="+reason, "-o", "name")
				return strings.TrimSpace(reasons) != ""
			}, "the Event "+reason)
		}
		table := mustKubectl(t, "", "get", "pex", "exceptions-owner")
		assert.Contains(t, table, "EXPIRES")
		assert.Contains(t, table, expires.Format(time.RFC3339))
		mustKubectl(t, "", "label", "pex", "exceptions-owner", "a=b", "--as=exceptions-tenant")
	})
}
