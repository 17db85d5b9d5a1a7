package kyverno

import (
	"encoding/json"
	"regexp"
	"strings"
)

// variable finds the innermost {{ }} of a text, as Kyverno does: a backslash before it escapes it.
var variable = regexp.MustCompile(`(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})`)

// reference finds $( ), which copies another field of the rule.
var reference = regexp.MustCompile(`(^|[^\\])\$\(.[^ ]*\)`)

// hasVariable reports whether a value contains a variable.
func hasVariable(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && variable.Match(text)
}

// template translates a value in which texts may have variables.
func (e *expressions) template(at field, value any, lenient bool) string {
	switch typed := value.(type) {
	case string:
		return e.text(at, typed, lenient)
	case []any:
		if !hasVariable(typed) {
			return literal(typed)
		}
		var parts []string
		for _, one := range typed {
			parts = append(parts, e.template(at, one, lenient))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if !hasVariable(typed) {
			return literal(typed)
		}
		var parts []string
		for _, key := range sortedKeys(typed) {
			if hasVariable(key) {
				e.add(at, "variable in a key", "write the rule in Rego")
			}
			parts = append(parts, literal(key)+": "+e.template(at, typed[key], lenient))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return literal(value)
}

// text translates a text with variables. A text that is one variable keeps the type of its value.
func (e *expressions) text(at field, text string, lenient bool) string {
	if reference.MatchString(text) {
		e.add(at, "reference $( )", "repeat the value, or write the rule in Rego")
		return literal(text)
	}
	found := variable.FindAllStringSubmatchIndex(text, -1)
	if rest := variable.ReplaceAllString(text, "$1"); strings.Contains(strings.ReplaceAll(rest, `\{{`, ""), "{{") {
		return e.nestedText(at, text, lenient)
	}
	if len(found) == 0 {
		return literal(strings.ReplaceAll(text, `\{{`, "{{"))
	}
	if first := found[0]; len(found) == 1 && first[4] == 0 && first[5] == len(text) {
		return e.expression(at, inside(text), lenient)
	}
	var parts []string
	last := 0
	for _, match := range found {
		if start := match[4]; start > last {
			parts = append(parts, literal(strings.ReplaceAll(text[last:start], `\{{`, "{{")))
		}
		parts = append(parts, "kyverno.text("+e.expression(at, inside(text[match[4]:match[5]]), lenient)+")")
		last = match[5]
	}
	if last < len(text) {
		parts = append(parts, literal(text[last:]))
	}
	return `concat("", [` + strings.Join(parts, ", ") + "])"
}

// inside is the expression of a variable.
func inside(variable string) string {
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(variable, "{{"), "}}"))
	return strings.TrimSpace(strings.TrimPrefix(text, "-"))
}
