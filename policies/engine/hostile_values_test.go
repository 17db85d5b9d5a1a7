//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// hostileToValues are hostile policies that make use of how values are compared, found,
// copied, parsed and printed.
var hostileToValues = []hostilePolicy{
	{"a range up to an exponent", `msg := sprintf("%d", [count(numbers.range(1, 1e9))])`, "", "the range would have more than"},
	{"a range between fractions of zero", `msg := sprintf("%d", [count(numbers.range(1.0, 1000000000.0))])`, "", "the range would have more than"},
	{"a range by steps with an exponent", `msg := sprintf("%d", [count(numbers.range_step(0, 1e9, 1e0))])`, "", "the range would have more than"},
	{"a shift by an exponent", `msg := sprintf("%d", [bits.lsh(1, 3e8)])`, "", "a shift by more than"},
	{"a product of exponents", `msg := sprintf("%d", [product([x | some _ in numbers.range(1, 9000); x := 1e999])])`, "", "the product would have more than"},
	{"numbers printed wide without a width", `msg := sprintf(concat("", [x | some _ in numbers.range(1, 40000); x := "%[1]f"]), [1e300])`, "", "verbs up to 320 wide"},
	{"aliases of a long text", `s := concat("", ["a: &a ", substring(input.request.object.text, 0, 100000), "\nb: [", concat(",", [x | some _ in numbers.range(1, 15000); x := "*a"]), "]"]); msg := sprintf("%d", [count(yaml.unmarshal(s))])`, "", "once its aliases are written out"},
	{"aliases of aliases", `msg := sprintf("%d", [count(yaml.unmarshal(laughs))])`, laughs(), "once its aliases are written out"},
	{"a check of aliases of aliases", `yaml.is_valid(laughs); msg := "x"`, laughs(), "once its aliases are written out"},
	{"integers and halves united", `count(integers | halves) > 0; msg := "x"`, halves, "have the same hash"},
	{"integers and halves united as members", `count(union({integers, halves})) > 0; msg := "x"`, halves, "have the same hash"},
	{"what integers and halves share", `count(integers & halves) == 0; msg := "x"`, halves, "have the same hash"},
	{"what members share", `count(intersection({integers, halves})) == 0; msg := "x"`, halves, "have the same hash"},
	{"integers without halves", `count(integers - halves) > 0; msg := "x"`, halves, "have the same hash"},
	{"integers and halves removed", `object.remove({}, array.concat([x | some x in integers], [x | some x in halves])) == {}; msg := "x"`, halves, "have the same hash"},
	{"integers and halves put into a set", `s := {y | some i in numbers.range(1, 40000); some y in [i, i + 0.5]}; count(s) > 0; msg := "x"`, "", "it took "},
	{"keys of an object with consecutive hashes", `o := {k: 1 | some k in input.request.object.alike}; count(object.keys(o)) > 0; msg := "x"`, "", "it took "},
	{"a filter by names with consecutive hashes", `object.filter({}, input.request.object.alike) == {}; msg := "x"`, "", "have the same hash"},
	{"names with one hash from a text", `o := json.unmarshal(sprintf("{%s}", [concat(",", [x | some k in input.request.object.same; x := sprintf("%q:1", [k])])])); msg := sprintf("%d", [count(object.union(o, {"a": 1}))])`, "", "the same hash"},
	{"lists with one hash", `s := {[i, 40000 - i] | some i in numbers.range(1, 40000)}; count(s) > 0; msg := "x"`, "", "it took "},
	{"long lists with one hash", `s := {x | some i in numbers.range(1, 9000); x := [p, i, 9000 - i]}; count(s) > 0; msg := "x"`, "p := numbers.range(1, 400)", "it "},
	{"long lists as keys with one hash", `s := {x: 1 | some i in numbers.range(1, 9000); x := [p, i, 9000 - i]}; count(s) > 0; msg := "x"`, "p := numbers.range(1, 400)", "it "},
	{"a large key looked for again and again", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); keyed[right] == i * j; i < 0; msg := "x"`, sides + "keyed := {left: 1}\n", "it took "},
	{"a large member looked for again and again", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); held[right]; i * j < 0; msg := "x"`, sides + "held := {left, 1}\n", "it took "},
	{"a large key of object.get", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); object.get(keyed, [right], 0) == j * i; i < 0; msg := "x"`, sides + "keyed := {left: 1}\n", "it took "},
	{"a large list beside small ones", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); left == [i, j]; msg := "x"`, sides, "it took "},
	{"a large value among others", `left in [x | some i in numbers.range(1, 1000); x := [i]]; msg := "x"`, sides, "looking for a value"},
	{"a large input copied by with", `big with input.big as {sprintf("%d", [i]): i | some i in numbers.range(1, 20000)}; msg := "x"`, `big if { count([1 | some i in numbers.range(1, 40000); one with input.big.x as i]) > 0 }
one := input.big.x`, "it took "},
	{"data copied by with", `big with data.big as {sprintf("%d", [i]): i | some i in numbers.range(1, 20000)}; msg := "x"`, `big if { count([1 | some i in numbers.range(1, 40000); one with data.big.x as i]) > 0 }
one := data.big.x`, "it took "},
	{"long numbers in order", `count(sort([x | some i in numbers.range(1, 40000); x := i / 7])) > 0; msg := "x"`, "", "it took "},
	{"the largest of long numbers within lists", `count(max([x | some i in numbers.range(1, 20000); x := [i / 7, i / 13]])) > 0; msg := "x"`, "", "it took "},
	{"a set of long numbers", `s := {x | some i in numbers.range(1, 40000); x := i / 7}; some y in s; y < 0; msg := "x"`, "", "it took "},
	{"a set of numbers with exponents", `s := {x | some i in numbers.range(1, 40000); x := to_number(sprintf("1.%de290", [i]))}; some y in s; y < 0; msg := "x"`, "", "it took more than"},
	{"a number for each error", `count([1 | some i in numbers.range(1, 40000); some j in numbers.range(1, 1000); to_number(t)]) == 0; msg := "x"`, `t := substring(input.request.object.text, 0, 900)`, "it "},
	{"letters counted again and again", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); count(input.request.object.text) == i * j; i < 0; msg := "x"`, "", "it took "},
	{"doubling sprintf", `msg := x40`, doubling(`sprintf("%%v%%v", [%[1]s, %[1]s])`), "bytes"},
	{"doubling template strings", `msg := x40`, doubling("$\"{%[1]s}{%[1]s}\""), "bytes"},
	{"doubling regex.replace", `msg := x40`, doubling(`regex.replace(%[1]s, "a", "aa")`), "it took more than"},
	{"doubling strings.replace_n", `msg := x40`, doubling(`strings.replace_n({"a": "aa"}, %[1]s)`), "bytes"},
	{"doubling json.marshal", `msg := x40`, strings.Replace(doubling(`json.marshal(%[1]s)`), `"a"`, `"\"\""`, 1), "bytes"},
	{"growing urlquery.encode", `msg := x40`, strings.Replace(doubling(`urlquery.encode(%[1]s)`), `"a"`, `concat("", ["%" | some _ in numbers.range(1, 40000)])`, 1), "it took more than"},
	{"functions that call the next one twice", `d40(input.request.object.a) > 0; msg := "x"`, forty("d0(x) := count(x)", "d%[1]d(x) := d%[2]d(array.slice(x, 0, 3)) + d%[2]d(array.slice(x, 1, 3))"), "it "},
	{"every in every in every", `every x in input.request.object.a { every y in input.request.object.b { every z in [x] { z != y } } }; msg := "x"`, "", "it took "},
	{"every walk in every walk", `walk(input.request.object, [p, v]); walk(input.request.object, [q, w]); p == q; v != w; msg := "x"`, "", "it took "},
	{"walks to the depth of a text", `walk(json.unmarshal(concat("", [concat("", ["[" | some _ in numbers.range(1, 5000)]), concat("", ["]" | some _ in numbers.range(1, 5000)])])), [p, 1]); msg := sprintf("%v", [p])`, "", "the paths to all values"},
	{"sets of sets", `msg := sprintf("%v", [x40])`, strings.Replace(doubling("{{%[1]s, 1} | some _ in [1]} | {{%[1]s, 2} | some _ in [1]}"), `"a"`, "input.name", 1), " more than"},
	{"objects whose keys are objects", `msg := sprintf("%v", [x40])`, strings.Replace(doubling("{y: i | some i in [1, 2]; y := [i, [x | some _ in [1, 2]; x := %[1]s]]}"), `"a"`, "input.name", 1), "it made values of more than"},
	{"three comprehensions deep", `count([z | some x in input.request.object.a; z := [y | some y in input.request.object.b; w := {v | some v in [x, y]}; count(w) > 2]]) > 0; msg := "x"`, "", "it took "},
	{"many objects united", `o := object.union_n([x | some i in numbers.range(1, 40000); x := {sprintf("%d", [i]): {"a": {"b": {"c": [i, i, i, i]}}}}]); count(o) > 0; msg := "x"`, "", "it took "},
	{"a path of keys again and again", `some i in numbers.range(1, 40000); some j in numbers.range(1, 40000); object.get(input, ["request", "object", "metadata", "name"], "") == i + j; msg := "x"`, "", "it took "},
	{"prefixes by the thousand", `some i in numbers.range(1, 40000); strings.any_prefix_match(input.request.object.a, input.request.object.b); i < 0; msg := "x"`, "", "it took "},
	{"networks merged again and again", `some i in numbers.range(1, 40000); count(net.cidr_merge([x | some j in numbers.range(1, 250); x := sprintf("10.%d.0.0/24", [j])])) == i; i < 0; msg := "x"`, "", "it took "},
	{"a glob of many stars", `some i in numbers.range(1, 40000); glob.match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", [], substring(input.request.object.text, 0, 4000)); i < 0; msg := "x"`, "", "it took "},
	{"globs of many stars against each other", `some i in numbers.range(1, 40000); regex.globs_match("a*b*a*b*a*b*a*b*a*b*a*b*a*b*a*b*a*b*c", "a*b*a*b*a*b*a*b*a*b*a*b*a*b*a*b*a*b*d"); i < 0; msg := "x"`, "", "it took "},
}

