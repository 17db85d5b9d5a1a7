package engine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// compile compiles one file named policy.rego.
func compile(t *testing.T, rego string) *PolicySet {
	t.Helper()
	return compileSource(t, definition.Source{Name: "test", Files: map[string]string{"policy.rego": rego}})
}

func compileSource(t testing.TB, source definition.Source) *PolicySet {
	t.Helper()
	set, err := policyset.Compile(source)
	require.NoError(t, err)
	return set
}

// sourceOf returns the source of a set whose scope is the only one.
func sourceOf(set *PolicySet) *source { return newSource(set, hierarchy.Place{}) }

// policiesIn returns the policies of a set whose scope is the only one.
func policiesIn(set *PolicySet) []*policy { return policiesOf(set, sourceOf(set)) }

func readNamespace(t testing.TB, text string) Namespace {
	t.Helper()
	namespace, err := ReadNamespace([]byte(text))
	require.NoError(t, err)
	return namespace
}

func snapshotOf(sets ...*PolicySet) *Snapshot {
	return NewSnapshot(admission.BuiltinResources(), sets...)
}

// reviewOption changes the request of makeReview.
type reviewOption func(map[string]any)

func operation(op string) reviewOption {
	return func(r map[string]any) {
		r["operation"] = op
		if op == "DELETE" {
			r["oldObject"], r["object"] = r["object"], nil
		}
	}
}

func field(name string, value any) reviewOption {
	return func(r map[string]any) { r[name] = value }
}

// makeReview is a CREATE of an object written in JSON.
func makeReview(t testing.TB, object string, options ...reviewOption) *admission.Review {
	t.Helper()
	var parsed struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Name, Namespace string }
	}
	require.NoError(t, json.Unmarshal([]byte(object), &parsed))
	group := admission.GroupOf(parsed.APIVersion)
	resource, ok := admission.BuiltinResources().ByKind(group, parsed.Kind)
	require.True(t, ok, "%s is not in the table", parsed.Kind)
	request := map[string]any{
		"uid":       "0001",
		"kind":      map[string]any{"group": group, "version": resource.Version, "kind": parsed.Kind},
		"resource":  map[string]any{"group": group, "version": resource.Version, "resource": resource.Name},
		"name":      parsed.Metadata.Name,
		"namespace": parsed.Metadata.Namespace,
		"operation": "CREATE",
		"userInfo":  map[string]any{"username": "jane"},
		"object":    json.RawMessage(object),
	}
	for _, option := range options {
		option(request)
	}
	text, err := json.Marshal(request)
	require.NoError(t, err)
	review, err := admission.NewReview(text)
	require.NoError(t, err)
	return review
}

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`

func denials(decision *Decision) []string  { return textsOf(decision.Denials) }
func warnings(decision *Decision) []string { return textsOf(decision.Warnings) }

func textsOf(findings []Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, f.Text())
	}
	return out
}

// suffixOf is what Text appends for a rule of a set's only file.
func suffixOf(set *PolicySet, pkg, rule string, line int) string {
	return fmt.Sprintf(" [%s %s, policy.rego:%d, test@%s]", pkg, rule, line, definition.ShortRevision(set.Digest()))
}

type jsonRaw = json.RawMessage

// one is a source of one file.
func one(text string) map[string]string { return map[string]string{"policy.rego": text} }
