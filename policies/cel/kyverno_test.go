package cel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// vpol writes a ValidatingPolicy about ConfigMaps with more fields of its spec.
func vpol(spec string) string {
	return `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
` + spec
}

func compileKyverno(text string) (*policyset.Set, error) {
	return policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"p.yaml": text}}, cel.KyvernoDialect)
}

// kyvernoDecision decides about a request in the namespace team.
func kyvernoDecision(t *testing.T, text string, review *admission.Review, options engine.Options) *engine.Decision {
	t.Helper()
	set, err := compileKyverno(text)
	require.NoError(t, err)
	options.Namespace, err = engine.ReadNamespace([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","labels":{"tier":"gold"}}}`))
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set).Validate(t.Context(), review, options)
}

// exceptionFor writes a PolicyException for the policy p with more fields of its spec.
func exceptionFor(spec string) string {
	return `
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: kyverno}
spec:
  policyRefs: [{name: p, kind: ValidatingPolicy}]
` + spec
}

func TestKyvernoDecisions(t *testing.T) {
	t.Parallel()
	const false1 = "  validations: [{expression: 'false', message: nope}]"
	for name, c := range map[string]struct {
		text              string
		deny, warn, audit []string
	}{
		"true":                       {text: vpol("  validations: [{expression: 'object.data.a == \"x\"'}]")},
		"denies without actions":     {text: vpol(false1), deny: []string{"8: nope"}},
		"actions":                    {text: vpol("  validationActions: [Warn, Audit]\n" + false1), warn: []string{"9: nope"}, audit: []string{"9: nope"}},
		"the first of them decides":  {text: vpol("  validations:\n  - {expression: 'true'}\n  - {expression: 'false', message: one}\n  - {expression: 'false', message: two}"), deny: []string{"10: one"}},
		"without a message":          {text: vpol("  validations: [{expression: 'object.data.a == \"y\"'}]"), deny: []string{`8: failed expression: object.data.a == "y"`}},
		"messageExpression":          {text: vpol("  variables: [{name: a, expression: object.data.a}]\n  validations: [{expression: 'false', messageExpression: '\"a is \" + string(variables.a)'}]"), deny: []string{"9: a is x"}},
		"an error":                   {text: vpol("  validations: [{expression: 'object.data.missing == \"\"'}]"), deny: []string{"8: no such key: missing"}},
		"a variable that fails":      {text: vpol("  variables: [{name: a, expression: object.data.missing}]\n  validations: [{expression: 'variables.a == \"\"'}]"), deny: []string{"9: no such key: missing"}},
		"an unused variable":         {text: vpol("  variables: [{name: a, expression: object.data.missing}]\n  validations: [{expression: 'true'}]")},
		"a match condition":          {text: vpol("  matchConditions: [{name: c, expression: 'request.operation == \"UPDATE\"'}]\n" + false1)},
		"a condition that fails":     {text: vpol("  matchConditions: [{name: c, expression: 'object.data.missing == \"\"'}]\n" + false1), deny: []string{"8: no such key: missing"}},
		"failurePolicy of condition": {text: vpol("  failurePolicy: Ignore\n  matchConditions: [{name: c, expression: 'object.data.missing == \"\"'}]\n" + false1)},
		"a missing object is empty":  {text: vpol("  validations: [{expression: 'oldObject == {} && request.oldObject == null && request.object.data.a == \"x\"'}]")},
		"namespaceObject":            {text: vpol("  validations: [{expression: 'namespaceObject.metadata.labels.tier == \"gold\"'}]")},
		"an exception":               {text: vpol(false1) + exceptionFor("  matchConditions: [{name: c, expression: 'object.metadata.name == \"c\"'}]")},
		"an exception for others":    {text: vpol(false1) + exceptionFor("  matchConditions: [{name: c, expression: 'object.metadata.name == \"d\"'}]"), deny: []string{"8: nope"}},
		"an exception that fails":    {text: vpol(false1) + exceptionFor("  matchConditions: [{name: c, expression: 'object.data.missing == \"d\"'}]"), deny: []string{"1: a PolicyException cannot be evaluated: no such key: missing"}},
		"allowed values": {
			text: vpol("  validations: [{expression: 'object.data.a in exceptions.allowedValues', message: nope}]") + exceptionFor("  allowedValues: [x]"),
		},
		"no allowed values": {
			text: vpol("  validations: [{expression: 'object.data.a in exceptions.allowedValues', message: nope}]"), deny: []string{"8: nope"},
		},
		"an annotation that fails": {text: vpol("  validations: [{expression: 'true'}]\n  auditAnnotations: [{key: k, valueExpression: 'string(object.data.missing)'}]"), deny: []string{"9: no such key: missing"}},
		"another namespace":        {text: strings.NewReplacer("ValidatingPolicy", "NamespacedValidatingPolicy", "{name: p}", "{name: p, namespace: other}").Replace(vpol(false1))},
		"its namespace":            {text: strings.NewReplacer("ValidatingPolicy", "NamespacedValidatingPolicy", "{name: p}", "{name: p, namespace: team}").Replace(vpol(false1)), deny: []string{"8: nope"}},
		"not for requests":         {text: vpol("  evaluation: {admission: {enabled: false}}\n" + false1)},
		"another version":          {text: strings.ReplaceAll(vpol(false1), "policies.kyverno.io/v1", "policies.kyverno.io/v1alpha1"), deny: []string{"8: nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, offline := range []bool{true, false} {
				decision := kyvernoDecision(t, c.text, creation(t, `{"a":"x"}`), engine.Options{Offline: offline})
				require.Equal(t, c.deny, words(decision.Denials))
				require.Equal(t, c.warn, words(decision.Warnings))
				require.Equal(t, c.audit, words(decision.Audits))
				require.Empty(t, decision.Undecided)
			}
		})
	}
}

