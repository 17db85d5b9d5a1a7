package gatekeeper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// makeTemplate is a template whose Rego begins on line 13 of the file.
func makeTemplate(kind, rego string) string {
	return fmt.Sprintf(`apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: %s
spec:
  crd:
    spec:
      names:
        kind: %s
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        %s
`, strings.ToLower(kind), kind, strings.ReplaceAll(rego, "\n", "\n        "))
}

const denyAll = `package x

violation[{"msg": msg}] {
  msg := sprintf("no %v", [input.review.object.metadata.name])
}`

func makeConstraint(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: %s\nmetadata:\n  name: %s\nspec: %s\n", kind, name, spec)
}

func compile(t *testing.T, files map[string]string) (*engine.PolicySet, error) {
	t.Helper()
	return policyset.Compile(definition.Source{Name: "s", Revision: "r", Files: files}, Dialect)
}

func mustCompile(t *testing.T, files map[string]string) *engine.PolicySet {
	t.Helper()
	set, err := compile(t, files)
	require.NoError(t, err)
	return set
}

// templateWith returns a template with the given spec.
func templateWith(crd, target string) string {
	return `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: x}
spec:
  crd: {spec: {names: {kind: X}` + crd + `}}
  targets: [{target: admission.k8s.gatekeeper.sh, ` + target + `}]
`
}

const regoText = `rego: "package x\nviolation[{\"msg\": \"no\"}] { true }"`

