package cel_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// vap writes a ValidatingAdmissionPolicy about ConfigMaps with more fields of its spec.
func vap(spec string) string {
	return `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
` + spec
}

// bound writes a binding with more fields of its spec.
func bound(spec string) string {
	return `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: p
` + spec
}

const denies = "  validationActions: [Deny]\n"

func compile(t *testing.T, text string) *policyset.Set {
	t.Helper()
	set, err := compileText(text)
	require.NoError(t, err)
	return set
}

func compileText(text string) (*policyset.Set, error) {
	return policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"p.yaml": text}, AdmissionPolicies: true}, cel.Dialect)
}

// creation is the review of a ConfigMap that is created in the namespace team.
func creation(t *testing.T, data string) *admission.Review {
	t.Helper()
	return request(t, "CREATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"team","labels":{"a":"b"}},"data":`+data+`}`, "null")
}

func request(t *testing.T, operation, object, old string) *admission.Review {
	t.Helper()
	review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"u","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
		"name":"c","namespace":"team","operation":%q,"userInfo":{"username":"alice","groups":["dev"]},"object":%s,"oldObject":%s,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}`, operation, object, old))
	require.NoError(t, err)
	return review
}

func decide(t *testing.T, text string, review *admission.Review) *engine.Decision {
	t.Helper()
	namespace, err := engine.ReadNamespace([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tier":"gold"}}}`))
	require.NoError(t, err)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile(t, text))
	return snapshot.Validate(t.Context(), review, engine.Options{Namespace: namespace, Offline: true})
}