func TestKyvernoFunctions(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		`md5("a") == "0cc175b9c0f1b6a831c399e269772661" && hash.md5("a") == md5("a")`,
		`sha1("a") == "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8" && hash.sha256("") == sha256("")`,
		`json.unmarshal('{"a":[1,"b",null]}') == {"a": dyn([dyn(1.0), dyn("b"), dyn(null)])}`,
		`json.marshal({"b": dyn([1]), "a": dyn("<")}) == '{"a":"\\u003c","b":[1]}'`,
		`yaml.parse("a: [1, b]").a[1] == "b"`,
		`image("nginx").registry() == "index.docker.io" && image("nginx").repository() == "library/nginx" && image("nginx").tag() == "latest"`,
		`parseImageReference("ghcr.io/a/b:c@sha256:` + strings.Repeat("a", 64) + `").identifier() == "c@sha256:` + strings.Repeat("a", 64) + `"`,
		`image("localhost:5000/ab@sha256:` + strings.Repeat("a", 64) + `").tag() == "" && image("ab:b").identifierWithSeparator() == ":b"`,
		`isImage("a/b:c") && !isImage("a b") && !image("ab").containsDigest()`,
		`parseServiceAccount("system:serviceaccount:a:b").Name == "b" && user.parseServiceAccount("alice").Namespace == ""`,
		`time.toCron(timestamp("2026-05-01T10:20:30Z")) == "20 10 1 5 5"`,
		`time.truncate(timestamp("2026-05-01T10:20:30Z"), duration("1h")) == timestamp("2026-05-01T10:00:00Z")`,
		`math.round(1.25, 1) == 1.3 && math.greatest(1, 2) == 2`,
		`gzip.decompress(gzip.compress("abc")) == "abc"`,
		`transform.listObjToMap([{"k": "a"}], [{"v": "b"}], "k", "v") == {"a": "b"}`,
		`object.data.a.orValue("") == "x" && object.?data.?b.orValue("y") == "y"`,
		`cel.bind(image, object.data.a, image == "x")`,
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			text := vpol("  validations:\n  - expression: |\n      " + expression)
			decision := kyvernoDecision(t, text, creation(t, `{"a":"x"}`), engine.Options{})
			require.Empty(t, words(decision.Denials))
		})
	}
}

func TestKyvernoErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, message string }{
		"an unknown field":         {vpol("  validations: [{expression: 'true', hint: x}]"), `p.yaml:8: ValidatingPolicy "p": unknown field "spec.validations[0].hint"`},
		"no validations":           {vpol(""), `ValidatingPolicy "p": spec.validations: must have at least one entry`},
		"an unknown function":      {vpol("  validations: [{expression: 'frobnicate(object)'}]"), `p.yaml:8: ValidatingPolicy "p": spec.validations[0].expression: undeclared reference to 'frobnicate'`},
		"a wrong type":             {vpol("  validations: [{expression: '1'}]"), `p.yaml:8: ValidatingPolicy "p": spec.validations[0].expression: must evaluate to bool but got int`},
		"a wrong type of field":    {vpol("  validations: {expression: '1'}"), `p.yaml:8: ValidatingPolicy "p" cannot be read`},
		"a dynamic type":           {vpol("  validations: [{expression: 'object.data.a'}]"), "must evaluate to bool but got dyn"},
		"recursion":                {vpol("  variables: [{name: a, expression: variables.a}]\n  validations: [{expression: 'true'}]"), "p.yaml:8: ValidatingPolicy \"p\": spec.variables[0].expression: undefined field 'a'"},
		"a later variable":         {vpol("  variables: [{name: a, expression: variables.b}, {name: b, expression: '1'}]\n  validations: [{expression: 'true'}]"), "undefined field 'b'"},
		"a variable twice":         {vpol("  variables: [{name: a, expression: '1'}, {name: a, expression: variables.a}]\n  validations: [{expression: 'true'}]"), `spec.variables[1].name: "a" is used twice`},
		"a variable in conditions": {vpol("  matchConditions: [{name: c, expression: variables.a}]\n  variables: [{name: a, expression: 'true'}]\n  validations: [{expression: 'true'}]"), "undefined field 'a'"},
		"resource": {
			vpol("  validations:\n  - expression: |\n      true &&\n      resource.Get('v1', 'configmaps', 'a', 'b').data.a == 'b'"),
			`p.yaml:11: ValidatingPolicy "p": spec.validations[0].expression: resource.Get is not supported: it reads or writes objects of the cluster`,
		},
		"globalContext":         {vpol("  variables: [{name: a, expression: 'globalContext.Get(\"a\", \"\")'}]\n  validations: [{expression: 'true'}]"), "globalContext.Get is not supported"},
		"http":                  {vpol("  variables: [{name: a, expression: 'http.Get(\"a\")'}]\n  validations: [{expression: 'true'}]"), "http.Get is not supported"},
		"image data":            {vpol("  variables: [{name: a, expression: 'image.GetMetadata(\"a\")'}]\n  validations: [{expression: 'true'}]"), "image.GetMetadata is not supported"},
		"the clock":             {vpol("  validations: [{expression: 'time.now() > timestamp(\"2026-05-01T10:20:30Z\")'}]"), "time.now is not supported: its result changes with the clock"},
		"random":                {vpol("  validations: [{expression: 'random(\"[a-z]\") == \"a\"'}]"), "random is not supported"},
		"mode JSON":             {vpol("  evaluation: {mode: JSON}\n  validations: [{expression: 'true'}]"), `spec.evaluation.mode: "JSON" is not supported`},
		"never evaluated":       {vpol("  evaluation: {admission: {enabled: false}, background: {enabled: false}}\n  validations: [{expression: 'true'}]"), "never evaluated"},
		"an unknown action":     {vpol("  validationActions: [Block]\n  validations: [{expression: 'true'}]"), `spec.validationActions[0]: "Block" is not one of Deny, Warn, Audit`},
		"an unknown controller": {vpol("  autogen: {podControllers: {controllers: [Deployment]}}\n  validations: [{expression: 'true'}]"), `"Deployment" is not one of cronjobs, daemonsets,`},
		"a mutating policy":     {strings.ReplaceAll(vpol(""), "ValidatingPolicy", "MutatingPolicy"), `p.yaml:1: MutatingPolicy "p" of Kyverno is not supported: write patch in Rego`},
		"of a namespace":        {strings.ReplaceAll(vpol(""), "ValidatingPolicy", "NamespacedImageValidatingPolicy"), `NamespacedImageValidatingPolicy "p" of Kyverno is not supported: signatures`},
		"an unknown kind":       {strings.ReplaceAll(vpol(""), "ValidatingPolicy", "Foo"), `Foo "p" of Kyverno is not supported: the supported kinds are`},
		"an unknown version":    {strings.ReplaceAll(vpol(""), "kyverno.io/v1", "kyverno.io/v2"), `version v2 is not one of v1, v1beta1, v1alpha1`},
		"no namespace":          {strings.ReplaceAll(vpol("  validations: [{expression: 'true'}]"), "ValidatingPolicy", "NamespacedValidatingPolicy"), `metadata.namespace: is empty`},
		"an exception that expires": {
			vpol("  validations: [{expression: 'true'}]") + exceptionFor("  expiresAt: '2026-05-01T10:20:30Z'"), `PolicyException "e": spec.expiresAt: is not supported`,
		},
		"a condition of an exception": {
			vpol("  variables: [{name: a, expression: 'true'}]\n  validations: [{expression: 'true'}]") + exceptionFor("  matchConditions: [{name: c, expression: variables.a}]"), `PolicyException "e": spec.matchConditions[0].expression: undefined field 'a'`,
		},
		"twice": {vpol("  validations: [{expression: 'true'}]") + "\n---\n" + vpol("  validations: [{expression: 'true'}]"), "already defined at p.yaml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compileKyverno(c.text)
			require.ErrorContains(t, err, c.message)
		})
	}
}

