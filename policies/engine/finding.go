package engine

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// Limits of what the API server passes on to the user.
const (
	// MaxWarningBytes is the length to which a single warning is cut.
	MaxWarningBytes = 256
	// MaxResponseWarningBytes is the length of all warnings of one response together.
	MaxResponseWarningBytes = 4096
	// MaxFindings is how many denials, and how many warnings, one policy may have about
	// an object; the rest is counted.
	MaxFindings = 100
	// MaxWordsBytes is the length to which a policy's own words in a denial are cut.
	MaxWordsBytes = 1024
)

// Finding is one thing a policy said about an object.
type Finding struct {
	// Words are the policy's own; for an error, what went wrong.
	Words string
	// Policy is the package that said it, without "data.".
	Policy string
	// Rule is the entry point: deny, warn, patch or defaults.
	Rule     string
	Location definition.Location
	// Source and Revision say where the policy comes from.
	Source   string
	Revision string
	Scope    hierarchy.Level
	// Field, Details and Code are what a policy may add: a field path, any JSON
	// value, an HTTP status for logs.
	Field   string
	Details any
	Code    int
	// Error marks an evaluation error, timeout or limit, as opposed to a verdict.
	Error bool
	// Limit names the limit that was reached, where one was: steps, bytes, timeout,
	// function or result.
	Limit string
	// Exception is the name of the PolicyException that covers the finding, and Expires when the
	// exception ends. They are set in Decision.Exempted only.
	Exception string
	Expires   time.Time
}

// suffix says which policy spoke: rule, place, source and revision.
func (f Finding) suffix() string {
	return " [" + f.Policy + " " + f.Rule + ", " + f.Location.String() + ", " + f.Source + "@" + definition.ShortRevision(f.Revision) + "]"
}

// Text is the message that users see: `<words> [<package> <rule>, <file>:<line>,
// <source>@<revision12>]`. The words are cut to MaxWordsBytes, the rest never.
func (f Finding) Text() string { return cut(f.Words, MaxWordsBytes) + f.suffix() }

// WarningText is Text, cut to MaxWarningBytes by shortening the words.
func (f Finding) WarningText() string {
	suffix := f.suffix()
	if room := MaxWarningBytes - len(suffix); room >= len("…") {
		return cut(f.Words, room) + suffix
	}
	return cut(f.Text(), MaxWarningBytes)
}

// WarningTexts are the warnings of a response, at most MaxResponseWarningBytes together. A last line
// counts the omitted ones.
func WarningTexts(findings []Finding) []string {
	const reserve = 64 // for the line that counts the omitted warnings
	var texts []string
	total := 0
	for i, f := range findings {
		text := f.WarningText()
		if total+len(text) > MaxResponseWarningBytes-reserve {
			return append(texts, fmt.Sprintf("%d more warnings are not shown", len(findings)-i))
		}
		total += len(text)
		texts = append(texts, text)
	}
	return texts
}

// cut shortens s to at most limit bytes, on a rune boundary, ending in "…".
func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:max(end, 0)] + "…"
}

// compare orders by scope, policy, text.
func (f Finding) compare(other Finding) int {
	if order := cmp.Or(cmp.Compare(f.Scope.Rank(), other.Scope.Rank()), cmp.Compare(f.Policy, other.Policy)); order != 0 {
		return order
	}
	if order := f.compareWords(other); order != 0 {
		return order
	}
	return cmp.Compare(f.Text(), other.Text())
}

// compareWords compares the words where these decide the order of the texts, which it need not
// build: 0 otherwise.
func (f Finding) compareWords(other Finding) int {
	n := min(len(f.Words), len(other.Words))
	if max(len(f.Words), len(other.Words)) > MaxWordsBytes || f.Words[:n] == other.Words[:n] || !utf8.ValidString(f.Words) || !utf8.ValidString(other.Words) {
		return 0
	}
	return cmp.Compare(f.Words, other.Words)
}
