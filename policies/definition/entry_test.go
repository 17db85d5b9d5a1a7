package definition

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// parse is one module of Rego.
func parse(t *testing.T, text string) []*ast.Module {
	t.Helper()
	module, errs := ParseModule("p.rego", text)
	require.Empty(t, errs)
	return []*ast.Module{module}
}

func TestShapesOfEntryPoints(t *testing.T) {
	for name, c := range map[string]struct{ rego, want string }{
		"a set of denials":   {`deny contains "x"`, ""},
		"a set of patches":   {"patch contains {}", ""},
		"an object":          {"defaults.spec.a := 1", ""},
		"a function":         {"deny(x) if x", "deny is a function here"},
		"denials by key":     {"deny[x] := 1 if x := input.a", "deny must be a set of messages"},
		"a part of warn":     {`warn.a := "x"`, "warn must be a set of messages"},
		"a patch":            {"patch := {}", "patch must be a set"},
		"a set of defaults":  {"defaults contains 1", "defaults is a set here"},
		"violations":         {`violation contains {"msg": "x"}`, ""},
		"a violation":        {`violation := "x"`, "violation must be a set of objects"},
		"a reserved name":    {"lintel__x := 1", "rule names that start with lintel__ are reserved"},
		"a rule that is not": {"other(x) := x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			anyEntry := func(rule *ast.Rule) string { return EntryOf(rule) + ViolationOf(rule) }
			_, errs := ReadEntries(parse(t, "package p\n"+c.rego), anyEntry)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.ErrorContains(t, errs, c.want)
			require.Equal(t, 2, errs[0].Line)
		})
	}
}

func TestReservedPackages(t *testing.T) {
	for text, reserved := range map[string]bool{
		"package cluster": true, "package lintel.a": true, "package p.cluster": false, "package clusters": false,
	} {
		require.Equal(t, reserved, len(CheckPackages(parse(t, text))) > 0, text)
	}
}

func TestRulesThatNobodyAsks(t *testing.T) {
	for name, c := range map[string]struct{ rego, want string }{
		"an entry point":      {`deny contains "x"`, ""},
		"nearly one":          {`denny contains "x"`, "the rule denny is never asked, and no other uses it: did you mean deny?"},
		"conftest's":          {`deny_root contains "x"`, "the rule deny_root is never asked, and no other uses it: conftest evaluates every rule of that prefix; name it deny"},
		"conftest's too":      {`violation_root contains {"msg": "x"}`, "name it deny"},
		"conftest's warning":  {`warn_root contains "x"`, "name it warn"},
		"conftest's, used":    {"deny contains x if some x in deny_root\ndeny_root contains \"x\"", ""},
		"no prefix":           {`denying contains "x"`, ""},
		"nearly one, used":    {"deny contains x if some x in denny\ndenny contains \"x\"", ""},
		"a test":              {"test_a if true", "test_a: not run as a test"},
		"a rule of that name": {"test_a if true\ndeny contains \"x\" if test_a", ""},
		"Gatekeeper's form":   {"deny contains \"x\" if input.review.object", "that is Gatekeeper's form"},
		"both forms":          {"deny contains \"x\" if input.review.object\ndeny contains \"y\" if input.request.object", ""},
	} {
		t.Run(name, func(t *testing.T) {
			compiler := ast.NewCompiler()
			compiler.Compile(map[string]*ast.Module{"p.rego": parse(t, "package p\n"+c.rego)[0]})
			require.Empty(t, compiler.Errors)
			found := FindUnused([]*ast.Module{compiler.Modules["p.rego"]})
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Message, c.want)
		})
	}
}
