//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// hostilePolicy is a body for `deny contains msg if`, additional rules, and words from the
// message of the limit that it reaches.
type hostilePolicy struct{ name, body, rules, says string }

// hostile are policies that try to hold or fill the process.
var hostile = []hostilePolicy{
	{"format bits.lsh(1, 3e8)", `msg := sprintf("%d", [bits.lsh(1, 300000000)])`, "", "a shift by more than"},
	{"shift of a shift", `msg := sprintf("%d", [bits.lsh(bits.lsh(bits.lsh(1, 3000), 3000), 3000)])`, "", "a number has more than 1000 digits"},
	{"repeated x*x", `msg := sprintf("%d", [x12])`, squares(), "a number has more than 1000 digits"},
	{"huge exponent", `msg := sprintf("%d", [json.unmarshal("1e9999") + 1])`, "", "a number has an exponent beyond 1000"},
	{"product of many", `msg := sprintf("%d", [product([x | some i in numbers.range(1, 9000); x := i + 1000])])`, "", "the product would have more than"},
	{"marshal nested arrays", `msg := json.marshal(x40)`, nested(), "it made values of more than"},
	{"format nested arrays", `msg := sprintf("%v", [x40])`, nested(), "it made values of more than"},
	{"marshal nested arrays by with", `msg := json.marshal(w40)`, withs("w"), "it made values of more than"},
	{"format nested arrays by with", `msg := sprintf("%v", [w40])`, withs("w"), "it made values of more than"},
	{"nested arrays as details", `msg := {"msg": "x", "details": x40}`, nested(), "it made values of more than"},
	{"compare nested arrays", `x40 != y40; msg := "x"`, pairs(), "it made values of more than"},
	{"unify nested arrays", `x40 == y40; msg := "x"`, nested() + strings.ReplaceAll(nested(), "x", "y"), "it made values of more than"},
	{"a negated comparison of nested arrays", `not x40 == y40; msg := "x"`, pairs(), "it made values of more than"},
	{"nested arrays against a pattern", `[x40, 1] = [y40, 1]; msg := "x"`, pairs(), "it made values of more than"},
	{"nested arrays against objects", `{"a": x40, "b": z} = {"a": y40, "b": 1}; msg := "x"`, pairs(), "it made values of more than"},
	{"nested arrays as arguments", `same(x40, y40); msg := "x"`, pairs() + "same(x, x)\n", "it made values of more than"},
	{"nested arrays from a function", `d40(input.name) == input.request.object.a; msg := "x"`, functions("d"), "it made values of more than"},
	{"nested arrays as members", `{x40, y40}[y40]; msg := "x"`, pairs(), "it made values of more than"},
	{"nested arrays as keys", `{x40: 1}[y40]; msg := "x"`, pairs(), "it made values of more than"},
	{"nested arrays in a rule's set", `rows[[x40, 1]]; msg := "x"`, pairs() + "rows contains [y40, 1]\n", "it made values of more than"},
	{"nested sets of a rule", `s40 == input.request.object.a; msg := "x"`, partials("s"), "it made values of more than"},
	{"nested arrays by with", `w40 == input.request.object.a; msg := "x"`, withs("w"), "it made values of more than"},
	{"nested objects taken apart by a pattern", `{"k": x} = l39; x == input.request.object.a; msg := "x"`, taken(), "it made values of more than"},
	{"nested arrays by a whole input", `w40 == input.request.object.a; msg := "x"`, wholeInputs(), "it made values of more than"},
	{"a negated comparison of collected values", `not l == m; msg := "x"`, "l[i] := input.request.object.a if some i in numbers.range(1, 200)\nm[i] := input.request.object.a if some i in numbers.range(1, 200)\n", "it made values of more than"},
	{"nested arrays by copies", `json.patch({"a": [1]}, [{"op": "copy", "from": "", "path": p} | some i in numbers.range(1, 40); p := sprintf("/%d", [i])]) == {}; msg := "x"`, "", "the copies could make"},
	{"nested array.concat", `c40 == c39; msg := "x"`, concats(), "it took more than"},
	{"nested concat", `msg := x40`, doubling(`concat("", [%[1]s, %[1]s])`), "the result would have"},
	{"doubling replace", `msg := x40`, doubling(`replace(%[1]s, "a", "aa")`), "the result would have"},
	{"doubling array.concat", `msg := sprintf("%d", [count(x40)])`, strings.Replace(doubling("array.concat(%[1]s, %[1]s)"), `"a"`, "[1]", 1), "the result would have"},
	{"regex on megabytes", `regex.match("(a|aa)*b", concat("", [input.request.object.text, input.request.object.text])); msg := "x"`, "", "is too much work"},
	{"regex with nested repetitions", `regex.match("((a{100}){100}){9}", input.request.object.text); msg := "x"`, "", "is too much work"},
	{"numbers.range(0, 1e9)", `msg := sprintf("%d", [count(numbers.range(0, 1000000000))])`, "", "the range would have more than"},
	{"cross join of 20,000 by 20,000", `input.request.object.a[_] == input.request.object.b[_]; msg := "x"`, "", "it took "},
	{"cross join in a comprehension", `count([1 | input.request.object.a[_] == input.request.object.b[_]]) > 0; msg := "x"`, "", "it took "},
	{"cross join in every", `every x in ["q"] { not f(x) }; msg := "x"`, "f(x) if { input.request.object.a[_] == input.request.object.b[_]; x }", "it took "},
	{"numbers.range_step", `msg := sprintf("%d", [count(numbers.range_step(0, 1000000000, 2))])`, "", "the range would have more than"},
	{"two variables in one reference", `nested[_][_] == 5; msg := "x"`, "row := numbers.range(10, 20000)\nnested := [row | some _ in numbers.range(1, 20000)]", "it made values of more than"},
	{"comprehension over a comprehension", `count([y | some x in [z | some z in numbers.range(1, 40000)]; y := [w | some w in numbers.range(1, 40000)]]) > 0; msg := "x"`, "", "it took "},
	{"a 100 MB string in a message", `msg := concat("", [x | some i in numbers.range(1, 100); x := input.request.object.text])`, "", "the result would have"},
	{"many strings of a megabyte", `x := [y | some i in numbers.range(1, 40000); y := concat(sprintf("%d", [i]), [input.request.object.text, ""])]; msg := sprintf("%d", [count(x)])`, "", "it took more than"},
	{"many parsed objects", `x := [y | some i in numbers.range(1, 1000); y := json.unmarshal(json.marshal(input.request.object.a))]; msg := sprintf("%d", [count(x)])`, "", "it took "},
	{"many encoded megabytes", `x := [y | some i in numbers.range(1, 9000); y := base64.encode(input.request.object.text)]; msg := sprintf("%d", [count(x)])`, "", "it took more than"},
	{"many pieces of text", `x := [y | some i in numbers.range(1, 9000); y := split(substring(input.request.object.text, 0, 49000), "")]; msg := sprintf("%d", [count(x)])`, "", "it took "},
	{"calls whose cost misses the clock", `some i in numbers.range(1, 30000); msg := concat("", [sprintf("%d", [i]), substring(input.request.object.text, 0, 300)])`, "", "it took "},
	{"groups by the thousand", `regex.find_all_string_submatch_n(concat("", [x | some _ in numbers.range(1, 1000); x := "()"]), substring(input.request.object.text, 0, 4000), -1); msg := "x"`, "", "is too much work"},
	{"a place for each letter", `indexof_n(input.request.object.text, "a"); msg := "x"`, "", "the result would have"},
	{"indented depths", `s := yaml.marshal(json.unmarshal(concat("", [concat("", ["{\"a\":" | some _ in numbers.range(1, 9000)]), "1", concat("", ["}" | some _ in numbers.range(1, 9000)])]))); msg := s`, "", "nests deeper than"},
	{"a wide verb", `msg := sprintf("%100000000d", [1])`, "", "wider than 999"},
	{"a width from an operand", `msg := sprintf("%*d", [100000000, 1])`, "", "a width or precision *"},
	{"a quantity with an exponent", `units.parse("1e9999999Gi") > 1; msg := "x"`, "", "has an exponent beyond"},
	{"an operand printed again and again", `msg := sprintf(concat("", [x | some i in numbers.range(1, 800); x := "%[1]s"]), [input.request.object.text])`, "", "that may each print all operands"},
	{"many wide verbs", `msg := sprintf(concat("", [x | some i in numbers.range(1, 20000); x := "%999[1]d"]), [1])`, "", "verbs up to 999 wide"},
	{"trimming many letters", `msg := trim(input.request.object.text, input.request.object.text)`, "", "is too much work"},
	{"a list within a list", `object.subset(input.request.object.a, input.request.object.b); msg := "x"`, "", "looking for a list of 20000 elements"},
	{"many patches of a long list", `json.patch(input.request.object.a, [p | some i in numbers.range(1, 4000); p := {"op": "add", "path": "0", "value": 1}]); msg := "x"`, "", "patches of a value of"},
	{"numbers with one hash", `object.remove({}, [x | some i in numbers.range(1, 20000); x := i / 100000]); msg := "x"`, "", "it took "},
	{"paths to deep values", `walk([[[[[[[[[[[[[[[x40]]]]]]]]]]]]]]], [p, "q"]); msg := sprintf("%v", [p])`, forty("x0 := [o.a, o.b, o.a, o.b] if o := input.request.object", "x%[1]d := [x%[2]d]"), "it made values of more than"},
	{"a large pattern on no text", `regex.match(concat("", ["(", substring(input.request.object.text, 0, 3000), "){1000}"]), ""); msg := "x"`, "", "once its repetitions are written out"},
	{"pieces by the million", `count(regex.split("a", input.request.object.text)) > 0; msg := "x"`, "", "is too much work"},
	{"small values to parse", `count(json.unmarshal(concat("", ["[", replace(substring(input.request.object.text, 0, 120000), "a", "1,"), "1]"]))) > 0; msg := "x"`, "", "commas and brackets"},
	{"a key of a million bits", `io.jwt.verify_rs256("e30.e30.e30", sprintf("{\"kty\": \"RSA\", \"e\": \"AQAB\", \"n\": %q}", [substring(input.request.object.text, 0, 160000)])); msg := "x"`, "", "operand 2 has"},
	{"a hundred thousand messages", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); msg := sprintf("%d %d", [i, j])`, "", "it took "},
}

// doubling is forty rules, each of which has the one before twice.
func doubling(format string) string {
	rules := "x0 := \"a\"\n"
	for i := 1; i <= 40; i++ {
		rules += fmt.Sprintf("x%d := %s\n", i, fmt.Sprintf(format, fmt.Sprintf("x%d", i-1)))
	}
	return rules
}

// nested is doubling where no type shows it.
func nested() string {
	return strings.Replace(doubling("[%[1]s | some _ in [1, 2]]"), `"a"`, "input.name", 1)
}

// pairs is two nested values that are equal, and do not share their parts.
func pairs() string { return nested() + strings.ReplaceAll(nested(), "x", "y") }

// forty is rules that each double what the one before gives. %[1]d is the number of a
// rule, %[2]d the one before.
func forty(first, format string) string {
	rules := first + "\n"
	for i := 1; i <= 40; i++ {
		rules += fmt.Sprintf(format+"\n", i, i-1)
	}
	return rules
}

func functions(name string) string {
	return forty(name+"0(x) := [x]", name+"%[1]d(x) := [y | some _ in [1, 2]; y := "+name+"%[2]d(x)]")
}

func partials(name string) string {
	return forty(name+"0 contains input.name", name+"%[1]d contains [x, i] if { some i in [1, 2]; x := "+name+"%[2]d }")
}

func withs(name string) string {
	return forty(name+"0 := input", name+"%[1]d := x if x := "+name+"%[2]d with input.a as input with input.b as input")
}

// taken collects objects by rules, each of a part of the object before.
func taken() string {
	return forty("l0.k[i] := input.name if some i in [1, 2]", `l%[1]d.k[i] := x if { some i in [1, 2]; {"k": x} = l%[2]d }`)
}

func wholeInputs() string {
	return forty("w0 := input", "w%[1]d := y if { x := input; y := w%[2]d with input as [x, x] }")
}

func concats() string {
	return forty("c0 := [input.name]", "c%[1]d := array.concat([c%[2]d], [c%[2]d])")
}

func squares() string {
	rules := "x0 := 1234567890\n"
	for i := 1; i <= 12; i++ {
		rules += fmt.Sprintf("x%d := x%d * x%d\n", i, i-1, i-1)
	}
	return rules
}

// hostileObject is an object of just under a megabyte.
func hostileObject() string {
	list := func(prefix string) string {
		items := make([]string, 20000)
		for i := range items {
			items[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	names := func(names, atATime int) []byte {
		text, err := json.Marshal(alikeNames(names, atATime))
		if err != nil {
			panic(err)
		}
		return text
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"a":%s,"b":%s,"text":%q,"alike":%s,"same":%s}`,
		list("a"), list("b"), strings.Repeat("a", 500_000), names(4000, 2), names(200, 200))
}