// sides are two large lists that are equal, and do not share their parts.
const sides = `left := [x | some i in numbers.range(1, 20000); x := i]
right := [x | some i in numbers.range(1, 20000); x := i + 0]
`

const halves = `integers := {x | some x in numbers.range(1, 9000)}
halves := {x | some i in numbers.range(1, 9000); x := i + 0.5}
`

// laughs is a rule that gives a text of YAML, in which each of ten lists has the one before
// nine times.
func laughs() string {
	text := `a0: &a0 [x, x, x, x, x, x, x, x, x]\n`
	for i := 1; i < 10; i++ {
		name, before := "a"+string(rune('0'+i)), "*a"+string(rune('0'+i-1))
		text += name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat(before+", ", 9), ", ") + `]\n`
	}
	return `laughs := "` + text + `"`
}

// alikeNames are names in groups with equal hashes in OPA; the hashes of the groups are
// consecutive. XXH64 without a seed is invertible for names of sixteen bytes: half of the
// bytes are free, and they determine the other half.
func alikeNames(names, atATime int) []string {
	const prime1, prime2, prime3, prime4, prime5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
	round := func(half uint64) uint64 { return bits.RotateLeft64(half*prime2, 31) * prime1 }
	printable := func(text []byte) bool {
		for _, c := range text {
			if c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
				return false
			}
		}
		return true
	}
	var found []string
	count, name := uint64(0), make([]byte, 16)
	for len(found) < names {
		target := uint64(1<<40) + uint64(len(found)/atATime)
		// the last steps of the hash, backwards
		target ^= target >> 32
		target *= inverse(prime3)
		target ^= target>>29 ^ target>>58
		target *= inverse(prime2)
		target ^= target >> 33
		for count++; ; count++ {
			for i, rest := 0, count; i < 8; i, rest = i+1, rest/26 {
				name[i] = 'a' + byte(rest%26)
			}
			state := bits.RotateLeft64((prime5+16)^round(binary.LittleEndian.Uint64(name)), 27)*prime1 + prime4
			half := bits.RotateLeft64((target-prime4)*inverse(prime1), -27) ^ state
			half = bits.RotateLeft64(half*inverse(prime1), -31) * inverse(prime2)
			if binary.LittleEndian.PutUint64(name[8:], half); printable(name[8:]) {
				break
			}
		}
		found = append(found, string(name))
	}
	return found
}

// inverse is what an odd number is multiplied with to give 1 in 64 bits.
func inverse(odd uint64) uint64 {
	result := odd
	for range 6 {
		result *= 2 - odd*result
	}
	return result
}