// TestWhatIsWrongIsNamed: each with its file, its line and what to do.
func TestWhatIsWrongIsNamed(t *testing.T) {
	valid := makeTemplate("X", denyAll)
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"no template":          {makeConstraint("Z", "a", "{}"), "f.yaml:1: constraint Z/a: the source has no ConstraintTemplate of kind Z"},
		"other case":           {valid + "---\n" + makeConstraint("x", "a", "{}"), "(there is one of kind X)"},
		"two templates":        {valid + "---\n" + valid, "f.yaml:19: ConstraintTemplate of kind X: already defined at f.yaml:1; keep one"},
		"two constraints":      {valid + "---\n" + makeConstraint("X", "a", "{}") + "---\n" + makeConstraint("X", "a", "{}"), "f.yaml:25: constraint X/a: already defined at f.yaml:19"},
		"other name":           {strings.Replace(valid, "name: x", "name: z", 1) + "---\n" + makeConstraint("X", "a", "{}"), `its name must be its kind in lower case, "x"`},
		"no kind":              {strings.Replace(valid, "kind: X\n", "plural: X\n", 1), "spec.crd.spec.names.kind is empty"},
		"bad YAML":             {"# templates.gatekeeper.sh/v1\na: [", "f.yaml:"},
		"not an object":        {"# templates.gatekeeper.sh/v1\n- a\n", "f.yaml:2: not a Kubernetes object"},
		"another target":       {strings.Replace(valid, "admission.k8s", "other", 1), "f.yaml:11: spec.targets: a template has one target"},
		"parse":                {makeTemplate("X", "package x\n\nviolation[{\"msg\": 1}] { }}"), "f.yaml:15: "},
		"v1 in v0":             {makeTemplate("X", "package x\n\nviolation contains {\"msg\": \"no\"} if true"), "f.yaml:15: "},
		"v0 in v1":             {templateWith("", `code: [{engine: Rego, source: {version: v1, rego: "package x\nviolation[{\"msg\": \"no\"}] { true }"}}]`), "f.yaml:7: "},
		"unknown version":      {templateWith("", `code: [{engine: Rego, source: {version: v2, rego: "package x"}}]`), `f.yaml:6: spec.targets[0].code[0].source.version: "v2" is not v0 or v1`},
		"compile":              {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := nothing(1)\n}"), "f.yaml:16: rego_type_error: undefined function nothing"},
		"no violation":         {makeTemplate("X", "package x\n\ndeny[\"x\"] { true }"), "f.yaml:13: template X has no rule violation"},
		"complete violation":   {makeTemplate("X", "package x\n\nviolation = {\"msg\": \"x\"} { true }"), "f.yaml:15: violation must be a set of objects"},
		"other data":           {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := data.secrets.a\n}"), "f.yaml:16: a template may read data.inventory and its libraries below data.lib, not data.secrets.a"},
		"all data":             {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := data[_]\n}"), "a template may read data.inventory"},
		"data of Lintel's":     {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := data.lintel.template.Y\n}"), "a template may read data.inventory"},
		"library package":      {templateWith("", regoText+`, libs: ["package helpers"]`), "f.yaml:6: the package of a library is lib or below it: write `package lib.helpers`"},
		"external data":        {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := external_data({\"provider\": \"p\"})\n}"), "f.yaml:16: external_data is not supported, because policies have no network"},
		"network":              {makeTemplate("X", "package x\n\nviolation[{\"msg\": msg}] {\n  msg := http.send({})\n}"), "http.send is not available to policies"},
		"CEL":                  {templateWith("", `code: [{engine: K8sNativeValidation, source: {}}]`), "f.yaml:6: spec.targets[0].code[0].source.validations: must have at least one entry"},
		"other engine":         {templateWith("", `code: [{engine: Lua, source: {}}]`), `code[0].engine is "Lua", which is not one of Rego, K8sNativeValidation`},
		"no Rego":              {templateWith("", `libs: []`), "has no Rego"},
		"Rego twice":           {templateWith("", regoText+`, code: [{engine: Rego, source: {rego: "package x"}}]`), "has Rego both in rego and in code[0]"},
		"operation":            {templateWith("", regoText+`, operations: [PATCH]`), `spec.targets[0].operations[0]: "PATCH" is not one of *, CREATE`},
		"sync annotation":      {strings.Replace(valid, "  name: x", "  name: x\n  annotations: {metadata.gatekeeper.sh/requires-sync-data: \"v1 Service\"}", 1), "metadata.gatekeeper.sh/requires-sync-data: is not JSON of the form"},
		"mutator":              {"apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a}\nspec: {location: spec.x, parameters: {assign: {value: 1}}}\n", "f.yaml:4: spec.applyTo: must name the groups, versions and kinds"},
		"unknown process":      {"apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {match: [{excludedNamespaces: [a], processes: [mutation]}]}\n", `f.yaml:4: spec.match[0].processes[0]: "mutation" is not one of audit, webhook, mutation-webhook, sync, *`},
		"traces":               {"apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\nspec: {validation: {traces: [{user: alice, dump: All}]}}\n", "f.yaml:4: spec.validation.traces: reviews are not traced into the log"},
		"connection":           {"apiVersion: connection.gatekeeper.sh/v1alpha1\nkind: Connection\nmetadata: {name: disk, namespace: a}\nspec: {driver: disk}\n", `f.yaml:1: Connection "disk": violations are not exported: read the reports of audit`},
		"unknown mutator":      {"apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignAll\nmetadata: {name: a}\n", `f.yaml:1: AssignAll "a": it is not one of the mutators`},
		"provider":             {"apiVersion: externaldata.gatekeeper.sh/v1beta1\nkind: Provider\nmetadata: {name: a}\n", `f.yaml:1: Provider "a": external data is not supported`},
		"constraint name":      {valid + "---\n" + makeConstraint("X", "A_b", "{}"), "f.yaml:22: metadata.name: constraint of kind X: a lowercase RFC 1123 subdomain"},
		"enforcement":          {valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: block}"), `f.yaml:23: spec.enforcementAction: "block" is not one of deny, warn, dryrun, scoped`},
		"scoped without":       {valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped}"), "enforcementAction scoped needs scopedEnforcementActions"},
		"scoped action":        {valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped, scopedEnforcementActions: [{action: block}]}"), `spec.scopedEnforcementActions[0].action: "block" is not one of`},
		"scoped point":         {valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: vap.k8s.io}, {name: validation.gatekeper.sh}]}]}"), `f.yaml:23: spec.scopedEnforcementActions[0].enforcementPoints[1].name: "validation.gatekeper.sh" is not one of validation.gatekeeper.sh, gator.gatekeeper.sh`},
		"no scoped point":      {valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny}]}"), "spec.scopedEnforcementActions[0].enforcementPoints: name one of validation.gatekeeper.sh"},
		"match field":          {valid + "---\n" + makeConstraint("X", "a", "\n  match:\n    kind: []"), `f.yaml:25: spec.match.kind: unknown field (did you mean kinds?)`},
		"match type":           {valid + "---\n" + makeConstraint("X", "a", "{match: {kinds: Pod}}"), `spec.match.kinds: Invalid value: "string": must be of type array: "string"`},
		"match scope":          {valid + "---\n" + makeConstraint("X", "a", "{match: {scope: Namespace}}"), `spec.match.scope: "Namespace" is not one of *, Cluster, Namespaced`},
		"match source":         {valid + "---\n" + makeConstraint("X", "a", "{match: {source: Any}}"), `spec.match.source: "Any" is not one of`},
		"match glob":           {valid + "---\n" + makeConstraint("X", "a", "{match: {namespaces: [\"a*b\"]}}"), `spec.match.namespaces: "a*b" is not a name with *`},
		"match selector":       {valid + "---\n" + makeConstraint("X", "a", "{match: {labelSelector: {matchExpressions: [{key: a, operator: Is}]}}}"), "spec.match.labelSelector: "},
		"inventory of nothing": {makeTemplate("X", "package x\n\nviolation[{\"msg\": \"x\"}] {\n  data.inventory.cluster\n}") + "---\n" + makeConstraint("X", "a", "{}"), "its template reads data.inventory, and nothing says which kinds are in it: add a Config"},
		"expansion kind":       {"apiVersion: expansion.gatekeeper.sh/v1beta1\nkind: ExpansionTemplate\nmetadata: {name: e}\nspec: {applyTo: [{groups: [example.com], versions: [v1], kinds: [Web]}], templateSource: spec.template, generatedGVK: {version: v1, kind: Pod}}\n", "f.yaml:4: spec.applyTo[0]: expanding Web.example.com into Pod is not supported"},
		"expansion source":     {"apiVersion: expansion.gatekeeper.sh/v1beta1\nkind: ExpansionTemplate\nmetadata: {name: e}\nspec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}], templateSource: spec.pod, generatedGVK: {version: v1, kind: Pod}}\n", "its Pod template is at spec.template"},
		"sync of everything":   {"apiVersion: syncset.gatekeeper.sh/v1alpha1\nkind: SyncSet\nmetadata: {name: e}\nspec: {gvks: [{group: '*', version: v1, kind: Pod}]}\n", "spec.gvks[0]: name one group, version and kind"},
		"schema":               {templateWith(`, validation: {openAPIV3Schema: [1]}`, regoText) + "---\n" + makeConstraint("X", "a", "{}"), "spec.crd.spec.validation.openAPIV3Schema: not a schema"},
		"schema reference":     {templateWith(`, validation: {openAPIV3Schema: {type: object, definitions: {a: {type: string}}}}`, regoText), "spec.crd.spec.validation.openAPIV3Schema: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t, map[string]string{"f.yaml": test.text})
			require.Error(t, err)
			require.ErrorAs(t, err, new(definition.CompileErrorList))
			require.Contains(t, err.Error(), test.want)
		})
	}
}