// TestHostilePolicies: each ends at a limit, its budget or its deadline and the grace
// period, within 64 MiB, and other policies are still evaluated. With -v it prints a table.
func TestHostilePolicies(t *testing.T) {
	const memoryLimit = 64 << 20
	review := makeReview(t, hostileObject())
	table := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	if testing.Verbose() {
		defer table.Flush()
		fmt.Fprintln(table, "policy\toutcome\ttime\tpeak memory")
	}
	for _, c := range slices.Concat(hostile, hostileToValues) {
		t.Run(c.name, func(t *testing.T) {
			set := compileSource(t, definition.Source{Name: "test", Files: map[string]string{
				"hostile.rego": "package hostile\nimport rego.v1\ndeny contains msg if { " + c.body + " }\n" + c.rules,
				"other.rego":   "package other\ndeny contains \"asked\"",
			}})
			snapshot := snapshotOf(set)
			peak := watchHeap()
			start := time.Now()
			decision := snapshot.Validate(t.Context(), review, Options{})
			took := time.Since(start)
			used := peak()

			ended := func(f Finding) bool {
				return f.Limit != "" && strings.Contains(f.Words, "policy hostile cannot be") && strings.Contains(f.Words, c.says)
			}
			// Rules that continue without the value may add further denials.
			at := slices.IndexFunc(decision.Denials, ended)
			require.GreaterOrEqual(t, at, 0, "%q", wordsOf(decision.Denials))
			outcome := decision.Denials[at].Words
			require.Contains(t, short(decision.Denials), "asked|deny|other.rego:2")
			require.Equal(t, "hostile", snapshot.ReachedLimits(start)[0].Package)
			require.Empty(t, snapshot.ReachedLimits(time.Now()))
			require.Less(t, used, uint64(memoryLimit))
			if testing.Verbose() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%.1f MiB\n", c.name, strings.TrimPrefix(outcome, "policy hostile cannot be evaluated: "),
					took.Round(time.Millisecond), float64(used)/(1<<20))
			}
		})
	}
}

// TestOrdinaryPatterns: consecutive repetitions do not multiply.
func TestOrdinaryPatterns(t *testing.T) {
	set := compile(t, `package p
import rego.v1
label := "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
deny contains "name" if not regex.match(sprintf("^%s(\\.%s)*$", [label, label]), input.request.object.dns)
deny contains "uid" if not regex.match("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", input.request.object.uid)
`)
	review := makeReview(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"dns":%q,"uid":"123e4567-e89b-12d3-a456-426614174000"}`,
		strings.Repeat("abc.", 60)+"example"))
	require.Empty(t, denials(snapshotOf(set).Validate(t.Context(), review, Options{})))
}

// watchHeap samples the heap until the returned function is called, which gives the
// most it grew. Garbage is collected soon: how much there is of it depends on the machine.
func watchHeap() func() uint64 {
	percent := debug.SetGCPercent(20)
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var stats runtime.MemStats
		for {
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		debug.SetGCPercent(percent)
		return most - before
	}
}
