package eval

import (
	"errors"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
)

// partialInput is a Pod with two environment variables, of which secret is the value of one, and
// a list, whose value is in extra.
func partialInput(secret, extra *ast.Term) *ast.Term {
	input := ast.MustParseTerm(`{"name": "web", "labels": {"team": "a"}, "containers": [
		{"name": "a", "image": "x", "env": []},
		{"name": "b", "image": "y", "env": [{"name": "K"}]}]}`)
	env := ast.ObjectTerm(ast.Item(ast.StringTerm("name"), ast.StringTerm("S")), ast.Item(ast.StringTerm("value"), secret))
	containers := input.Value.(ast.Object).Get(ast.StringTerm("containers")).Value.(*ast.Array)
	first := containers.Elem(0).Value.(ast.Object)
	first.Insert(ast.StringTerm("env"), ast.ArrayTerm(env))
	list := ast.ArrayTerm(containers.Elem(0), containers.Elem(1))
	input.Value.(ast.Object).Insert(ast.StringTerm("containers"), list)
	input.Value.(ast.Object).Insert(ast.StringTerm("extra"), extra)
	return input
}

const secretReference = "input.containers[0].env[0].value"

// partialPolicies are bodies of package t, and whether they are decided without the secret and
// the extra value.
var partialPolicies = map[string]struct {
	text    string
	decided bool
}{
	"other field":            {`deny contains input.name`, true},
	"each container":         {`deny contains c.name if some c in input.containers`, true},
	"set of containers":      {"all contains c if some c in input.containers\ndeny contains c.image if some c in all", true},
	"set in a list":          {"all contains c if some c in input.containers\ndeny contains [c.name | some c in all]", false},
	"list per member":        {"all contains c if some c in input.containers\ndeny contains [e.name | some e in c.env] if some c in all", true},
	"set lookup":             {"all contains c if some c in input.containers\ndeny contains 1 if all[input.containers[1]]", true},
	"set lookup of another":  {"all contains c if some c in input.containers\ndeny contains 1 if all[{\"name\": \"c\"}]", true},
	"set lookup of value":    {"all contains e.value if { some c in input.containers; some e in c.env }\ndeny contains 1 if all[\"x\"]", false},
	"presence":               {`deny contains e.name if { some c in input.containers; some e in c.env; e.value }`, false},
	"name of the variable":   {`deny contains e.name if { some c in input.containers; some e in c.env }`, true},
	"equal":                  {`deny contains 1 if input.containers[0].env[0].value == "x"`, false},
	"equal, reached last":    {`deny contains 1 if { input.name == "db"; input.containers[0].env[0].value == "x" }`, true},
	"equal, reached":         {`deny contains 1 if { input.name == "web"; input.containers[0].env[0].value == "x" }`, false},
	"not equal":              {`deny contains 1 if input.containers[0].env[0].value != "x"`, false},
	"same value":             {`deny contains 1 if input.containers[0] == input.containers[0]`, true},
	"known difference":       {`deny contains 1 if input.containers[0] != input.containers[1]`, true},
	"whole list":             {`deny contains 1 if input.containers == []`, true},
	"whole list, equal size": {`deny contains 1 if input.containers == [{"name": "a", "image": "x", "env": [{"name": "S", "value": "x"}]}, {"name": "b", "image": "y", "env": [{"name": "K"}]}]`, false},
	"order":                  {`deny contains 1 if input.containers[0].env[0].value > "a"`, false},
	"order of lists":         {`deny contains 1 if input.containers > []`, false},
	"negated":                {`deny contains 1 if not input.containers[0].env[0].value == "x"`, false},
	"function":               {`deny contains 1 if startswith(input.containers[0].env[0].value, "x")`, false},
	"negated function":       {`deny contains 1 if not startswith(input.containers[0].env[0].value, "x")`, false},
	"function of the whole":  {`deny contains json.marshal(input)`, false},
	"message":                {`deny contains sprintf("%v", [input.containers[0].env[0].value])`, false},
	"message without":        {`deny contains sprintf("%v", [input.containers[0].name])`, true},
	"count of the list":      {`deny contains count(input.containers)`, true},
	"count of the value":     {`deny contains count(input.extra)`, false},
	"each of the value":      {`deny contains x if some x in input.extra`, false},
	"key of the value":       {`deny contains 1 if input.extra.a`, false},
	"is a list":              {`deny contains 1 if is_array(input.extra)`, false},
	"pattern":                {`deny contains x if [x] := input.extra`, false},
	"object pattern":         {`deny contains x if {"a": x} := input.extra`, false},
	"as a key":               {`deny contains 1 if input.labels[input.extra]`, false},
	"as a key of an object":  {`deny contains count({input.extra: 1})`, false},
	"as a member":            {`deny contains count({"x", input.extra})`, false},
	"member and its own":     {`deny contains count({input.extra, input.extra})`, true},
	"as a value":             {`deny contains count({"x": input.extra})`, true},
	"in a list":              {`deny contains count([input.extra, 1])`, true},
	"membership":             {`deny contains 1 if "x" in [input.extra]`, false},
	"reported itself":        {`deny contains input.extra`, false},
	"reported in a detail":   {`deny contains {"msg": "m", "details": input.containers[0]}`, false},
	"complete rule":          {"v := input.extra\ndeny contains 1 if v == 1", false},
	"complete, twice":        {"v := input.extra if input.name\nv := \"x\" if input.labels\ndeny contains count([v])", false},
	"default":                {"default v := \"x\"\nv := input.extra if input.none\ndeny contains v", true},
	"object.get elsewhere":   {`deny contains object.get(input, ["labels", "team"], "")`, true},
	"object.get":             {`deny contains count([object.get(input, "extra", "")])`, true},
	"object.get, read":       {`deny contains 1 if object.get(input, "extra", "") == "x"`, false},
	"object.get below":       {`deny contains 1 if object.get(input, ["extra", "a"], "") == ""`, false},
	"object.keys":            {`deny contains 1 if "extra" in object.keys(input)`, true},
	"object.union":           {`deny contains 1 if count(object.union(input, {"extra": {"a": 1}})) > 1`, false},
	"object.remove":          {`deny contains object.remove(input, ["extra", "containers"])`, true},
	"walk":                   {`deny contains 1 if { walk(input, [p, _]); count(p) > 5 }`, false},
	"with":                   {"v if input.name == \"x\"\ndeny contains 1 if v with input.name as \"x\"", true},
	"with below":             {"v if input.extra.a == \"x\"\ndeny contains 1 if v with input.extra.a as \"x\"", false},
	"with over":              {"v if input.extra == \"x\"\ndeny contains 1 if v with input.extra as \"x\"", true},
	"argument":               {"f(\"x\") := 1\nf(\"y\") := 2\ndeny contains f(input.extra)", false},
	"argument not read":      {"f(_) := 1\ndeny contains f(input.extra)", true},
	"rule by name":           {"r.x := 1\ndeny contains r[input.extra]", false},
	"every":                  {`deny contains 1 if every c in input.containers { c.name }`, true},
	"every, read":            {`deny contains 1 if every c in input.containers { every e in c.env { e.value == "x" } }`, false},
	"comprehension":          {`deny contains count({c.image | some c in input.containers})`, true},
	"set difference":         {`deny contains count({"x"} - {input.extra})`, false},
	"condition alone":        {`deny contains 1 if input.extra`, false},
	"guard":                  {`deny contains 1 if input.extra == "x"`, false},
	"guard below":            {`deny contains 1 if input.extra.a.b == "x"`, false},
}

