package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// makeOperands are the operands of a call, from Go values or terms.
func makeOperands(values ...any) []*ast.Term {
	operands := make([]*ast.Term, len(values))
	for i, value := range values {
		term, isTerm := value.(*ast.Term)
		if !isTerm {
			term = ast.NewTerm(ast.MustInterfaceToValue(value))
		}
		operands[i] = term
	}
	return operands
}

// makeDoubled is a list that holds a list twice, which holds a list twice, and so on: its
// values are 2^depth, and its memory is that of depth lists.
func makeDoubled(depth int) *ast.Term {
	term := ast.StringTerm("x")
	for range depth {
		term = ast.ArrayTerm(term, term)
	}
	return term
}

// makeIntegers is the list of the integers below n, with the halves between them.
func makeIntegers(n int) *ast.Term {
	var terms []*ast.Term
	for i := range n {
		terms = append(terms, ast.InternedTerm(i), ast.FloatNumberTerm(float64(i)+0.5))
	}
	return ast.ArrayTerm(terms...)
}

// makeKeys is a text of YAML with a mapping of so many keys.
func makeKeys(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "k%d: v\n", i)
	}
	return text.String()
}

// makeFields is an object of so many keys.
func makeFields(n int) map[string]any {
	fields := map[string]any{}
	for i := range n {
		fields[fmt.Sprint("k", i)] = "v"
	}
	return fields
}

// makeNested is a list in a list, so many times.
func makeNested(depth int) *ast.Term {
	term := ast.StringTerm("x")
	for range depth {
		term = ast.ArrayTerm(term)
	}
	return term
}

func TestCallsThatCouldRunLongAreRefused(t *testing.T) {
	long := strings.Repeat("x", MaxStringBytes+1)
	digits := strings.Repeat("9", 600)
	copies := make([]any, 18)
	for i := range copies {
		copies[i] = map[string]any{"op": "copy", "from": "/a", "path": "/b"}
	}
	list := make([]any, MaxElements+1)
	text := strings.Repeat("x", 100_000)
	aliases := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
	for name, c := range map[string]struct {
		function string
		operands []*ast.Term
		want     string // empty where the call is within the limits
	}{
		"a text":                     {"upper", makeOperands("x"), ""},
		"a text that is long":        {"upper", makeOperands(long), "a string has 1048577 bytes"},
		"a list that is long":        {"count", makeOperands(list), "a collection has 50001 elements"},
		"a number that is long":      {"abs", makeOperands(ast.NumberTerm("1e2000")), "a number has an exponent beyond 1000"},
		"values that share parts":    {"json.marshal", makeOperands(makeDoubled(18)), "a value is larger than 200000 values"},
		"few that share parts":       {"json.marshal", makeOperands(makeDoubled(10)), ""},
		"two large values":           {"equal", makeOperands(makeDoubled(23), makeDoubled(23)), "a value to compare is larger than 4194304 values"},
		"a large and a small value":  {"equal", makeOperands(makeDoubled(23), "x"), ""},
		"lists put together":         {"array.concat", makeOperands(list[:30_000], list[:30_000]), "the result would have 60000 elements"},
		"aliases within aliases":     {"yaml.unmarshal", makeOperands(aliases), "a text to parse has more than 100000 values"},
		"aliases":                    {"yaml.unmarshal", makeOperands("a: &a [x]\nb: *a"), ""},
		"a text of brackets":         {"json.unmarshal", makeOperands(strings.Repeat("[", MaxMadeNodes+1)), "a text to parse has 100001 commas and brackets"},
		"a long text of YAML":        {"yaml.unmarshal", makeOperands(strings.Repeat("x", MaxParseBytes+1)), "operand 1 has 262145 bytes; the limit is 262144"},
		"lines of YAML":              {"yaml.unmarshal", makeOperands(strings.Repeat("- a\n", maxYAMLMarks)), "a text of YAML has 40000 lines, commas"},
		"documents of YAML":          {"yaml.is_valid", makeOperands(strings.Repeat("---\n", maxYAMLMarks+1)), "a text of YAML has 20001 lines"},
		"values behind returns":      {"yaml.unmarshal", makeOperands(strings.Repeat("-\r", maxYAMLMarks+1)), "a text of YAML has 20001 lines"},
		"values behind separators":   {"yaml.unmarshal", makeOperands(strings.Repeat("-\u2028", maxYAMLMarks+1)), "a text of YAML has 20001 lines"},
		"documents behind returns":   {"yaml.is_valid", makeOperands(strings.Repeat("---\r", maxYAMLMarks+1)), "a text of YAML has 20001 lines"},
		"lines of Windows":           {"yaml.unmarshal", makeOperands(strings.Repeat("a\r\n", maxYAMLMarks)), ""},
		"keys of one mapping":        {"yaml.unmarshal", makeOperands(makeKeys(2001)), "a mapping of YAML has too many keys"},
		"some keys of one mapping":   {"yaml.unmarshal", makeOperands(makeKeys(2000)), ""},
		"keys of several mappings":   {"yaml.is_valid", makeOperands(strings.Repeat("---\n"+makeKeys(1000), 5)), "a mapping of YAML has too many keys"},
		"a text that nests":          {"yaml.is_valid", makeOperands(strings.Repeat("- ", 5000) + "a"), "a text of YAML nests deeper than 1000"},
		"keys to write as YAML":      {"yaml.marshal", makeOperands(makeFields(2001)), "a mapping of YAML has too many keys"},
		"values to write as YAML":    {"yaml.marshal", makeOperands(list[:12_000]), "a value to write as YAML is larger than 12000 values"},
		"some values as YAML":        {"yaml.marshal", makeOperands(makeFields(2000)), ""},
		"hashes that follow":         {"cast_set", makeOperands(makeIntegers(2_000)), "have the same hash, or hashes that follow each other"},
		"some such hashes":           {"cast_set", makeOperands(makeIntegers(100)), ""},
		"copies of copies":           {"json.patch", makeOperands(map[string]any{"a": list[:10]}, copies), "the copies could make a value of more than 200000 values"},
		"one copy":                   {"json.patch", makeOperands(map[string]any{"a": list[:10]}, copies[:1]), ""},
		"a long range":               {"numbers.range", makeOperands(1, 50_001), "the range would have more than 50000 elements"},
		"a range that fits":          {"numbers.range", makeOperands(1, 50_000), ""},
		"a long range by steps":      {"numbers.range_step", makeOperands(1, 50_001, 2), ""},
		"a product":                  {"product", makeOperands([]any{ast.Number(digits), ast.Number(digits)}), "the product would have more than 1000 digits"},
		"a far shift":                {"bits.lsh", makeOperands(1, 3001), "a shift by more than 3000 bits"},
		"a shift":                    {"bits.lsh", makeOperands(1, 3000), ""},
		"a long pattern":             {"regex.match", makeOperands(strings.Repeat("a", MaxPatternBytes+1), "x"), "a pattern has 4097 bytes"},
		"a pattern that repeats":     {"regex.match", makeOperands("("+text[:30]+"){1000}", "x"), "parts once its repetitions are written out"},
		"a pattern on a long text":   {"regex.match", makeOperands(strings.Repeat("a", 100), text), "a pattern of 100 bytes on a text of 100000 bytes is too much work"},
		"a pattern":                  {"regex.match", makeOperands("a{100}", "x"), ""},
		"replacing that grows":       {"replace", makeOperands(text, "x", strings.Repeat("y", 11)), "the result would have 1200000 bytes"},
		"a wide verb":                {"sprintf", makeOperands("%1000d", []any{1}), "the verb %1000 is wider than 999"},
		"a width from an operand":    {"sprintf", makeOperands("%*d", []any{10, 1}), "a width or precision * is not available"},
		"a verb":                     {"sprintf", makeOperands("%999d", []any{1}), ""},
		"letters off a text":         {"trim", makeOperands(text, text[:1000]), "trimming 1000 letters off 100000 bytes is too much work"},
		"pieces of a text":           {"split", makeOperands(text, "x"), "the result would have 100001 elements"},
		"an exponent of a quantity":  {"units.parse", makeOperands("1e1000"), "has an exponent beyond 999"},
		"networks, each with each":   {"net.cidr_contains_matches", makeOperands(list[:300], list[:300]), "90000 comparisons of networks"},
		"a network's addresses":      {"net.cidr_expand", makeOperands("10.0.0.0/16"), "the network 10.0.0.0/16 has more than 50000 addresses"},
		"a network's addresses, v6":  {"net.cidr_expand", makeOperands("2001:db8::/32"), "has more than 50000 addresses"},
		"a network of some":          {"net.cidr_expand", makeOperands("10.0.0.0/17"), ""},
		"no network":                 {"net.cidr_expand", makeOperands("10.0.0.0"), ""},
		"depth that is indented":     {"yaml.marshal", makeOperands(makeNested(101)), "a value nests deeper than 100"},
		"lists to look for in lists": {"object.subset", makeOperands(list[:3_000], list[:3_000]), "looking for a list of 3000 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			function, known := Function(c.function)
			require.True(t, known)
			_, err := function.Admit(c.operands)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.IsType(t, &LimitError{}, err)
		})
	}
}