// words are the words of findings, with their lines.
func words(findings []engine.Finding) (all []string) {
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%d: %s", f.Location.Line, f.Words))
	}
	return all
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, binding     string
		deny, warn, audit []string
		undecided         string
	}{
		"true": {spec: "  validations: [{expression: 'object.data.a == \"x\"'}]", binding: denies},
		"false": {
			spec: "  validations: [{expression: 'object.data.a == \"y\"'}]", binding: denies,
			deny: []string{`8: failed expression: object.data.a == "y"`},
		},
		"message and code": {
			spec: "  validations: [{expression: 'false', message: nope}]", binding: denies,
			deny: []string{"8: nope"},
		},
		"messageExpression": {
			spec: "  variables: [{name: a, expression: object.data.a}]\n  validations: [{expression: 'false', message: nope, messageExpression: '\"a is \" + variables.a'}]", binding: denies,
			deny: []string{"9: a is x"},
		},
		"a messageExpression that fails": {
			spec: "  validations: [{expression: 'false', message: nope, messageExpression: 'string(object.data.missing)'}]", binding: denies,
			deny: []string{"8: nope"},
		},
		"warn and audit": {
			spec: "  validations: [{expression: 'false', message: nope}]", binding: "  validationActions: [Warn, Audit]\n",
			warn: []string{"8: nope"}, audit: []string{"8: nope"},
		},
		"an error denies": {
			spec: "  validations: [{expression: 'object.data.missing == \"\"'}]", binding: denies,
			deny: []string{`8: expression 'object.data.missing == ""' resulted in error: no such key: missing`},
		},
		"an error with Ignore": {
			spec: "  failurePolicy: Ignore\n  validations: [{expression: 'object.data.missing == \"\"'}]", binding: denies,
		},
		"a match condition": {
			spec: "  matchConditions: [{name: c, expression: 'request.userInfo.username != \"alice\"'}]\n  validations: [{expression: 'false'}]", binding: denies,
		},
		"a match condition that fails next to a false one": {
			spec:    "  matchConditions: [{name: c, expression: 'object.data.missing == \"\"'}, {name: d, expression: 'false'}]\n  validations: [{expression: 'false'}]",
			binding: denies,
		},
		"a match condition that fails": {
			spec:    "  matchConditions: [{name: c, expression: 'object.data.missing == \"\"'}]\n  validations: [{expression: 'false'}]",
			binding: denies,
			deny:    []string{`8: expression 'object.data.missing == ""' resulted in error: no such key: missing`},
		},
		"oldObject, request and namespaceObject": {
			spec:    "  validations: [{expression: 'oldObject == null && request.operation == \"CREATE\" && \"dev\" in request.userInfo.groups && namespaceObject.metadata.labels.tier == \"gold\"'}]",
			binding: denies,
		},
		"the namespaceSelector of the binding": {
			spec:    "  validations: [{expression: 'false'}]",
			binding: denies + "  matchResources: {namespaceSelector: {matchLabels: {tier: silver}}}\n",
		},
		"the objectSelector of the binding": {
			spec:    "  validations: [{expression: 'false', message: nope}]",
			binding: denies + "  matchResources: {objectSelector: {matchLabels: {a: b}}}\n",
			deny:    []string{"8: nope"},
		},
		"excludeResourceRules": {
			spec:    "  validations: [{expression: 'false'}]",
			binding: denies + "  matchResources: {excludeResourceRules: [{apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: [configmaps], resourceNames: [c]}]}\n",
		},
		"params": {
			spec:    "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'object.data.a == params.data.a', messageExpression: '\"not \" + params.data.a'}]",
			binding: denies + "  paramRef: {selector: {matchLabels: {is: param}}, parameterNotFoundAction: Allow}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team, labels: {is: param}}, data: {a: q}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: team, labels: {is: param}}, data: {a: x}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: other, labels: {is: param}}, data: {a: z}}\n",
			deny:    []string{"9: not q"},
		},
		"params that are missing": {
			spec:    "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'true'}]",
			binding: denies + "  paramRef: {name: none, parameterNotFoundAction: Deny}\n",
			deny:    []string{"17: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		},
		"params that are missing, allowed": {
			spec:    "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'false'}]",
			binding: denies + "  paramRef: {name: none, parameterNotFoundAction: Allow}\n",
		},
		"params that are missing, with Ignore": {
			spec:    "  failurePolicy: Ignore\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'true'}]",
			binding: denies + "  paramRef: {name: none, parameterNotFoundAction: Deny}\n",
		},
		"the authorizer": {
			spec:    "  validations: [{expression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}]",
			binding: denies, undecided: "it calls the authorizer, which only an API server can answer",
		},
		"the authorizer in a variable": {
			spec:    "  variables: [{name: may, expression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}]\n  validations: [{expression: '!variables.may'}]",
			binding: denies, undecided: "it calls the authorizer, which only an API server can answer",
		},
		"the authorizer, not called": {
			spec:    "  validations: [{expression: 'object.data.a == \"x\" || authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}]",
			binding: denies,
		},
		"the authorizer next to a violation": {
			spec:    "  validations: [{expression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").allowed()'}, {expression: 'false', message: nope}]",
			binding: denies, undecided: "it calls the authorizer, which only an API server can answer",
			deny: []string{"8: nope"},
		},
		"the cost of an expression": {
			spec:    "  validations: [{expression: '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))'}]",
			binding: denies,
			deny:    []string{`8: expression '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))' resulted in error: operation cancelled: actual cost limit exceeded`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := decide(t, vap(c.spec)+bound(c.binding), creation(t, `{"a":"x"}`))
			require.Equal(t, c.deny, words(decision.Denials))
			require.Equal(t, c.warn, words(decision.Warnings))
			require.Equal(t, c.audit, words(decision.Audits))
			var undecided string
			for _, one := range decision.Undecided {
				undecided = one.Reason
			}
			require.Equal(t, c.undecided, undecided)
		})
	}
}

// TestUnknownUser: without a user, expressions about it have no answer.
func TestUnknownUser(t *testing.T) {
	t.Parallel()
	resource, _ := admission.BuiltinResources().ByKind("", "ConfigMap")
	review, err := admission.NewStoredReview([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"team"}}`), resource)
	require.NoError(t, err)
	for _, expressions := range []string{
		"  validations: [{expression: '\"dev\" in request.userInfo.groups'}]",
		"  variables: [{name: user, expression: request.userInfo.username}]\n  validations: [{expression: 'variables.user == \"alice\"'}]",
		"  matchConditions: [{name: user, expression: 'request.userInfo.username == \"alice\"'}]\n  validations: [{expression: 'false'}]",
		"  auditAnnotations: [{key: user, valueExpression: request.userInfo.username}]",
	} {
		decision := decide(t, vap(expressions)+bound(denies), review)
		require.Empty(t, decision.Denials)
		require.Equal(t, []engine.Undecided{{Policy: "ValidatingAdmissionPolicy/p", Reason: "it reads request.userInfo, and the request names no user: set one with --as"}}, decision.Undecided)
	}
}

// TestVersions: the API server would convert the object, which is not known here.
func TestVersions(t *testing.T) {
	t.Parallel()
	text := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    %s
    resourceRules: [{apiGroups: [""], apiVersions: [v2], operations: ["*"], resources: [configmaps]}]
  validations: [{expression: 'false'}]
` + bound(denies)
	decision := decide(t, fmt.Sprintf(text, ""), creation(t, `{}`))
	require.Empty(t, decision.Denials)
	require.Equal(t, []engine.Undecided{{Policy: "ValidatingAdmissionPolicy/p", Reason: "it is written for another version of configmaps than v1"}}, decision.Undecided)

	decision = decide(t, fmt.Sprintf(text, "matchPolicy: Exact"), creation(t, `{}`))
	require.Empty(t, decision.Denials)
	require.Empty(t, decision.Undecided)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	text := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]
  validations: [{expression: 'object != null || oldObject.metadata.name != "c"', message: nope, reason: Forbidden}]
