package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// operators are the functions of the library by the lower-case name of an operator.
var operators = map[string]string{
	"equal": "equals", "equals": "equals", "notequal": "not_equals", "notequals": "not_equals",
	"in": "any_in", "anyin": "any_in", "allin": "all_in", "notin": "all_not_in", "anynotin": "any_not_in", "allnotin": "all_not_in",
	"greaterthan": "greater_than", "greaterthanorequals": "greater_than_or_equals",
	"lessthan": "less_than", "lessthanorequals": "less_than_or_equals",
	"durationgreaterthan": "duration_greater_than", "durationgreaterthanorequals": "duration_greater_than_or_equals",
	"durationlessthan": "duration_less_than", "durationlessthanorequals": "duration_less_than_or_equals",
}

// test is one condition: its statement, and the values that must not be missing.
type test struct {
	statement string
	// required are terms that are undefined where Kyverno reports an error.
	required, sources []string
	message           field
}

// blocks are the conditions of preconditions or deny.
type blocks struct{ all, any []test }

// conditionBlocks reads conditions: a map of any and all, a list of such maps, or a list of
// conditions, all of which must hold.
func (e *expressions) conditionBlocks(f field) (out []blocks) {
	if f.isList() {
		var plainTests []test
		for _, item := range f.items() {
			if item.get("any").exists() || item.get("all").exists() {
				out = append(out, e.anyAll(item))
			} else {
				plainTests = append(plainTests, e.test(item))
			}
		}
		if len(plainTests) > 0 {
			out = append(out, blocks{all: plainTests})
		}
		return out
	}
	return []blocks{e.anyAll(f)}
}

func (e *expressions) anyAll(f field) (out blocks) {
	e.onlyKeys(f, "any", "all")
	for _, item := range f.get("any").items() {
		out.any = append(out.any, e.test(item))
	}
	for _, item := range f.get("all").items() {
		out.all = append(out.all, e.test(item))
	}
	return out
}

// test translates one condition.
func (e *expressions) test(f field) test {
	e.onlyKeys(f, "key", "operator", "value", "message")
	name := strings.ToLower(f.get("operator").text())
	function, ok := operators[name]
	if !ok {
		e.add(f.get("operator"), "operator "+f.get("operator").text(), "use one of Kyverno's operators")
		return test{statement: "false"}
	}
	key, value := f.get("key").value(), f.get("value").value()
	if name == "in" || name == "notin" {
		e.deprecated(f, name)
	}
	left, right := e.template(f.get("key"), key, false), e.template(f.get("value"), value, false)
	out := test{message: f.get("message")}
	for _, side := range []struct {
		value any
		term  string
	}{{key, left}, {value, right}} {
		if hasVariable(side.value) && e.mayBeMissing(side.term) {
			out.required = append(out.required, side.term)
			out.sources = append(out.sources, strings.Join(strings.Fields(fmt.Sprint(side.value)), " "))
		}
	}
	if text, ok := value.(string); ok && left == "input.request.operation" && !hasVariable(value) && !strings.ContainsAny(text, "*?") {
		switch function {
		case "equals":
			out.statement = left + " == " + right
			return out
		case "not_equals":
			out.statement = left + " != " + right
			return out
		}
	}
	out.statement = "kyverno." + function + "(" + left + ", " + right + ")"
	return out
}

// deprecated refuses In and NotIn where they differ from their successors.
func (e *expressions) deprecated(f field, name string) {
	if key, ok := f.get("key").value().(string); ok && !strings.Contains(key, "[") {
		return
	}
	if name == "notin" {
		e.add(f.get("operator"), "operator NotIn with a list", "use AnyNotIn or AllNotIn")
		return
	}
	e.add(f.get("operator"), "operator In with a list", "use AnyIn or AllIn")
}

// partial finds terms that may be undefined: references, and functions that ignore some types.
var partial = regexp.MustCompile(`^(input|reviewed|pod|element\d*)\b[.\[]|kyverno\.(field|length|keys|values|has|number|matches_expression|parts|upper_case|lower_case|sorted|joined|starts_with|ends_with|replaced|trimmed|largest|smallest|total|base64_\w+|reversed|first_value|replaced_expression|quoted|json_value|images|divided|parsed_\w+|label_match|merged)\(|\bdata\.cluster\b`)

// mayBeMissing reports whether a term may be undefined.
func (e *expressions) mayBeMissing(term string) bool {
	if term == "input.request.operation" {
		return false
	}
	for name := range e.module.partial {
		if mentions(term, name) {
			return true
		}
	}
	return partial.MatchString(term)
}

// missing is a condition under which an expression has no value.
type missing struct {
	lines  []string
	source string
}

// missing are the conditions under which Kyverno reports an error: a term is missing, and the
// conditions before it did not decide.
func (b blocks) missing() (out []missing) {
	var before []string
	note := func(one test) {
		for i, term := range one.required {
			out = append(out, missing{append(slices.Clone(before), "kyverno.missing([value | value := "+term+"])"), one.sources[i]})
		}
	}
	for _, one := range b.any {
		note(one)
		before = append(before, "not "+one.statement)
	}
	before = nil
	for _, one := range b.all {
		note(one)
		before = append(before, one.statement)
	}
	return out
}

// statements are the lines that hold if the conditions do.
func (e *expressions) statements(b blocks, name string) (out []string) {
	if len(b.any) == 1 {
		out = append(out, b.any[0].statement)
	} else if len(b.any) > 1 {
		head := e.module.helperName(name)
		if arguments := e.arguments(b.any); len(arguments) > 0 {
			head += "(" + strings.Join(arguments, ", ") + ")"
		}
		for _, one := range b.any {
			e.module.helpers = append(e.module.helpers, body(head, []string{one.statement}))
		}
		out = append(out, head)
	}
	for _, one := range b.all {
		out = append(out, one.statement)
	}
	return out
}

// arguments are the variables of the loops around that tests use.
func (e *expressions) arguments(tests []test) (out []string) {
	var lines []string
	for _, one := range tests {
		lines = append(lines, one.statement)
	}
	return e.mentioned(lines)
}

// mentions reports whether a text of Rego uses a variable.
func mentions(text, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(text)
}
