package kyverno

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// placeholder marks a variable inside of an expression: U+0001 around its number in a text or a key,
// and U+0002 in a value of JSON.
var placeholder = regexp.MustCompile("[\x01\x02](\\d+)[\x01\x02]")

// reserved are the characters of placeholders, which expressions must not contain.
var reserved = regexp.MustCompile("[\x01\x02]|(?i:\\\\u000[12])")

func hasPlaceholder(text string) bool { return placeholder.MatchString(text) }

// closing is the index after the }} that closes the {{ at start, or -1.
func closing(text string, start int) int {
	var open []int
	for i := start; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "{{"):
			open = append(open, 2)
			i++
		case text[i] == '{':
			open = append(open, 1)
		case text[i] == '}' && open[len(open)-1] == 1:
			open = open[:len(open)-1]
		case strings.HasPrefix(text[i:], "}}"):
			open = open[:len(open)-1]
			i++
			if len(open) == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// nestedText translates a text in which variables contain variables.
func (e *expressions) nestedText(at field, text string, lenient bool) string {
	var parts []string
	last := 0
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], `\{{`) {
			i += 3
			continue
		}
		if !strings.HasPrefix(text[i:], "{{") {
			i++
			continue
		}
		end := closing(text, i)
		if end < 0 {
			e.add(at, "unterminated {{", "close the variable with }}, or write \\{{ for the text")
			return literal(text)
		}
		source := inside(text[i:end])
		if i == 0 && end == len(text) {
			return e.expression(at, source, lenient)
		}
		if i > last {
			parts = append(parts, literal(strings.ReplaceAll(text[last:i], `\{{`, "{{")))
		}
		parts = append(parts, "kyverno.text("+e.expression(at, source, lenient)+")")
		i, last = end, end
	}
	if last < len(text) {
		parts = append(parts, literal(strings.ReplaceAll(text[last:], `\{{`, "{{")))
	}
	return `concat("", [` + strings.Join(parts, ", ") + "])"
}

// withPlaceholders replaces the variables inside of the literals and keys of an expression. Kyverno
// inserts their text and parses the result, so that a value with quotes becomes a part of the
// expression; the functions quoted and json_value are undefined for these.
func (e *expressions) withPlaceholders(at field, source string) (string, bool) {
	if reserved.MatchString(source) {
		e.add(at, "invalid JMESPath", "the expression contains control characters; remove them")
		return "", false
	}
	if !strings.Contains(source, "{{") {
		return source, true
	}
	var b strings.Builder
	var quote byte
	for i := 0; i < len(source); {
		switch {
		case strings.HasPrefix(source[i:], "{{"):
			end := closing(source, i)
			if end < 0 {
				e.add(at, "unterminated {{", "close the variable with }}, or write \\{{ for the text")
				return "", false
			}
			mark, ok := e.mark(source, i, end, quote)
			if !ok {
				e.add(at, "template in a template", "a user could inject an expression through the inner value; put the inner variable into quotes, or read the field in Rego instead")
				return "", false
			}
			outer := e.source
			e.inner = append(e.inner, e.expression(at, inside(source[i:end]), false))
			e.source = outer
			fmt.Fprintf(&b, mark, len(e.inner)-1)
			i = end
			continue
		case source[i] == '\\' && quote != 0 && i+1 < len(source):
			b.WriteByte(source[i])
			i++
		case quote == 0 && strings.IndexByte("'`\"", source[i]) >= 0:
			quote = source[i]
		case source[i] == quote:
			quote = 0
		}
		b.WriteByte(source[i])
		i++
	}
	return b.String(), true
}

// mark is the format of a placeholder between quotes.
func (e *expressions) mark(source string, start, end int, quote byte) (string, bool) {
	switch {
	case quote == '\'':
		return "\x01%d\x01", true
	case quote == '"':
		return `\u0001%d\u0001`, true
	case quote == '`':
		before, _, _ := strings.Cut(reversedText(source[:start]), "`")
		after, _, _ := strings.Cut(source[end:], "`")
		if strings.TrimSpace(before) == "" && strings.TrimSpace(after) == "" {
			return `"\u0002%d\u0002"`, true
		}
		if strings.Count(before, `"`) == 1 {
			return `\u0001%d\u0001`, true
		}
	}
	return "", false
}

func reversedText(text string) string {
	out := []byte(text)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// literalTerm is the term of a literal of an expression.
func (e *expressions) literalTerm(at field, value any) string {
	if text, ok := value.(string); ok {
		if strings.HasPrefix(text, "\x02") {
			return "kyverno.json_value(" + e.inner[numberOf(text)] + ")"
		}
		return e.spliced(text)
	}
	if text := literal(value); strings.Contains(text, `\u0001`) {
		e.add(at, "template in a template", "a user could inject an expression through the inner value; read the field in Rego instead")
	}
	return literal(value)
}

func numberOf(mark string) int {
	number, err := strconv.Atoi(mark[1 : len(mark)-1])
	if err != nil {
		return 0
	}
	return number
}

// spliced is the term of a text with placeholders.
func (e *expressions) spliced(text string) string {
	if !hasPlaceholder(text) {
		return literal(text)
	}
	var parts []string
	last := 0
	for _, match := range placeholder.FindAllStringIndex(text, -1) {
		if match[0] > last {
			parts = append(parts, literal(text[last:match[0]]))
		}
		parts = append(parts, "kyverno.quoted("+e.inner[numberOf(text[match[0]:match[1]])]+")")
		last = match[1]
	}
	if last < len(text) {
		parts = append(parts, literal(text[last:]))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return `concat("", [` + strings.Join(parts, ", ") + "])"
}

// keyList is the term of a path.
func (e *expressions) keyList(path []string) string {
	parts := make([]string, 0, len(path))
	for _, key := range path {
		parts = append(parts, e.spliced(key))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