` + bound(denies)
	decision := decide(t, text, request(t, "DELETE", "null", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"team"}}`))
	require.Equal(t, []string{"7: nope"}, words(decision.Denials))
	require.Equal(t, 403, decision.Denials[0].Code)
	require.Equal(t, "ValidatingAdmissionPolicy/p", decision.Denials[0].Policy)
	require.Empty(t, decide(t, text, creation(t, `{}`)).Denials)
}

// TestErrors names the file, the line and the field.
func TestErrors(t *testing.T) {
	t.Parallel()
	ok := "  validations: [{expression: 'true'}]\n"
	for name, c := range map[string]struct{ text, err string }{
		"a syntax error": {
			vap("  validations:\n  - message: nope\n    expression: |\n      object.data.a ==\n      )\n") + bound(denies),
			`p.yaml:12: ValidatingAdmissionPolicy "p": spec.validations[0].expression: Syntax error: `,
		},
		"an unknown variable":   {vap("  validations: [{expression: 'objekt == null'}]") + bound(denies), `p.yaml:8: ValidatingAdmissionPolicy "p": spec.validations[0].expression: undeclared reference to 'objekt'`},
		"a wrong type":          {vap("  validations: [{expression: '1'}]") + bound(denies), `p.yaml:8: ValidatingAdmissionPolicy "p": spec.validations[0].expression: must evaluate to bool but got int`},
		"params without a kind": {vap("  validations: [{expression: 'params == null'}]") + bound(denies), `undeclared reference to 'params'`},
		"an unknown field of the request": {
			vap("  validations: [{expression: 'request.user == \"\"'}]") + bound(denies), `undefined field 'user'`,
		},
		"an unknown variable of variables": {vap("  validations: [{expression: 'variables.a'}]") + bound(denies), `undefined field 'a'`},
		"an unknown field":                 {vap("  validations: [{expression: 'true', mesage: nope}]") + bound(denies), `p.yaml:8: ValidatingAdmissionPolicy "p": unknown field "spec.validations[0].mesage"`},
		"a field of another type":          {vap("  validations: [{expression: 'true', message: [a]}]") + bound(denies), `p.yaml:8: ValidatingAdmissionPolicy "p" cannot be read: cannot unmarshal array into Go struct field`},
		"no validations":                   {vap("") + bound(denies), `spec.validations: must have at least one entry`},
		"a reason":                         {vap("  validations: [{expression: 'true', reason: Nope}]") + bound(denies), `p.yaml:8: ValidatingAdmissionPolicy "p": spec.validations[0].reason: "Nope" is not one of Unauthorized, Forbidden, Invalid, RequestEntityTooLarge`},
		"two variables":                    {vap("  variables: [{name: a, expression: '1'}, {name: a, expression: '1'}]\n"+ok) + bound(denies), `spec.variables[1].name: "a" is used twice`},
		"no actions":                       {vap(ok) + bound(""), `ValidatingAdmissionPolicyBinding "b": spec.validationActions: must have at least one of`},
		"deny and warn":                    {vap(ok) + bound("  validationActions: [Deny, Warn]\n"), `must not contain both Deny and Warn`},
		"params without an action":         {vap(ok) + bound(denies+"  paramRef: {name: x}\n"), `p.yaml:17: ValidatingAdmissionPolicyBinding "b": spec.paramRef.parameterNotFoundAction: must be Allow or Deny`},
		"the same name":                    {vap(ok) + "---\n" + vap(ok) + bound(denies), `p.yaml:10: ValidatingAdmissionPolicy "p": already defined at p.yaml:1`},
		"an operation":                     {vap("  matchConditions: []\n"+ok) + bound(denies+"  matchResources: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [WRITE], resources: ['*']}]}\n"), `spec.matchResources.resourceRules[0].operations[0]: "WRITE" is not one of *, CREATE`},
		"the version":                      {`{apiVersion: admissionregistration.k8s.io/v3, kind: ValidatingAdmissionPolicy, metadata: {name: p}}`, `version v3 is not one of v1, v1beta1, v1alpha1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compileText(c.text)
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	set := compile(t, vap("  validations: [{expression: 'true'}]\n"))
	require.Equal(t, `p.yaml:1: ValidatingAdmissionPolicy "p" has no ValidatingAdmissionPolicyBinding in the source, and is not evaluated`, set.Warnings().Error())
	require.Equal(t, 1, set.Policies())
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	explained := snapshot.Explain(t.Context(), creation(t, `{}`), engine.Options{Offline: true})
	require.Len(t, explained, 1)
	require.Equal(t, "binding", explained[0].Condition)

	set = compile(t, vap("  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations: [{expression: 'true'}]\n")+bound(denies+"  paramRef: {name: x, parameterNotFoundAction: Deny}\n"))
	require.Equal(t, `p.yaml:18: ValidatingAdmissionPolicyBinding "b": spec.paramRef.name: the source has no ConfigMap "x"`, set.Warnings().Error())
}

// TestExplanations: the parts that are false, with their values.
func TestExplanations(t *testing.T) {
	t.Parallel()
	for expression, parts := range map[string][]string{
		`object.data.a == "x" && object.data.b > "z"`: {`object.data.b > "z" did not hold [object.data.b = "y"]`},
		`object.data.a == "y" || object.data.b == "x"`: {
			`object.data.a == "y" did not hold [object.data.a = "x"]`, `object.data.b == "x" did not hold [object.data.b = "y"]`,
		},
		`!(object.data.a == "x")`:                     {`object.data.a == "x" held [object.data.a = "x"]`},
		`has(object.data.c)`:                          {`has(object.data.c) did not hold [object.data = {"a":"x","b":"y"}]`},
		`has(object.data.c) ? true : size("a") == 2`:  {`size("a") == 2 did not hold [size("a") = 1]`},
		`["a", "b"].all(k, object.data[k] != "y")`:    {`["a", "b"].all(k, object.data[k] != "y") did not hold [k = "b"]`, `object.data[k] != "y" did not hold [object.data[k] = "y"]`},
		`["a", "b"].exists(k, object.data[k] == "q")`: {`["a", "b"].exists(k, object.data[k] == "q") did not hold []`},
		`variables.both.startsWith("y")`:              {`variables.both.startsWith("y") did not hold [variables.both = "xy"]`},
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(expression)
			require.NoError(t, err)
			set := compile(t, vap("  variables: [{name: both, expression: object.data.a + object.data.b}]\n  validations: [{expression: "+string(text)+"}]\n")+bound(denies))
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
			explained := snapshot.Explain(t.Context(), creation(t, `{"a":"x","b":"y"}`), engine.Options{Offline: true})
			require.Len(t, explained, 1)
			require.Len(t, explained[0].Rules, 1)
			rule := explained[0].Rules[0]
			require.True(t, rule.Gave)
			require.Equal(t, engine.ConditionDidNotHold, rule.Conditions[0].Outcome)
			var found []string
			for _, c := range rule.Conditions[1:] {
				require.Equal(t, 9, c.Location.Line)
				found = append(found, fmt.Sprintf("%s %s %v", c.Text, c.Outcome, c.Values))
			}
			require.Equal(t, parts, found)
		})
	}
}

// TestUndeclaredVariables: messages must not call the authorizer, as in the API server.
func TestUndeclaredVariables(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		`authorizer.group("").resource("pods").check("get").reason()`,
		`authorizer.requestResource.check("get").reason()`,
	} {
		text, err := json.Marshal(message)
		require.NoError(t, err)
		_, err = compileText(vap("  validations: [{expression: 'true', messageExpression: "+string(text)+"}]") + bound(denies))
		require.ErrorContains(t, err, "spec.validations[0].messageExpression: undeclared reference to 'authorizer'")
	}
}