func TestKyvernoCostIsLimited(t *testing.T) {
	t.Parallel()
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 400), ",") + "]"
	for name, expression := range map[string]string{
		"one expression":   fmt.Sprintf("%s.all(a, %s.all(b, %s.all(c, a + b + c > 0)))", list, list, list),
		"a function":       `[1,2,3,4,5,6,7,8,9,10].all(a, sha256(object.data.a) != "")`,
		"many expressions": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := "  validations:\n"
			if expression == "" {
				for range 40 {
					spec += fmt.Sprintf("  - expression: '%s.all(a, %s.all(b, a + b > 0))'\n", list, list)
				}
			} else {
				spec += fmt.Sprintf("  - expression: '%s'\n", expression)
			}
			decision := kyvernoDecision(t, vpol(spec), creation(t, fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 200_000))), engine.Options{})
			require.Len(t, decision.Denials, 1)
			require.True(t, decision.Denials[0].Error)
			require.Equal(t, "steps", decision.Denials[0].Limit)
		})
	}
}

// TestKyvernoPodTemplates evaluates a policy about Pods for workloads.
func TestKyvernoPodTemplates(t *testing.T) {
	t.Parallel()
	const spec = `  validations:
  - expression: object.spec.containers.all(c, c.image != "bad")
    messageExpression: '"in " + object.metadata.namespace + " as " + string(object.metadata.labels.a)'
`
	pods := func(more string) string {
		return strings.Replace(vpol(spec+more), "[configmaps]", "[pods]", 1)
	}
	template := `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"bad"}]}}`
	review := func(group, kind, resource, object string) *admission.Review {
		review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"u","kind":{"group":%q,"version":"v1","kind":%q},"resource":{"group":%q,"version":"v1","resource":%q},
			"name":"c","namespace":"team","operation":"CREATE","userInfo":{"username":"alice"},"object":%s}`, group, kind, group, resource, object))
		require.NoError(t, err)
		return review
	}
	metadata := `"metadata":{"name":"c","namespace":"team","labels":{"a":"own"}}`
	for name, c := range map[string]struct {
		text   string
		review *admission.Review
		words  string
	}{
		"a Pod":               {pods(""), review("", "Pod", "pods", `{`+metadata+`,"spec":{"containers":[{"image":"bad"}]}}`), "in team as own"},
		"a Deployment":        {pods(""), review("apps", "Deployment", "deployments", `{`+metadata+`,"spec":{"template":`+template+`}}`), "in team as b"},
		"a CronJob":           {pods(""), review("batch", "CronJob", "cronjobs", `{`+metadata+`,"spec":{"jobTemplate":{"spec":{"template":`+template+`}}}}`), "in team as b"},
		"no controllers":      {pods("  autogen: {podControllers: {controllers: []}}"), review("apps", "Deployment", "deployments", `{`+metadata+`,"spec":{"template":`+template+`}}`), ""},
		"other controllers":   {pods("  autogen: {podControllers: {controllers: [jobs]}}"), review("apps", "Deployment", "deployments", `{`+metadata+`,"spec":{"template":`+template+`}}`), ""},
		"an objectSelector":   {strings.Replace(pods(""), "    resourceRules", "    objectSelector: {matchLabels: {a: own}}\n    resourceRules", 1), review("apps", "Deployment", "deployments", `{`+metadata+`,"spec":{"template":`+template+`}}`), ""},
		"another objectField": {pods(""), review("", "ConfigMap", "configmaps", `{`+metadata+`}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := kyvernoDecision(t, c.text, c.review, engine.Options{})
			var all []string
			for _, d := range decision.Denials {
				all = append(all, d.Words)
			}
			require.Equal(t, c.words, strings.Join(all, "\n"))
		})
	}
}

