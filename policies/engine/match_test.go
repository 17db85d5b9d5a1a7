package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func TestMatch(t *testing.T) {
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"app":"web"}}}`
	const namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a","labels":{"tier":"gold"}}}`
	gold := readNamespace(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"tier":"gold"}}}`)
	scale := []reviewOption{
		field("subResource", "scale"), operation("UPDATE"),
		field("kind", map[string]any{"group": "autoscaling", "version": "v1", "kind": "Scale"}),
	}
	cases := map[string]struct {
		match   string // YAML flow
		object  string
		change  []reviewOption
		options Options
		want    bool
	}{
		"no match: CREATE":                   {"", pod, nil, Options{}, true},
		"no match: UPDATE":                   {"", pod, []reviewOption{operation("UPDATE")}, Options{}, true},
		"no match: DELETE":                   {"", pod, []reviewOption{operation("DELETE")}, Options{}, false},
		"no match: subresource":              {"", pod, []reviewOption{field("subResource", "status")}, Options{}, false},
		"kind":                               {`{kinds: [{group: "", kind: Pod}]}`, pod, nil, Options{}, true},
		"another kind":                       {`{kinds: [{group: "", kind: Service}]}`, pod, nil, Options{}, false},
		"another group":                      {`{kinds: [{group: apps, kind: Pod}]}`, pod, nil, Options{}, false},
		"version":                            {`{kinds: [{group: "", version: v1, kind: Pod}]}`, pod, nil, Options{}, true},
		"another version is not passed over": {`{kinds: [{group: "", version: v2, kind: Pod}]}`, pod, nil, Options{}, true}, // fails closed
		"any kind of a group":                {`{kinds: [{group: apps, kind: "*"}]}`, deployment, nil, Options{}, true},
		"any group":                          {`{kinds: [{group: "*", kind: Pod}]}`, pod, nil, Options{}, true},
		"scale is its parent's":              {`{kinds: [{group: apps, kind: Deployment}], subresources: [scale], operations: [UPDATE]}`, deployment, scale, Options{}, true},
		"scale needs naming":                 {`{kinds: [{group: apps, kind: Deployment}], operations: [UPDATE]}`, deployment, scale, Options{}, false},
		"any subresource":                    {`{kinds: [{group: apps, kind: Deployment}], subresources: ["*"], operations: [UPDATE]}`, deployment, scale, Options{}, true},
		"scale is not a kind of its own":     {`{kinds: [{group: autoscaling, kind: Scale}], subresources: [scale], operations: [UPDATE]}`, deployment, scale, Options{}, false},
		"namespace":                          {`{namespaces: ["sh*"]}`, pod, nil, Options{}, true},
		"another namespace":                  {`{namespaces: [team]}`, pod, nil, Options{}, false},
		"excluded namespace":                 {`{excludedNamespaces: ["sh?p"]}`, pod, nil, Options{}, false},
		"a cluster-scoped object is in none": {`{namespaces: ["*"]}`, node, nil, Options{}, false},
		"a cluster-scoped object is excluded by none": {`{excludedNamespaces: ["*"]}`, node, nil, Options{}, true},
		"a Namespace is in itself":                    {`{namespaces: ["team-*"]}`, namespace, nil, Options{}, true},
		"a Namespace whose name was made":             {`{namespaces: ["team-*"]}`, strings.Replace(namespace, `"name":"team-a"`, `"generateName":"team-","name":"team-x7k"`, 1), []reviewOption{field("name", "")}, Options{}, true},
		"a Namespace whose name is not made":          {`{namespaces: ["team-*"]}`, strings.Replace(namespace, `"name":"team-a"`, `"generateName":"team-"`, 1), nil, Options{}, true},
		"objectSelector":                              {`{objectSelector: {matchLabels: {app: web}}}`, pod, nil, Options{}, true},
		"objectSelector, other":                       {`{objectSelector: {matchLabels: {app: db}}}`, pod, nil, Options{}, false},
		"objectSelector looks at the old object":      {`{objectSelector: {matchLabels: {app: web}}}`, strings.Replace(pod, `"app":"web"`, `"app":"db"`, 1), []reviewOption{operation("UPDATE"), field("oldObject", jsonRaw(pod))}, Options{}, true},
		"objectSelector on DELETE":                    {`{operations: [DELETE], objectSelector: {matchLabels: {app: web}}}`, pod, []reviewOption{operation("DELETE")}, Options{}, true},
		"namespaceSelector":                           {`{namespaceSelector: {matchLabels: {tier: gold}}}`, pod, nil, Options{Namespace: gold}, true},
		"namespaceSelector, other":                    {`{namespaceSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}`, pod, nil, Options{Namespace: gold}, false},
		"namespaceSelector, cluster-scoped":           {`{namespaceSelector: {matchLabels: {tier: gold}}}`, node, nil, Options{}, true},
		"namespaceSelector, the Namespace's own":      {`{namespaceSelector: {matchLabels: {tier: silver}}}`, namespace, nil, Options{}, false},
		"namespaceSelector, labels not at hand":       {`{namespaceSelector: {matchLabels: {tier: gold}}}`, pod, nil, Options{}, true}, // fails closed
		"expand takes the workload":                   {`{kinds: [{group: "", kind: Pod}], expand: deny}`, deployment, nil, Options{}, true},
		"expand by the template's labels":             {`{kinds: [{group: "", kind: Pod}], expand: deny, objectSelector: {matchLabels: {a: b}}}`, deployment, nil, Options{}, true},
		"no expansion":                                {`{kinds: [{group: "", kind: Pod}]}`, deployment, nil, Options{}, false},
		"no expansion of a subresource":               {`{kinds: [{group: "", kind: Pod}], expand: deny}`, deployment, scale, Options{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rego := "package p\ndeny contains \"matched\""
			if c.match != "" {
				rego = "# METADATA\n# custom:\n#   match: " + c.match + "\n" + rego
			}
			decision := snapshotOf(compile(t, rego)).Validate(t.Context(), makeReview(t, c.object, c.change...), c.options)
			require.Equal(t, c.want, !decision.Allowed(), "%v", denials(decision))
		})
	}
}

func TestExpandJudgesThePodOfEveryWorkloadKind(t *testing.T) {
	set := compile(t, `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}], expand: warn}
