package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/test/properties"
)

// TestExceptionsChangeTheirRuleAlone decides random objects by random policies with and without
// random exceptions. An exception that has not expired removes exactly the findings of its rule
// on the objects and containers that it selects. The expectation does not use the code under
// test.
func TestExceptionsChangeTheirRuleAlone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(properties.Seed(3), 4))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var exempted, kept int
	rounds := properties.Count(150, 3000)
	for range rounds {
		sets := []*PolicySet{
			scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, randomRules("p", pick)),
			scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), randomRules("q", pick)),
		}
		now := expiry.Add(time.Duration(random.IntN(3)-2) * time.Hour)
		object := map[string]any{
			"apiVersion": "v1", "kind": pick("Pod", "Pod", "ConfigMap"),
			"metadata": map[string]any{"name": pick("web", "debug-1", "debug"), "namespace": pick("shop", "other")},
			"spec":     map[string]any{"containers": []any{randomContainer(pick), randomContainer(pick)}},
		}
		text, err := json.Marshal(object)
		require.NoError(t, err)
		var exceptions []*exception.Exception
		for i := range 1 + random.IntN(2) {
			exceptions = append(exceptions, randomException(t, i, pick))
		}
		options := Options{Clock: func() time.Time { return now }}
		review := makeReview(t, string(text))
		without := snapshotOf(sets...).Evaluate(t.Context(), review, options)
		with := excepted(exceptions, sets...).Evaluate(t.Context(), review, options)
		context := fmt.Sprintf("%s\n%s\n%s\n%+v\nat %s", sets[0].Files()["policy.rego"], sets[1].Files()["policy.rego"], text, exceptions[0], now)

		covered := func(f Finding) bool {
			return slices.ContainsFunc(exceptions, func(e *exception.Exception) bool { return expectedToCover(e, f, object, now) })
		}
		require.Equal(t, textsWithout(without.Denials, covered), textsWithout(with.Denials, nil), context)
		require.Equal(t, textsWithout(without.Warnings, covered), textsWithout(with.Warnings, nil), context)
		require.Equal(t, len(without.Denials)+len(without.Warnings), len(with.Denials)+len(with.Warnings)+len(with.Exempted), context)
		require.Equal(t, without.Policies, with.Policies, context)
		exempted += len(with.Exempted)
		kept += len(with.Denials)
	}
	require.Greater(t, exempted, rounds/10, "some are exempt")
	require.Greater(t, kept, rounds/10, "and some are not")
}

func randomRules(name string, pick func(...string) string) string {
	text := "package " + name + "\nimport rego.v1\n"
	for i := range 3 {
		text += fmt.Sprintf("%s contains %s if {\n\tsome i, container in input.request.object.spec.containers\n\t%s\n}\n", pick("deny", "deny", "warn"),
			pick(fmt.Sprintf(`"text %d"`, i), fmt.Sprintf(`{"msg": sprintf("container %%d of %d", [i]), "field": sprintf("spec.containers[%%d].image", [i])}`, i),
				fmt.Sprintf(`{"msg": sprintf("pointer %%d of %d", [i]), "field": sprintf("/spec/containers/%%d", [i])}`, i),
				fmt.Sprintf(`{"msg": "name %d", "field": "metadata.name"}`, i)),
			pick("true", `container.name == "c"`, `startswith(container.image, "registry")`, `to_number(container.name) > 0`))
	}
	return text
}

func randomContainer(pick func(...string) string) map[string]any {
	return map[string]any{"name": pick("c", "debug", "d"), "image": pick("nginx", "registry.example.com/debug/shell:1")}
}

func randomException(t *testing.T, i int, pick func(...string) string) *exception.Exception {
	t.Helper()
	return excepting(t, func(e *exception.Exception) {
		e.Name = fmt.Sprintf("exception-%d", i)
		e.Source, e.Policy = "all", pick("p", "p", "q")
		if pick("", "team") == "team" {
			e.Source, e.Policy = "team", "q"
		}
		if pick("", "", "team") == "team" || e.Source == "team" && pick("", "", "wrong") == "" {
			e.Scope = hierarchy.Key{Level: hierarchy.Team, Name: "shop"}
		}
		e.Rule = pick("", "deny", "warn")
		e.Namespaces = []string{pick("shop", "s*", "*", "none")}
		if pick("", "names") == "names" {
			e.Names = []string{pick("web", "debug-*")}
		}
		if pick("", "", "kinds") == "kinds" {
			e.Kinds = []admission.GroupVersionKind{{Kind: "Pod"}}
		}
		switch pick("", "containers", "images") {
		case "containers":
			e.Containers = []string{pick("c", "d*")}
		case "images":
			e.Images = []string{"registry.example.com/*"}
		}
	})
}

// expectedToCover says which findings an exception should exempt, by the few values that the
// random cases have.
func expectedToCover(e *exception.Exception, f Finding, object map[string]any, now time.Time) bool {
	metadata := object["metadata"].(map[string]any)
	name, namespace := metadata["name"].(string), metadata["namespace"].(string)
	owners := map[string]hierarchy.Key{"all": {Level: hierarchy.Enterprise}, "team": {Level: hierarchy.Team, Name: "shop"}}
	switch {
	case f.Error, f.Source != e.Source, f.Policy != e.Policy, e.Scope != owners[e.Source],
		e.Rule != "" && e.Rule != f.Rule, !now.Before(expiry),
		!slices.Contains(map[string][]string{"shop": {"shop"}, "s*": {"shop"}, "*": {"shop", "other"}}[e.Namespaces[0]], namespace),
		len(e.Names) > 0 && !slices.Contains(map[string][]string{"web": {"web"}, "debug-*": {"debug-1"}}[e.Names[0]], name),
		len(e.Kinds) > 0 && object["kind"] != "Pod":
		return false
	case len(e.Containers)+len(e.Images) == 0:
		return true
	}
	index := map[string]int{"spec.containers[0].image": 0, "/spec/containers/0": 0, "spec.containers[1].image": 1, "/spec/containers/1": 1}
	at, inContainer := index[f.Field]
	if !inContainer {
		return false
	}
	container := object["spec"].(map[string]any)["containers"].([]any)[at].(map[string]any)
	if len(e.Images) > 0 {
		return container["image"] != "nginx"
	}
	return slices.Contains(map[string][]string{"c": {"c"}, "d*": {"d", "debug"}}[e.Containers[0]], container["name"].(string))
}

func textsWithout(findings []Finding, leaveOut func(Finding) bool) []string {
	texts := []string{}
	for _, f := range findings {
		if leaveOut == nil || !leaveOut(f) {
			texts = append(texts, f.Text()+f.Field)
		}
	}
	return texts
}