func TestKyvernoRegistersWhatItMatches(t *testing.T) {
	t.Parallel()
	set, err := compileKyverno(strings.Replace(vpol("  validations: [{expression: 'true'}]"), "[configmaps]", "[pods]", 1))
	require.NoError(t, err)
	info := engine.Describe(set)[0]
	kinds := map[string]bool{}
	for _, kind := range info.Match.Kinds {
		kinds[kind.Kind] = true
	}
	require.Equal(t, []string{"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"}, slices.Sorted(maps.Keys(kinds)))
	require.Equal(t, []string{"CREATE", "UPDATE"}, info.Match.Operations)
	require.Equal(t, "ValidatingPolicy/p", info.Package)
	require.True(t, info.Validates)
}

func TestKyvernoForStoredObjects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, path string }{
		"by default":         {"  validations: [{expression: 'true'}]", ""},
		"no background":      {"  evaluation: {background: {enabled: false}}\n  validations: [{expression: 'true'}]", "p.yaml:8: spec.evaluation.background.enabled"},
		"a user":             {"  validations: [{expression: 'request.userInfo.username == \"a\"'}]", "p.yaml:8: request.userInfo"},
		"a user in messages": {"  validations: [{expression: 'true', messageExpression: 'request.userInfo.username'}]", "p.yaml:8: request.userInfo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := compileKyverno(vpol(c.spec))
			require.NoError(t, err)
			var paths []string
			for _, one := range engine.Describe(set)[0].NotAuditable {
				paths = append(paths, one.String())
			}
			require.Equal(t, c.path, strings.Join(paths, ""))
		})
	}
}

func TestKyvernoNotes(t *testing.T) {
	t.Parallel()
	set, err := compileKyverno(vpol("  webhookConfiguration: {timeoutSeconds: 5}\n  autogen: {validatingAdmissionPolicy: {enabled: true}}\n  validations: [{expression: 'true'}]") +
		strings.Replace(exceptionFor(""), "name: p,", "name: q,", 1))
	require.NoError(t, err)
	var all []string
	for _, warning := range set.Warnings() {
		all = append(all, warning.Error())
	}
	require.Equal(t, []string{
		`p.yaml:8: ValidatingPolicy "p": spec.webhookConfiguration: has no effect: Lintel registers webhooks with its own timeout`,
		`p.yaml:9: ValidatingPolicy "p": spec.autogen.validatingAdmissionPolicy: has no effect: Lintel evaluates the policy itself`,
		`p.yaml:16: PolicyException "e": spec.policyRefs[0]: the source has no ValidatingPolicy "q"`,
	}, all)
}
