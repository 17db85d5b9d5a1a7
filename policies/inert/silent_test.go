package inert_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

// An operand below not that is undefined on CREATE keeps the rule from firing there.
func TestRulesThatAreSilentOnCreate(t *testing.T) {
	t.Parallel()
	const (
		loop    = "deny contains \"x\" if {\n\tsome address in input.request.object.spec.externalIPs\n"
		onlyNew = `kinds: [{group: "", kind: Pod}], operations: [CREATE]`
	)
	for name, c := range map[string]struct{ match, rego, want string }{
		"a member":           {pods, loop + "\tnot address in input.request.oldObject.spec.externalIPs\n}", `p.rego:8:17: input.request.oldObject.spec.externalIPs is undefined on CREATE`},
		"the remedy":         {pods, loop + "\tnot address in input.request.oldObject.spec.externalIPs\n}", `object.get(input.request, ["oldObject", "spec", "externalIPs"], <value on CREATE>)`},
		"a field as member":  {pods, `deny contains "x" if not input.request.object.spec.class in input.request.oldObject.spec.classes`, "p.rego:6:"},
		"a builtin":          {pods, `deny contains "x" if not startswith(input.request.oldObject.metadata.name, "a")`, "p.rego:6:"},
		"two builtins":       {pods, `deny contains "x" if not startswith(lower(input.request.oldObject.metadata.name), "a")`, "p.rego:6:"},
		"a function":         {pods, "fine(spec) if spec.fine\ndeny contains \"x\" if not fine(input.request.oldObject.spec)", "p.rego:7:"},
		"a rule for the old": {pods, "old := input.request.oldObject.spec\ndeny contains \"x\" if not \"a\" in old.names", "p.rego:6:"},
		"in a helper":        {pods, "foreign(a) if not a in input.request.oldObject.spec.names\ndeny contains \"x\" if foreign(\"a\")", "p.rego:6:"},
		"in another file":    {pods, "deny contains \"x\" if data.lib.foreign", "(lib.rego:2)"},
		"for all operations": {pods + ", operations: [CREATE, UPDATE, DELETE]", `deny contains "x" if not "a" in input.request.oldObject.spec.names`, "p.rego:6:"},

		"only CREATE":            {onlyNew, `deny contains "x" if not "a" in input.request.oldObject.spec.names`, "the rule is evaluated for CREATE only"},
		"not CREATE":             {pods + ", operations: [UPDATE]", `deny contains "x" if not "a" in input.request.oldObject.spec.names`, ""},
		"for UPDATE":             {pods, "deny contains \"x\" if {\n\tinput.request.operation == \"UPDATE\"\n\tnot \"a\" in input.request.oldObject.spec.names\n}", ""},
		"for an old object":      {pods, "deny contains \"x\" if {\n\tinput.request.oldObject != null\n\tnot \"a\" in input.request.oldObject.spec.names\n}", ""},
		"the old one is read":    {pods, "deny contains \"x\" if {\n\tinput.request.oldObject.spec.names\n\tnot \"a\" in input.request.oldObject.spec.names\n}", ""},
		"an old variable":        {pods, "deny contains \"x\" if {\n\told := input.request.oldObject.spec\n\tnot \"a\" in old.names\n}", ""},
		"a change":               {pods, `deny contains "x" if not input.request.object.spec == input.request.oldObject.spec`, ""},
		"a change of a name":     {pods, `deny contains "x" if not startswith(input.request.object.spec.x, input.request.oldObject.spec.x)`, ""},
		"a change in a function": {pods, "same(a, b) if a == b\ndeny contains \"x\" if not same(input.request.object.spec, input.request.oldObject.spec)", ""},
		"a constant":             {pods, `deny contains "x" if not input.request.oldObject.metadata.labels.frozen == "true"`, ""},
		"without a call":         {pods, `deny contains "x" if not input.request.oldObject.spec.names`, ""},
		"a helper about the old": {pods, "had(a) if a in input.request.oldObject.spec.names\ndeny contains \"x\" if not had(\"a\")", ""},
		"object.get":             {pods, `deny contains "x" if not "a" in object.get(input.request, ["oldObject", "spec", "names"], [])`, ""},
		"a message":              {pods, "deny contains sprintf(\"was %v\", [input.request.oldObject.spec.names]) if not \"a\" in input.request.oldObject.spec.names", ""},
		"an alternative":         {pods, "foreign if not \"a\" in input.request.oldObject.spec.names\nforeign if input.request.object.spec.foreign\ndeny contains \"x\" if foreign", ""},
		"the new object":         {pods, `deny contains "x" if not "a" in input.request.object.spec.names`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := compiled(t, c.match, c.rego, map[string]string{"lib.rego": "package lib\nforeign if not \"a\" in input.request.oldObject.spec.names"}).Inert(admission.BuiltinResources())
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Error(), c.want)
		})
	}
}
