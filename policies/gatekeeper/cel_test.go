package gatekeeper

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// celTemplate is a template in CEL with a schema for the parameter team.
func celTemplate(source string) string {
	return `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: x}
spec:
  crd: {spec: {names: {kind: X}, validation: {openAPIV3Schema: {type: object, properties: {team: {type: string, default: web}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
` + source
}

const teamCode = `        matchCondition: [{name: labelled, expression: 'has(object.metadata.labels) && size(object.metadata.labels) > 0'}]
        variables: [{name: team, expression: '"team" in variables.anyObject.metadata.labels ? variables.anyObject.metadata.labels.team : ""'}]
        validations:
        - expression: 'variables.team == variables.params.team'
          messageExpression: 'variables.team + " is not " + variables.params.team'
`

func celSet(t *testing.T, source, constraint string) *engine.PolicySet {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"f.yaml": celTemplate(source) + "---\n" + makeConstraint("X", "a", constraint)}}, Dialect)
	require.NoError(t, err)
	return set
}

func TestCELTemplates(t *testing.T) {
	t.Parallel()
	set := celSet(t, teamCode, "{match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}, parameters: {}}")
	require.Empty(t, ask(t, set, createPod("n", "p", jsonObject{"team": "web"}), engine.Options{}).Denials, "the default of the schema")
	require.Empty(t, ask(t, set, createPod("n", "p", jsonObject{}), engine.Options{}).Denials, "the match condition")
	denials := ask(t, set, createPod("n", "p", jsonObject{"team": "shop"}), engine.Options{}).Denials
	require.Equal(t, []string{"shop is not web"}, words(denials))
	require.Equal(t, "X/a", denials[0].Policy)
	require.Equal(t, definition.Location{File: "f.yaml", Line: 14}, denials[0].Location)

	set = celSet(t, teamCode, "{enforcementAction: warn, parameters: {team: a}}")
	require.Equal(t, []string{"web is not a"}, words(ask(t, set, createPod("n", "p", jsonObject{"team": "web"}), engine.Options{}).Warnings))
}

// TestCELErrors: an expression that fails denies as an error, unless the code ignores errors.
func TestCELErrors(t *testing.T) {
	t.Parallel()
	const code = "        validations: [{expression: 'object.spec.missing == 1'}]\n"
	denials := ask(t, celSet(t, code, "{}"), createPod("n", "p", nil), engine.Options{}).Denials
	require.Equal(t, []string{"expression 'object.spec.missing == 1' resulted in error: no such key: missing"}, words(denials))
	require.True(t, denials[0].Error)
	require.Empty(t, ask(t, celSet(t, code+"        failurePolicy: Ignore\n", "{}"), createPod("n", "p", nil), engine.Options{}).Denials)
}

func TestCELTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"        validations: [{expression: 'params == null'}]\n":                                                                    "f.yaml:11: spec.targets[0].code[0].source.validations[0].expression: undeclared reference to 'params'",
		"        validations: [{expression: 'authorizer == null'}]\n":                                                                "undeclared reference to 'authorizer'",
		"        validations: [{expression: '1'}]\n":                                                                                 "must evaluate to bool but got int",
		"        validations: [{expression: 'true'}]\n        matchConditions: []\n":                                                 `unknown field "matchConditions"; Gatekeeper names it matchCondition`,
		"        validations: [{expression: 'true'}]\n        failurePolicy: Warn\n":                                                 `f.yaml:12: spec.targets[0].code[0].source.failurePolicy: "Warn" is not one of Fail, Ignore`,
		"        validations: [{expression: 'true'}]\n        variables: [{name: params, expression: '1'}]\n":                        `variables[0].name: "params" is reserved by Gatekeeper`,
		"        validations: [{expression: 'true'}]\n        matchCondition: [{name: gatekeeper_internal_a, expression: 'true'}]\n": `"gatekeeper_internal_a" is reserved by Gatekeeper`,
	} {
		_, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"f.yaml": celTemplate(source)}}, Dialect)
		require.ErrorContains(t, err, want)
	}
	set := celSet(t, "        validations: [{expression: 'true'}]\n        generateVAP: true\n", "{}")
	require.ErrorContains(t, set.Warnings(), "f.yaml:12: spec.targets[0].code[0].source.generateVAP: Lintel generates no ValidatingAdmissionPolicy")
}

// TestExceptionsFromCEL: a PolicyException exempts objects from a constraint in CEL, but not from
// its errors.
func TestExceptionsFromCEL(t *testing.T) {
	t.Parallel()
	now := time.Now()
	one := &exception.Exception{Name: "e", Source: "s", Policy: "X/a", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Expires: now.Add(time.Hour)}
	decide := func(source string) *engine.Decision {
		review, err := admission.NewReview(asJSON(t, createPod("n", "p", jsonObject{"team": "shop"})))
		require.NoError(t, err)
		snapshot := engine.NewSnapshotWithExceptions(admission.BuiltinResources(), []*exception.Exception{one}, celSet(t, source, "{parameters: {}}"))
		return snapshot.Validate(t.Context(), review, engine.Options{})
	}
	decision := decide(teamCode)
	require.Empty(t, decision.Denials)
	require.Equal(t, []string{"shop is not web"}, words(decision.Exempted))
	require.Len(t, decide("        validations: [{expression: 'object.spec.missing == 1'}]\n").Denials, 1)
}