func TestWhatMayBe(t *testing.T) {
	valid := makeTemplate("X", denyAll)
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(makeConstraint("X", "a", "{}"), "\n"), "\n", "\n  ") + "\n"
	for name, test := range map[string]struct {
		files    map[string]string
		policies int
	}{
		"template without constraint": {map[string]string{"t.yaml": valid}, 0},
		"constraint before":           {map[string]string{"a.yml": makeConstraint("X", "a", "{}"), "t.yaml": valid}, 1},
		"older versions":              {map[string]string{"t.yaml": strings.Replace(valid, "sh/v1\n", "sh/v1alpha1\n", 1) + "---\n" + strings.Replace(makeConstraint("X", "a", "{}"), "v1beta1", "v1alpha1", 1)}, 1},
		"list":                        {map[string]string{"t.yaml": valid, "c.yaml": list}, 1},
		"beside Rego":                 {map[string]string{"t.yaml": valid + "---\n" + makeConstraint("X", "a", "{}"), "p.rego": "package p\n\nimport rego.v1\n\ndeny contains \"x\"\n"}, 2},
		"test data":                   {map[string]string{"t.yaml": valid, "x/testdata/c.yaml": makeConstraint("Unknown", "a", "{}")}, 0},
		"other YAML":                  {map[string]string{"t.yaml": valid, "values.yaml": "{{ broken", "pod.yaml": "kind: Pod"}, 0},
		"scoped elsewhere":            {map[string]string{"t.yaml": valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: vap.k8s.io}]}]}")}, 0},
		"scoped to audit":             {map[string]string{"t.yaml": valid + "---\n" + makeConstraint("X", "a", "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}]}")}, 1},
		"status and more":             {map[string]string{"t.yaml": valid + "status: {created: true}\n---\n" + makeConstraint("X", "a", "{}") + "status: {totalViolations: 3}\n"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.policies, mustCompile(t, test.files).Policies())
		})
	}
}

