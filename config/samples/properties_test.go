package samples_test

import (
	"encoding/json"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/test/reviews"
)

// A host path is admitted exactly if it has no .. and is, once cleaned, an allowed
// one or below it.
func TestHostPathsAgreeWithCleanPaths(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	snapshot := snapshot(t)
	admitted := 0
	for range 1000 {
		steps := []string{"etc", "ssl", "certs", "ca.pem"}[:random.IntN(5)]
		for range random.IntN(3) {
			at := random.IntN(len(steps) + 1)
			steps = slices.Insert(slices.Clone(steps), at, []string{"", ".", "..", "etc", "certs", "certs-of-others"}[random.IntN(6)])
		}
		text := []string{"/", "/", "/", ""}[random.IntN(4)] + strings.Join(steps, "/")
		clean := path.Clean(text)
		want := path.IsAbs(text) && !slices.Contains(steps, "..") &&
			(clean == "/etc/ssl/certs" || strings.HasPrefix(clean, "/etc/ssl/certs/"))
		decision := evaluate(t, snapshot, nil, "Pod", "pods", map[string]any{
			"metadata": map[string]any{"name": "web", "labels": map[string]any{"team": "blue"}},
			"spec":     map[string]any{"volumes": []any{map[string]any{"name": "node", "hostPath": map[string]any{"path": text}}}},
		})
		require.Equal(t, want, decision.Allowed(), "%q: %v", text, decision.Denials)
		if want {
			admitted++
		}
	}
	assert.Greater(t, admitted, 100)
}

// Two Ingresses conflict exactly if there is a host that both would serve.
func TestIngressHostsConflictIfAHostHasBoth(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	snapshot := snapshot(t)
	labels := []string{"a", "b", "ab"}
	var hosts []string // with up to three labels
	for _, last := range labels {
		hosts = append(hosts, last)
		for _, middle := range labels {
			hosts = append(hosts, middle+"."+last)
			for _, first := range labels {
				hosts = append(hosts, first+"."+middle+"."+last)
			}
		}
	}
	rules := func() (written []string) {
		for range random.IntN(3) + 1 {
			host := hosts[random.IntN(len(hosts))]
			if _, parent, ok := strings.Cut(host, "."); ok && random.IntN(3) == 0 {
				host = "*." + parent
			}
			if random.IntN(60) == 0 {
				host = ""
			}
			written = append(written, host)
		}
		return written
	}
	conflicts := 0
	for range 1000 {
		own, others := rules(), rules()
		other, err := json.Marshal(ingress("other", others))
		require.NoError(t, err)
		cluster, err := clusterdata.New([]json.RawMessage{other})
		require.NoError(t, err)
		want := false
		for _, host := range hosts {
			want = want || serves(own, host) && serves(others, host)
		}
		decision := evaluate(t, snapshot, cluster, "Ingress", "ingresses", ingress("web", own))
		require.Equal(t, !want, decision.Allowed(), "%q and %q: %v", own, others, decision.Denials)
		if want {
			conflicts++
		}
	}
	assert.Greater(t, conflicts, 100)
	assert.Less(t, conflicts, 900)
}

// serves says whether one of the hosts of an Ingress stands for a host.
func serves(written []string, host string) bool {
	for _, one := range written {
		parent, wildcard := strings.CutPrefix(one, "*.")
		_, rest, _ := strings.Cut(host, ".")
		if one == "" || one == host || wildcard && rest == parent {
			return true
		}
	}
	return false
}

func ingress(name string, hosts []string) map[string]any {
	var rules []any
	for _, host := range hosts {
		rule := map[string]any{}
		if host != "" {
			rule["host"] = host
		}
		rules = append(rules, rule)
	}
	return map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec":     map[string]any{"rules": rules},
	}
}

// evaluate evaluates the creation of an object in the namespace shop.
func evaluate(t *testing.T, snapshot *engine.Snapshot, cluster *clusterdata.Objects, kind, resource string, object map[string]any) *engine.Decision {
	t.Helper()
	group := map[string]string{"Ingress": "networking.k8s.io"}[kind]
	review := reviews.MakeCreation(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, resource, object).Named("shop", "web").Obj(t)
	decision := snapshot.Validate(t.Context(), review, engine.Options{Cluster: cluster})
	for _, denial := range decision.Denials {
		require.False(t, denial.Error, denial.Words)
	}
	return decision
}
