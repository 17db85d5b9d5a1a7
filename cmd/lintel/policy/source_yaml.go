package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// inlineYAML is a PolicySource with the files inline, each as a block that reads as
// the file does. The libraries for YAML put a file with a tab, or with a space at the
// end of a line, on one line full of escapes; this shape is fixed, so it is written
// here.
func inlineYAML(name, failurePolicy string, partial bool, files map[string]string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: PolicySource\nmetadata:\n  name: %s\nspec:\n  failurePolicy: %s\n",
		v1alpha1.SchemeGroupVersion, yamlName(name), failurePolicy)
	if partial {
		b.WriteString("  partial: true\n")
	}
	b.WriteString("  inline:\n    files:\n")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "      %s: %s\n", yamlKey(path), yamlText(files[path], "        "))
	}
	return []byte(b.String())
}

// yamlName quotes a name that YAML would take for a number, a boolean or null.
func yamlName(name string) string {
	text, err := yaml.Marshal(name)
	if err != nil {
		panic("strings always have YAML: " + err.Error())
	}
	return strings.TrimSuffix(string(text), "\n")
}

// plainKey is a path that is nothing but a string in YAML.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_/-]*\.(rego|yaml|yml|json)$`)

func yamlKey(path string) string {
	if plainKey.MatchString(path) {
		return path
	}
	return yamlQuoted(path)
}

// yamlQuoted is a valid UTF-8 text in double quotes; Go's escapes are among YAML's.
func yamlQuoted(text string) string { return strconv.QuoteToASCII(text) }

// yamlText is a text as a literal block, or quoted where a block cannot hold it.
func yamlText(text, indent string) string {
	if strings.Trim(text, "\n") == "" || strings.ContainsFunc(text, notInBlock) {
		return yamlQuoted(text)
	}
	header := "|"
	if strings.ContainsAny(text[:1], " \t\n") {
		header += "2" // else the indentation is read from the first line
	}
	body := strings.TrimSuffix(text, "\n")
	switch {
	case body == text:
		header += "-"
	case strings.HasSuffix(body, "\n"):
		header += "+"
	}
	var b strings.Builder
	b.WriteString(header)
	for line := range strings.SplitSeq(body, "\n") {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(indent + line)
		}
	}
	return b.String()
}

// notInBlock says that a block would lose a character or end a line at it.
func notInBlock(r rune) bool {
	switch r {
	case '\t', '\n':
		return false
	case '\u0085', '\u2028', '\u2029', '\uFEFF', '\uFFFE', '\uFFFF':
		return true
	}
	return unicode.IsControl(r)
}
