package kyverno

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// module is the Rego of one rule, while it is written.
type module struct {
	name    string
	helpers []string // whole rules that bodies call
	names   map[string]bool
	defined map[string]string // the names of helpers by their text
	partial map[string]bool   // helpers that may be undefined
}

// helperName returns a name that no other rule of the module has.
func (m *module) helperName(wanted string) string {
	name := wanted
	for i := 2; m.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	m.names[name] = true
	return name
}

var (
	word     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	notWord  = regexp.MustCompile(`[^a-z0-9]+`)
	upperRun = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	keywords = []string{"as", "contains", "default", "else", "every", "false", "if", "import", "in", "not", "null", "package", "some", "true", "with", "input", "data"}
)

// identifier turns a name into an identifier of Rego.
func identifier(name string) string {
	id := strings.Trim(notWord.ReplaceAllString(strings.ToLower(upperRun.ReplaceAllString(name, "${1}_$2")), "_"), "_")
	if id == "" || id[0] >= '0' && id[0] <= '9' || slices.Contains(keywords, id) {
		id = "rule_" + id
	}
	return id
}

// ref appends keys to a reference.
func ref(base string, keys ...string) string {
	for _, key := range keys {
		if word.MatchString(key) && !slices.Contains(keywords, key) {
			base += "." + key
		} else {
			base += "[" + literal(key) + "]"
		}
	}
	return base
}

// literal is a value of JSON as Rego.
func literal(value any) string {
	switch typed := value.(type) {
	case string:
		if strings.ContainsAny(typed, `\"`) && !strings.ContainsAny(typed, "`\n\r\t") {
			return "`" + typed + "`"
		}
	case float64:
		if typed == float64(int64(typed)) {
			return fmt.Sprint(int64(typed))
		}
	}
	text := &strings.Builder{}
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "null"
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// quoted is a text in double quotes.
func quoted(text string) string {
	quotes, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(quotes)
}

// define adds a helper with bodies, and returns its name. Equal helpers are one.
func (m *module) define(wanted, arguments string, bodies ...[]string) string {
	var key strings.Builder
	for _, lines := range bodies {
		key.WriteString(body(arguments, lines))
	}
	if name, ok := m.defined[key.String()]; ok {
		return name
	}
	name := m.helperName(wanted)
	m.defined[key.String()] = name
	for _, lines := range bodies {
		head := name
		if arguments != "" {
			head += "(" + arguments + ")"
		}
		m.helpers = append(m.helpers, body(head, lines))
	}
	return name
}

// body is the text of a rule with a body.
func body(head string, lines []string) string {
	if len(lines) == 0 {
		lines = []string{"true"}
	}
	return head + " if {\n" + indent(lines) + "}\n"
}

func indent(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		for part := range strings.Lines(line) {
			b.WriteString("\t" + strings.TrimSuffix(part, "\n") + "\n")
		}
	}
	return b.String()
}

// every is the statement that all values of a domain meet conditions.
func every(variable, domain string, conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return "every " + variable + " in " + domain + " {\n" + indent(conditions) + "}"
}