package p
deny contains msg if {
	input.request.kind.kind == "Pod"
	input.request.object.kind == "Pod"
	input.request.operation == "CREATE"
	input.request.oldObject == null
	[owner] := input.request.object.metadata.ownerReferences
	owner.name == "web"
	msg := sprintf("%s in %s is privileged", [input.name, input.request.namespace])
	input.request.object.spec.containers[_].securityContext.privileged
}`)
	template := `{"spec":{"containers":[{"name":"c","securityContext":{"privileged":true}}]}}`
	for _, kind := range admission.WorkloadKinds() {
		spec := `{"template":` + template + `}`
		if kind.Kind == "CronJob" {
			spec = `{"jobTemplate":{"spec":` + spec + `}}`
		}
		apiVersion := strings.TrimPrefix(kind.Group+"/v1", "/")
		object := `{"apiVersion":"` + apiVersion + `","kind":"` + kind.Kind + `","metadata":{"name":"web","namespace":"shop"},"spec":` + spec + `}`
		for _, op := range []string{"CREATE", "UPDATE"} {
			decision := snapshotOf(set).Validate(t.Context(), makeReview(t, object, operation(op)), Options{})
			require.Empty(t, decision.Denials)
			require.Equal(t, []string{"its Pods will be denied: web-pod in shop is privileged" + suffixOf(set, "p", "deny", 5)}, warnings(decision), kind.Kind)
		}
	}
}

func TestScopeNamespacesBoundAllPolicies(t *testing.T) {
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`
	for _, c := range []struct {
		namespaces []string
		object     string
		want       bool
	}{
		{nil, pod, true},
		{nil, node, true},
		{[]string{"*"}, node, true},
		{[]string{"sh*"}, pod, true},
		{[]string{"team-a"}, pod, false},
		{[]string{"sh*"}, node, false},
	} {
		set := compileSource(t, definition.Source{Name: "s", Scope: hierarchy.Scope{Namespaces: c.namespaces}, Files: one("package p\ndeny contains \"x\"")})
		decision := snapshotOf(set).Validate(t.Context(), makeReview(t, c.object), Options{})
		require.Equal(t, c.want, !decision.Allowed(), "%v", c)
	}
}

func TestAnotherVersionIsAnErrorAndNotAsked(t *testing.T) {
	set := compile(t, "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", version: v2, kind: Pod}]}\npackage p\ndeny contains \"asked\"")
	decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{})
	require.True(t, decision.Denials[0].Error)
	require.Contains(t, decision.Denials[0].Words, "it is written for another version of Pod than v1")
}

// TestPoliciesOfTheClusterAreLeftAlone: a policy that is about everything could else refuse
// its own repair.
func TestPoliciesOfTheClusterAreLeftAlone(t *testing.T) {
	resources := admission.BuiltinResourcesWith(admission.ServedResource{Group: definition.PolicyGroup, Version: "v1alpha1", Kind: "PolicySource", Name: "policysources"})
	for match, asked := range map[string]bool{
		``:                                   false,
		`{}`:                                 false,
		`{kinds: [{group: "*", kind: "*"}]}`: false,
		`{kinds: [{group: "*", kind: PolicySource}]}`:                               false,
		`{kinds: [{group: policy.lintel.dev, kind: PolicySource}]}`:                 true,
		`{kinds: [{group: policy.lintel.dev, kind: "*"}]}`:                          true,
		`{kinds: [{group: "*", kind: Pod}, {group: policy.lintel.dev, kind: "*"}]}`: true,
	} {
		header := ""
		if match != "" {
			header = "# METADATA\n# custom:\n#   match: " + match + "\n"
		}
		set := compile(t, header+"package p\nimport rego.v1\ndeny contains \"no\"\npatch contains {\"op\": \"add\", \"path\": \"/x\", \"value\": 1}")
		for _, table := range []*admission.Resources{resources, admission.BuiltinResources()} { // known or not
			snapshot := NewSnapshot(table, set)
			review := requestFor(t, definition.PolicyGroup, "v1alpha1", "PolicySource", "policysources")
			require.Equal(t, !asked, snapshot.Validate(t.Context(), review, Options{}).Allowed(), match)
			require.Equal(t, asked, len(snapshot.Mutate(t.Context(), review, Options{}).Patch) > 0, match)
			found := snapshot.Explain(t.Context(), review, Options{})
			require.Equal(t, asked, found[0].Answer == AnswerAsked, match)
			if !asked {
				require.Contains(t, found[0].Reason, "it does not name the group policy.lintel.dev")
			}
		}
	}
}

func requestFor(t *testing.T, group, version, kind, resource string) *admission.Review {
	t.Helper()
	review, err := admission.NewReview([]byte(fmt.Sprintf(`{"uid":"1","operation":"CREATE","kind":{"group":%[1]q,"version":%[2]q,"kind":%[3]q},"resource":{"group":%[1]q,"version":%[2]q,"resource":%[4]q},"name":"x",
		"object":{"apiVersion":"%[1]s/%[2]s","kind":%[3]q,"metadata":{"name":"x"}}}`, group, version, kind, resource)))
	require.NoError(t, err)
	return review
}
