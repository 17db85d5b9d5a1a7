package inert_test

import (
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/inert"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// compiled is a policy with a match in YAML: none where that is empty.
func compiled(t *testing.T, match, rego string, files map[string]string) *engine.PolicySet {
	t.Helper()
	text := "package p\nimport rego.v1\n" + rego
	if match != "" {
		text = "# METADATA\n# custom:\n#   match: {" + match + "}\n" + text
	}
	all := map[string]string{"p.rego": text}
	for name, file := range files {
		all[name] = file
	}
	set, err := policyset.Compile(definition.Source{Name: "s", Files: all})
	require.NoError(t, err)
	return set
}

const (
	pods       = `kinds: [{group: "", kind: Pod}]`
	deployment = `kinds: [{group: apps, kind: Deployment}]`
	cluster    = `kinds: [{group: "", kind: Namespace}, {group: rbac.authorization.k8s.io, kind: ClusterRole}]`
)

func TestRulesThatNeverFire(t *testing.T) {
	lib := map[string]string{"lib.rego": "package lib\ndeleted if input.request.operation == \"DELETE\"\nis_deleted(r) if r.operation == \"DELETE\"\nobject := input.request.oldObject if deleted\nobject := input.request.object if not deleted\nnames := {\"DELETE\", \"CONNECT\"}"}
	never := `input.request.operation is never "DELETE" here: the rule is evaluated for CREATE and UPDATE only; list the operation in custom.match.operations`
	for name, c := range map[string]struct {
		match, rego string
		want        string // empty: nothing is wrong
	}{
		"not a call's element":  {pods, `deny contains "x" if not split(input.name, "-")[0]`, ""},
		"not an element":        {pods, `deny contains "x" if { parts := split(input.name, "-"); not parts[0] }`, ""},
		"not a bound element":   {pods, `deny contains "x" if { part := split(input.name, "-")[0]; not part }`, ""},
		"not a rule's element":  {pods, "parts := split(input.name, \"-\")\ndeny contains \"x\" if { p := parts; not p[0] }", ""},
		"direct":                {pods, `deny contains "x" if input.request.operation == "DELETE"`, "p.rego:6:22: " + never},
		"without a match":       {"", `deny contains "x" if input.request.operation == "DELETE"`, never},
		"reversed":              {pods, `deny contains "x" if "DELETE" == input.request.operation`, never},
		"unified":               {pods, `deny contains "x" if input.request.operation = "DELETE"`, never},
		"a variable":            {pods, `deny contains "x" if { op := input.request.operation; op == "DELETE" }`, "p.rego:6:55: " + never},
		"a part of a variable":  {pods, `deny contains "x" if { r := input.request; r.operation == "DELETE" }`, never},
		"a member":              {pods, `deny contains "x" if input.request.operation in {"DELETE"}`, never},
		"one of some":           {pods, `deny contains "x" if { some op in ["DELETE", "CONNECT"]; input.request.operation == op }`, `is never "DELETE" or "CONNECT" here`},
		"any element":           {pods, `deny contains "x" if ["DELETE"][_] == input.request.operation`, never},
		"a constant rule":       {pods, "ops := {\"DELETE\"}\ndeny contains \"x\" if ops[input.request.operation]", never},
		"a member of one":       {pods, `deny contains "x" if input.request.operation in data.lib.names`, `is never "CONNECT" or "DELETE" here`},
		"a helper":              {pods, "deleted if input.request.operation == \"DELETE\"\ndeny contains \"x\" if deleted", "p.rego:6:12: " + never},
		"a function":            {pods, "deleted(r) if r.operation == \"DELETE\"\ndeny contains \"x\" if deleted(input.request)", never},
		"a library":             {pods, `deny contains "x" if data.lib.deleted`, "p.rego:6:1: deny never fires: " + never + " (lib.rego:2)"},
		"a library's function":  {pods, `deny contains "x" if data.lib.is_deleted(input.request)`, "(lib.rego:3)"},
		"an element of a set":   {pods, "bad contains x if { input.request.operation == \"DELETE\"; x := input.name }\ndeny contains x if some x in bad", never},
		"else":                  {pods, "bad if { input.request.operation == \"DELETE\" } else if { input.request.operation == \"CONNECT\" }\ndeny contains \"x\" if bad", never},
		"not equal":             {pods + ", operations: [CREATE]", `deny contains "x" if input.request.operation != "CREATE"`, `is always "CREATE" here`},
		"patch on UPDATE":       {pods, `patch contains {"op": "remove", "path": "/a"} if input.request.operation == "UPDATE"`, "evaluated for CREATE only"},
		"patch on DELETE":       {pods + ", operations: [DELETE]", `patch contains {"op": "remove", "path": "/a"}`, "patch is never evaluated: objects are changed on CREATE and UPDATE only"},
		"old on CREATE":         {pods + ", operations: [CREATE]", `deny contains "x" if input.request.oldObject.spec.a != input.request.object.spec.a`, "input.request.oldObject.spec.a is undefined: the rule is evaluated for CREATE only"},
		"no old on CREATE":      {pods + ", operations: [CREATE]", `deny contains "x" if not input.request.oldObject.spec.a`, "input.request.oldObject.spec.a is undefined"},
		"old in patch":          {pods, `patch contains {"op": "remove", "path": "/a"} if input.request.oldObject.spec.a`, "evaluated for CREATE only"},
		"object on DELETE":      {pods + ", operations: [DELETE]", `deny contains "x" if startswith(input.request.object.spec.nodeName, "a")`, "read input.request.oldObject"},
		"no object on DELETE":   {pods + ", operations: [DELETE]", `deny contains "x" if not input.request.object.spec.nodeName`, "read input.request.oldObject"},
		"namespace":             {cluster, `deny contains "x" if input.namespace.metadata.labels.tier == "gold"`, "Namespace, ClusterRole.rbac.authorization.k8s.io are cluster-scoped"},
		"request.namespace":     {`kinds: [{group: "", kind: Node}]`, `deny contains "x" if input.request.namespace == "a"`, "input.request.namespace is undefined: Node are cluster-scoped"},
		"kind":                  {deployment, `deny contains "x" if input.request.kind.kind == "deployment"`, `input.request.kind.kind is never "deployment" here: the policy matches Deployment.apps only`},
		"kind of the object":    {deployment, `deny contains "x" if input.request.object.kind == "Pod"`, `input.request.object.kind is never "Pod"`},
		"group":                 {deployment, `deny contains "x" if input.request.kind.group == "extensions"`, `input.request.kind.group is never "extensions"`},
		"subresource":           {pods, `deny contains "x" if input.request.subResource == "ephemeralcontainers"`, "list it in custom.match.subresources"},
		"outside of namespaces": {pods + `, namespaces: ["team-*"]`, `deny contains "x" if input.request.namespace == "shop"`, "custom.match leaves the namespace out"},
		"excluded namespace":    {pods + `, excludedNamespaces: ["team-*"]`, `deny contains "x" if input.request.namespace == "team-a"`, "custom.match leaves the namespace out"},
		"ephemeral containers":  {pods, `deny contains "x" if input.request.object.spec.ephemeralContainers[_].image`, "list it in custom.match.subresources"},
		"by a list of fields":   {pods, `deny contains "x" if { some f in ["containers", "ephemeralContainers"]; input.request.object.spec[f][_].image }`, "p.rego:6:49: ephemeral containers are added"},

		"listed":                     {pods + ", operations: [CREATE, DELETE]", `deny contains "x" if input.request.operation == "DELETE"`, ""},
		"one of two":                 {pods, `deny contains "x" if input.request.operation in ["CREATE", "DELETE"]`, ""},
		"not equal to another":       {pods, `deny contains "x" if input.request.operation != "DELETE"`, ""},
		"negated":                    {pods, `deny contains "x" if not data.lib.deleted`, ""},
		"one of two helpers":         {pods, `deny contains "x" if data.lib.object.spec.hostPID`, ""},
		"one of two branches":        {pods, "object := input.request.oldObject if { input.request.operation == \"DELETE\" } else := input.request.object\ndeny contains \"x\" if object.spec.hostPID", ""},
		"a default":                  {pods, "default deleted := false\ndeleted if input.request.operation == \"DELETE\"\ndeny contains \"x\" if deleted == false", ""},
		"an empty set":               {pods, "bad contains 1 if input.request.operation == \"DELETE\"\ndeny contains \"x\" if count(bad) == 0", ""},
		"in a comprehension":         {pods, `deny contains "x" if count([1 | input.request.operation == "DELETE"]) == 0`, ""},
		"with another input":         {pods, "deleted if input.request.operation == \"DELETE\"\ndeny contains \"x\" if deleted with input.request.operation as \"DELETE\"", ""},
		"a function of anything":     {pods, `deny contains "x" if lower(input.request.operation) == "delete"`, ""},
		"a variable of two":          {pods, `deny contains "x" if { some x; x = input.request.operation; x = input.name }`, ""},
		"old on UPDATE":              {pods, `deny contains "x" if input.request.oldObject.spec.a`, ""},
		"old is null":                {pods + ", operations: [CREATE]", `deny contains "x" if input.request.oldObject == null`, ""},
		"namespaced too":             {`kinds: [{group: "", kind: Namespace}, {group: "", kind: Pod}]`, `deny contains "x" if input.namespace.metadata.labels.a`, ""},
		"unknown scope":              {`kinds: [{group: example.com, kind: Widget}]`, `deny contains "x" if input.namespace.metadata.labels.a`, ""},
		"a Namespace's request":      {`kinds: [{group: "", kind: Namespace}]`, `deny contains "x" if input.request.namespace == "a"`, ""},
		"cluster-scoped by absence":  {`kinds: [{group: "", kind: Node}]`, `deny contains "x" if { not input.request.namespace; not input.namespace }`, ""},
		"kinds with subresources":    {deployment + ", subresources: [scale]", `deny contains "x" if input.request.kind.kind == "Scale"`, ""},
		"any kind":                   {`kinds: [{group: apps, kind: "*"}]`, `deny contains "x" if input.request.kind.kind == "DaemonSet"`, ""},
		"no kinds":                   {"", `deny contains "x" if input.request.kind.kind == "Anything"`, ""},
		"one of the kinds":           {cluster, `deny contains "x" if input.request.kind.kind == "ClusterRole"`, ""},
		"subresource, listed":        {pods + ", subresources: [ephemeralcontainers]", `deny contains "x" if input.request.subResource == "ephemeralcontainers"`, ""},
		"within namespaces":          {pods + `, namespaces: ["team-*"]`, `deny contains "x" if input.request.namespace in ["team-a", "shop"]`, ""},
		"ephemeral, listed":          {pods + ", subresources: [ephemeralcontainers]", `deny contains "x" if input.request.object.spec.ephemeralContainers`, ""},
		"ephemeral, of others":       {deployment, `deny contains "x" if input.request.object.spec.template.spec.ephemeralContainers`, ""},
		"ephemeral, on DELETE":       {pods + ", operations: [DELETE]", `deny contains "x" if input.request.oldObject.spec.ephemeralContainers`, ""},
		"ephemeral, without a match": {"", `deny contains "x" if input.request.object.spec.ephemeralContainers`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := compiled(t, c.match, c.rego, lib)
			require.Empty(t, set.WrongConstants())
			found := set.Inert(admission.BuiltinResources())
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Contains(t, found.Error(), c.want)
		})
	}
}