func TestUnknownValues(t *testing.T) {
	t.Parallel()
	for name, test := range partialPolicies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := partialInput(NewUnknown(secretReference), NewUnknown("input.extra"))
			_, _, err := ask(t, "package t\n"+test.text, Options{Input: input, Gather: true})
			if test.decided {
				require.NoError(t, err)
				return
			}
			var unknown *UnknownError
			require.ErrorAs(t, err, &unknown)
			require.Contains(t, []string{secretReference, "input.extra"}, unknown.Reference)
		})
	}
}

// TestDecidedResultsHoldForEveryValue: a result that is decided without a value is the result for
// each value.
func TestDecidedResultsHoldForEveryValue(t *testing.T) {
	t.Parallel()
	values := []*ast.Term{
		ast.StringTerm("x"), ast.StringTerm("y"), ast.StringTerm(""), ast.NullTerm(), ast.BooleanTerm(false), ast.IntNumberTerm(1),
		ast.MustParseTerm(`{"a": "x"}`), ast.MustParseTerm(`{"a": {"b": "x"}}`), ast.MustParseTerm(`["x"]`), ast.MustParseTerm(`[]`),
	}
	for name, test := range partialPolicies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "package t\n" + test.text
			got, _, err := ask(t, text, Options{Input: partialInput(NewUnknown(secretReference), NewUnknown("input.extra")), Gather: true})
			var unknown *UnknownError
			if errors.As(err, &unknown) {
				return
			}
			require.NoError(t, err)
			for _, secret := range values {
				for _, extra := range values {
					want, report, err := ask(t, text, Options{Input: partialInput(secret, extra), Gather: true})
					require.NoError(t, err)
					require.Empty(t, report.Errors)
					require.Equal(t, want, got, "%v %v", secret, extra)
				}
			}
		})
	}
}