func TestResultsAreWithinTheLimits(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		result   *ast.Term
		want     string
	}{
		"a text":              {"upper", ast.StringTerm("X"), ""},
		"no result":           {"internal.print", nil, ""},
		"a text that is long": {"upper", ast.StringTerm(strings.Repeat("x", MaxStringBytes+1)), "a string has 1048577 bytes"},
		"a number of a text":  {"json.unmarshal", ast.ArrayTerm(ast.ObjectTerm(ast.Item(ast.StringTerm("a"), ast.NumberTerm("1e2000")))), "a number has an exponent beyond 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			function, _ := Function(c.function)
			_, err := function.Accept(c.result)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := JSON(makeDoubled(18))
	require.ErrorContains(t, err, "a result is larger than 200000 values")
	_, err = JSON(makeDoubled(10))
	require.NoError(t, err)
}

// TestOnlyNamedFunctionsMayBeCalled: by the compiler as by the evaluator.
func TestOnlyNamedFunctionsMayBeCalled(t *testing.T) {
	for _, builtin := range ast.CapabilitiesForThisVersion().Builtins {
		_, known := Function(builtin.Name)
		reason, refused := unavailable[builtin.Name]
		require.NotEqual(t, Allows(builtin.Name), refused, "%s is available, or refused with a reason", builtin.Name)
		if refused {
			require.False(t, known, builtin.Name)
			require.Equal(t, builtin.Name+" is not available to policies: "+reason, ExplainUndefined("rego_type_error: undefined function "+builtin.Name))
		}
	}
	for name := range unavailable {
		require.NotNil(t, topdown.GetBuiltin(name), "%s is a function of OPA", name)
	}
	require.Equal(t, "rego_type_error: undefined function f", ExplainUndefined("rego_type_error: undefined function f"))
	for _, builtin := range Capabilities().Builtins {
		require.True(t, Allows(builtin.Name), builtin.Name)
	}
	require.Len(t, Capabilities().Builtins, len(allowedBuiltins), "each is a function of OPA")
	require.Equal(t, []string{}, Capabilities().AllowNet, "nil would be every host")
}