func TestConstantsThatNoRequestHas(t *testing.T) {
	for name, c := range map[string]struct {
		rego string
		want string // empty: nothing is wrong
	}{
		"operation":            {`deny contains "x" if input.request.operation == "create"`, `p.rego:3:22: input.request.operation is never "create"; did you mean CREATE?`},
		"negated":              {`deny contains "x" if not input.request.operation == "Delete"`, "did you mean DELETE?"},
		"not equal":            {`deny contains "x" if input.request.operation != "delete"`, "did you mean DELETE?"},
		"a helper":             {"changed if input.request.operation == \"PATCH\"\ndeny contains \"x\" if not changed", "it is one of CREATE, UPDATE, DELETE, CONNECT"},
		"a comprehension":      {`deny contains "x" if count([1 | input.request.operation == "create"]) > 0`, "did you mean CREATE?"},
		"members":              {`deny contains "x" if input.request.operation in ["create", "update"]`, `is never "create" or "update"`},
		"conftest's kind":      {`deny contains "x" if input.kind == "Deployment"`, `input.kind is never "Deployment"; input is the AdmissionReview, and the object itself in conftest only: write input.request.kind.kind`},
		"one of some":          {"kinds := {\"Pod\", \"Deployment\"}\ndeny contains \"x\" if kinds[input.kind]", "write input.request.kind.kind"},
		"conftest's version":   {`deny contains "x" if input.apiVersion == "apps/v1"`, "write input.request.object.apiVersion"},
		"a pattern":            {`deny contains "x" if input.request.namespace == "team-*"`, "call glob.match or startswith"},
		"a group with version": {`deny contains "x" if input.request.kind.group == "apps/v1"`, "no API group has that name"},
		"a kind as a resource": {`deny contains "x" if input.request.resource.resource == "Pod"`, "write its plural in lower case"},
		"a level":              {`deny contains "x" if input.scope.level == "orgs"`, "did you mean org?"},

		"right":               {`deny contains "x" if { input.request.operation == "CONNECT"; input.kind == "AdmissionReview"; input.apiVersion == "admission.k8s.io/v1"; input.scope.level == "team" }`, ""},
		"no namespace":        {`deny contains "x" if input.request.namespace == ""`, ""},
		"the core group":      {`deny contains "x" if input.request.kind.group == ""`, ""},
		"one is right":        {`deny contains "x" if input.request.operation in ["CREATE", "create"]`, ""},
		"a kind of anybody's": {`deny contains "x" if input.request.kind.kind == "widget"`, ""},
		"with another input":  {"bad if input.kind == \"Pod\"\ndeny contains \"x\" if bad with input as input.request.object", ""},
		"another object":      {"is_pod(x) if x.kind == \"Pod\"\ndeny contains \"x\" if is_pod(input.request.object)", ""},
		"used by nobody":      {"bad if input.kind == \"Pod\"\ndeny contains \"x\" if input.name", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := compiled(t, "", c.rego, nil).WrongConstants()
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Error(), c.want)
		})
	}
}