// TestVariantsOfASuite: a library keeps several constraints of one name for its tests.
func TestVariantsOfASuite(t *testing.T) {
	suite := func(constraints ...string) string {
		text := "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\ntests:\n"
		for _, constraint := range constraints {
			text += "- {name: t, template: template.yaml, constraint: " + constraint + ", cases: []}\n"
		}
		return text
	}
	files := map[string]string{
		"x/template.yaml":                 makeTemplate("X", denyAll),
		"x/suite.yaml":                    suite("samples/constraint.yaml", "samples/constraint2.yaml", "samples-more/constraint.yaml"),
		"x/samples/constraint.yaml":       makeConstraint("X", "a", "{enforcementAction: deny}"),
		"x/samples/constraint2.yaml":      makeConstraint("X", "a", "{enforcementAction: dryrun}"),
		"x/samples-more/constraint.yaml":  makeConstraint("X", "a", "{enforcementAction: warn}"),
		"x/samples-other/constraint.yaml": makeConstraint("X", "b", "{enforcementAction: dryrun}"),
	}
	set := mustCompile(t, files)
	require.Equal(t, 2, set.Policies())
	for _, policy := range engine.NewSnapshot(admission.BuiltinResources(), set).Policies() {
		require.True(t, policy.AnyVersion, "it evaluates the version that arrives")
	}
	decision := ask(t, set, createPod("shop", "web", nil), engine.Options{})
	require.Len(t, decision.Warnings, 1, "the last one of those that kubectl would apply")
	require.Len(t, decision.Audits, 1)
	const replaced = "constraint X/a is for its tests alone: the one in force is at x/samples-more/constraint.yaml:1"
	require.Equal(t, definition.CompileErrorList{
		{File: "x/samples/constraint.yaml", Line: 1, Message: replaced}, {File: "x/samples/constraint2.yaml", Line: 1, Message: replaced},
	}, set.Warnings())

	files["x/suite.yaml"] = suite("samples/constraint.yaml", "samples/constraint2.yaml")
	_, err := compile(t, files)
	require.ErrorContains(t, err, "x/samples-more/constraint.yaml:1: constraint X/a: already defined at x/samples/constraint2.yaml:1", "one that no Suite tries is meant to be in force")
}

func TestParametersFollowTheSchema(t *testing.T) {
	schema := `, validation: {openAPIV3Schema: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, default: 3}, port: {x-kubernetes-int-or-string: true}, maybe: {type: string, nullable: true}, list: {type: array, items: {type: object, properties: {is: {type: boolean, default: true}}}}}}}`
	template := templateWith(schema, `rego: "package x\nviolation[{\"msg\": msg}] { msg := json.marshal(input.parameters) }"`)
	for name, test := range map[string]struct {
		spec string
		want string // what Rego sees, or the error
		bad  bool
	}{
		"defaults":      {"{parameters: {name: a}}", `{"name":"a","size":3}`, false},
		"within a list": {"{parameters: {name: a, size: 1, list: [{}, {is: false}]}}", `{"list":[{"is":true},{"is":false}],"name":"a","size":1}`, false},
		"none at all":   {"{}", `{}`, false},
		"null":          {"{parameters: null}", `{}`, false},
		"null for one":  {"{parameters: {name: a, size: null, list: null}}", `{"name":"a","size":3}`, false},
		"either":        {"{parameters: {name: a, port: http, maybe: null}}", `{"maybe":null,"name":"a","port":"http","size":3}`, false},
		"unknown":       {"{parameters: {name: a, other: 1}}", "f.yaml:12: spec.parameters.other: not in the schema of ConstraintTemplate x: the fields here are list, maybe, name, port, size", true},
		"missing":       {"{parameters: {size: 1}}", "f.yaml:12: spec.parameters.name: Required value (by the schema of ConstraintTemplate x)", true},
		"wrong type":    {"{parameters: {name: a, size: large}}", `f.yaml:12: spec.parameters.size: Invalid value: "string": must be of type integer: "string" (by the schema`, true},
		"not either":    {"{parameters: {name: a, port: [1]}}", `spec.parameters.port: Invalid value: "array": must be of type integer,string`, true},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := compile(t, map[string]string{"f.yaml": template + "---\n" + makeConstraint("X", "a", test.spec)})
			if test.bad {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{test.want}, words(ask(t, set, createPod("shop", "web", nil), engine.Options{}).Denials))
		})
	}
}