func TestGlobsOfAPolicy(t *testing.T) {
	found := compiled(t, pods+`, namespaces: ["team-[ab]", "x?", "a*b*c", "!neg", "{p,q}"], excludedNamespaces: ["TEAM-*", "kube-*"]`, `deny contains "x"`, nil).Inert(admission.BuiltinResources())
	require.Len(t, found, 3)
	for i, glob := range []string{"!neg", "{p,q}", "TEAM-*"} {
		require.Contains(t, found[i].Error(), `p.rego:3: "`+glob+`" matches no namespace`)
	}
}

// TestGlobsThatMatchNoName compares with all short names, as the API server and path.Match
// read them.
func TestGlobsThatMatchNoName(t *testing.T) {
	const alphabet = "abz09-"
	names := []string{""}
	for range 4 {
		for _, name := range slices.Clone(names) {
			for _, letter := range alphabet {
				names = append(names, name+string(letter))
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 })
	for _, glob := range []string{
		"*", "?", "**", "a", "a*", "*-a", "-*", "*-", "a-b", "-", "--", "*-*", "A", "TEAM-*", "!a", "{a,b}", "a.b", "a b", "[ab]", "[A-Z]", "[^a-z0-9]",
		"[^a]*", "[-]", "[-]*", "a[-]b", `\a`, `\-a`, `a\*`, `a[\-]b`, `[\]a]`, "x_*", "[]a]", "a?b*", "[!a]", "é", "?*-",
	} {
		matches := slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(glob, name); return err == nil && ok })
		require.Equal(t, matches, inert.MatchesSomeName(glob), glob)
	}
}