// TestUnknownFieldsOfConstraints: what Gatekeeper refuses is refused, with the place where
// the field belongs.
func TestUnknownFieldsOfConstraints(t *testing.T) {
	const declared = `, validation: {%sopenAPIV3Schema: {type: object, properties: {repos: {type: array, items: {type: string}}, deep: {type: object, properties: {inner: {type: string}}}, any: {type: object, x-kubernetes-preserve-unknown-fields: true}, map: {type: object, additionalProperties: {type: object, properties: {inner: {type: string}}}}, list: {type: array, items: {type: object, properties: {inner: {type: string}}}}}}}`
	strict, legacy := fmt.Sprintf(declared, ""), fmt.Sprintf(declared, "legacySchema: true, ")
	for name, test := range map[string]struct {
		crd, version, spec string
		want               string // the error, or the warning where it is legacy; empty: it is accepted
	}{
		"parameter":                {strict, "v1", "{parameters: {repo: [a]}}", "f.yaml:12: spec.parameters.repo: not in the schema of ConstraintTemplate x (did you mean repos?)"},
		"parameter in an object":   {strict, "v1", "{parameters: {deep: {iner: a}}}", "spec.parameters.deep.iner: not in the schema of ConstraintTemplate x (did you mean inner?)"},
		"parameter in a list":      {strict, "v1", "\n  parameters:\n    list:\n    - inner: a\n    - innner: b", "f.yaml:16: spec.parameters.list[1].innner: not in the schema"},
		"parameter in a map":       {strict, "v1", "{parameters: {map: {key: {other: a}}}}", "spec.parameters.map.key.other: not in the schema of ConstraintTemplate x: the fields here are inner"},
		"parameter kept":           {strict, "v1", "{parameters: {any: {other: a}, map: {key: {inner: a}}}}", ""},
		"parameter in other case":  {strict, "v1", "{parameters: {Repos: [a]}}", "(did you mean repos?)"},
		"no parameters declared":   {"", "v1", "{parameters: {a: 1}}", "f.yaml:12: spec.parameters: ConstraintTemplate x declares no parameters"},
		"legacy":                   {legacy, "v1", "{parameters: {other: [a]}}", ""},
		"legacy by version":        {strict, "v1beta1", "{parameters: {other: [a]}}", ""},
		"legacy by first version":  {strict, "v1alpha1", "{parameters: {other: [a]}}", ""},
		"legacy without a schema":  {"", "v1beta1", "{parameters: {a: 1}}", ""},
		"legacy, misspelt":         {strict, "v1beta1", "{parameters: {repo: [a]}}", "f.yaml:12: spec.parameters.repo: not in the schema of ConstraintTemplate x (did you mean repos?)"},
		"legacy, misspelt within":  {legacy, "v1", "{parameters: {deep: {iner: a}}}", "f.yaml:12: spec.parameters.deep.iner: not in the schema"},
		"older, strict":            {fmt.Sprintf(declared, "legacySchema: false, "), "v1beta1", "{parameters: {repo: [a]}}", "(did you mean repos?)"},
		"field of spec":            {strict, "v1", "{randomField: a}", "f.yaml:12: spec.randomField: unknown field: the fields here are enforcementAction, match, parameters, scopedEnforcementActions"},
		"field of spec, legacy":    {strict, "v1beta1", "{randomField: a}", "spec.randomField: unknown field"},
		"field of match in spec":   {strict, "v1", "{excludedNamespaces: [a]}", "spec.excludedNamespaces: unknown field: excludedNamespaces belongs under spec.match"},
		"parameter in spec":        {strict, "v1", "{repos: [a]}", "spec.repos: unknown field: repos belongs under spec.parameters"},
		"field of spec in match":   {strict, "v1", "{match: {parameters: {}}}", "spec.match.parameters: unknown field: parameters belongs under spec"},
		"field of spec, outside":   {strict, "v1", "{}\nmatch: {}", "f.yaml:13: match: unknown field: match belongs under spec"},
		"misspelt spec":            {strict, "v1", "{}\nspce: {}", "spce: unknown field: the fields here are spec, status"},
		"empty name":               {strict, "v1", "{}\n\"\": {}", "unknown field: the fields here are spec, status"},
		"other case":               {strict, "v1", "{Match: {}}", "spec.Match: unknown field (did you mean match?)"},
		"other case in match":      {strict, "v1", "{match: {Kinds: []}}", "spec.match.Kinds: unknown field (did you mean kinds?)"},
		"field of kinds":           {strict, "v1", "{match: {kinds: [{apiGroup: [\"\"], kinds: [Pod]}]}}", "spec.match.kinds[0].apiGroup: unknown field (did you mean apiGroups?)"},
		"field of a selector":      {strict, "v1", "{match: {labelSelector: {matchLabel: {a: b}}}}", "spec.match.labelSelector.matchLabel: unknown field (did you mean matchLabels?)"},
		"field of a scoped action": {strict, "v1", "{enforcementAction: scoped, scopedEnforcementActions: [{action: deny, enforcementPoint: [{name: '*'}]}]}", "spec.scopedEnforcementActions[0].enforcementPoint: unknown field (did you mean enforcementPoints?)"},
		"null match":               {strict, "v1", "{match: null}", `spec.match: Invalid value: "null": must be of type object: "null"`},
		"null spec":                {strict, "v1", "null", `spec: Invalid value: "null"`},
		"null kinds":               {strict, "v1", "{match: {kinds: null}}", `spec.match.kinds: Invalid value: "null"`},
		"null in kinds":            {strict, "v1", "{match: {kinds: [null]}}", `spec.match.kinds[0]: Invalid value: "null"`},
		"null namespaces":          {strict, "v1", "{match: {namespaces: null}}", `spec.match.namespaces: Invalid value: "null"`},
		"null selector":            {strict, "v1", "{match: {labelSelector: null}}", `spec.match.labelSelector: Invalid value: "null"`},
		"null action":              {strict, "v1", "{enforcementAction: null}", `spec.enforcementAction: Invalid value: "null"`},
	} {
		t.Run(name, func(t *testing.T) {
			template := strings.Replace(templateWith(test.crd, regoText), "gatekeeper.sh/v1\n", "gatekeeper.sh/"+test.version+"\n", 1)
			set, err := compile(t, map[string]string{"f.yaml": template + "---\n" + makeConstraint("X", "a", test.spec)})
			switch {
			case test.want == "":
				require.NoError(t, err)
				require.Empty(t, set.Warnings())
				return
			case strings.HasPrefix(name, "legacy"):
				require.NoError(t, err)
				require.Len(t, set.Warnings(), 1)
				require.ErrorContains(t, set.Warnings(), test.want)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestViolationsWithoutMsg: Gatekeeper's type check refuses the same; test/gator compares
// the two. What Gatekeeper accepts although a rule can never deny is a warning.
func TestViolationsWithoutMsg(t *testing.T) {
	const message = `violation[{"msg": "m"}] { true }`
	for name, test := range map[string]struct {
		rego     string
		err      string // empty: it is accepted
		warnings []string
	}{
		"text":                {`violation["x"] { true }`, "f.yaml:15: template X: each member of violation must be an object with \"msg\", and this rule gives a value of type string, which never denies", nil},
		"text by a function":  {`violation[x] { x := sprintf("%v", [1]) }`, "a value of type string", nil},
		"number":              {`violation[3] { true }`, "a value of type number", nil},
		"boolean":             {`violation[x] { x := true }`, "a value of type boolean", nil},
		"array":               {`violation[["msg"]] { true }`, "a value of type array<string>", nil},
		"set":                 {`violation[{"msg"}] { true }`, "a value of type set[string]", nil},
		"details alone":       {`violation[{"details": {}}] { true }`, "an object with the fields [details]", nil},
		"other case":          {`violation[{"Msg": "m"}] { true }`, "an object with the fields [Msg]", nil},
		"by a variable":       {`violation[r] { r := {"details": {}} }`, "an object with the fields [details]", nil},
		"by another function": {"violation[r] { r := f(1) }\n\nf(x) = {\"message\": x} { true }", "an object with the fields [message]", nil},
		"two rules":           {"violation[\"x\"] { true }\n\nviolation[{\"details\": {}}] { true }", "f.yaml:17: template X: ", nil},
		"one of two":          {"violation[\"x\"] { true }\n\n" + message, "", []string{"f.yaml:15: template X: each member of violation must be an object with \"msg\", and this rule gives a value of type string"}},
		"one of two, typed":   {message + "\n\nviolation[r] { r := {\"details\": {}} }", "", []string{"f.yaml:17: template X: each member"}},
		"msg":                 {message, "", nil},
		"msg and details":     {`violation[{"msg": "m", "details": "d"}] { true }`, "", nil},
		"empty msg":           {`violation[{"msg": ""}] { true }`, "", nil},
		"comprehension":       {`violation[r] { r := {"msg": m | m := "x"} }`, "", nil},
		"not known":           {`violation[r] { r := input.parameters.x }`, "", nil},
		"key not known":       {`violation[{k: "m"}] { k := input.parameters.k }`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := compile(t, map[string]string{"f.yaml": makeTemplate("X", "package x\n\n"+test.rego)})
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			warnings := set.NeverEvaluated()
			require.Len(t, warnings, len(test.warnings))
			for i, want := range test.warnings {
				require.ErrorContains(t, warnings[i:i+1], want)
			}
		})
	}
}

// TestOperationsThatAreNeverAsked: a condition on an operation that the template is not
// evaluated for.
func TestOperationsThatAreNeverAsked(t *testing.T) {
	const forDelete, forConnect = "the rule wants the operation DELETE, and", "the rule wants the operation CONNECT, and"
	const exec = `{match: {kinds: [{apiGroups: [""], kinds: [PodExecOptions]}]}}`
	for name, test := range map[string]struct {
		body, operations, spec string
		want                   string // empty: no warning
	}{
		"deletion":              {`input.review.operation == "DELETE"`, "", "{}", forDelete + " the template is evaluated for CREATE and UPDATE: add DELETE to spec.targets[0].operations"},
		"the other way around":  {`"DELETE" == input.review.operation`, "", "{}", forDelete},
		"unified":               {`input.review.operation = "DELETE"`, "", "{}", forDelete},
		"by key":                {`input.review["operation"] == "DELETE"`, "", "{}", forDelete},
		"in a comprehension":    {`count([1 | input.review.operation == "DELETE"]) > 0`, "", "{}", forDelete},
		"in a helper":           {"gone\n}\n\ngone {\n  input.review.operation == \"DELETE\"", "", "{}", forDelete},
		"one of two":            {`input.review.operation in ["DELETE", "CONNECT"]`, "", "{}", "the rule wants the operation DELETE or CONNECT"},
		"creation not asked":    {`input.review.operation == "CREATE"`, "[DELETE]", "{}", "the rule wants the operation CREATE, and the template is evaluated for DELETE"},
		"CONNECT":               {`input.review.operation == "CONNECT"`, "", "{}", forConnect},
		"CONNECT by its kind":   {`input.review.operation == "CONNECT"`, "", exec, ""},
		"asked":                 {`input.review.operation == "DELETE"`, "[CREATE, DELETE]", "{}", ""},
		"all asked":             {`input.review.operation == "DELETE"`, "['*']", "{}", ""},
		"asked by default":      {`input.review.operation == "UPDATE"`, "", "{}", ""},
		"one is asked":          {`input.review.operation in {"DELETE", "CREATE"}`, "", "{}", ""},
		"not deletion":          {`input.review.operation != "DELETE"`, "", "{}", ""},
		"negated":               {`not input.review.operation == "DELETE"`, "", "{}", ""},
		"a negated helper":      {"not gone\n}\n\ngone {\n  input.review.operation == \"DELETE\"", "", "{}", ""},
		"of another field":      {`input.review.object.spec.operation == "DELETE"`, "", "{}", ""},
		"by a parameter":        {`input.review.operation == input.parameters.operation`, "", "{}", ""},
		"of the author's words": {`input.review.operation == "REMOVE"`, "", "{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := makeTemplate("X", "package x\n\nimport future.keywords.in\n\nviolation[{\"msg\": \"no\"}] {\n  "+test.body+"\n}")
			if test.operations != "" {
				text += "      operations: " + test.operations + "\n"
			}
			set := mustCompile(t, map[string]string{"f.yaml": text + "---\n" + makeConstraint("X", "a", test.spec)})
			if test.want == "" {
				require.Empty(t, set.Warnings())
				return
			}
			require.Len(t, set.Warnings(), 1)
			require.ErrorContains(t, set.Warnings(), test.want)
			require.Contains(t, strings.Split(text, "\n")[set.Warnings()[0].Line-1], "input.review")
		})
	}
}
