package restriction

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// Explain returns the message of a verdict on a child. A counterexample has several lines;
// the first line names the scopes.
func (v Verdict) Explain(child *sidecar.Policy) string {
	domain := fmt.Sprintf("domain %q: ", child.Domain.Name)
	switch v.Outcome {
	case Proved:
		return domain + child.Name + " permits no more than broader scopes, on any input"
	case Unknown:
		does := "permits more than broader scopes"
		if v.Conflict {
			does = fmt.Sprintf("differs from another policy of the %s scope", child.Level)
		}
		return fmt.Sprintf("%scannot determine whether %s %s: %s (%s)", domain, child.Name, does, v.Reason, v.Decision)
	}
	first := fmt.Sprintf("%s%s scope cannot expand beyond %s scope", domain, child.Level, v.ParentLevel)
	if v.Conflict {
		first = fmt.Sprintf("%stwo policies of the %s scope contradict each other", domain, child.Level)
	}
	lines := []string{
		first,
		"  input: " + v.InputText(),
		"  " + side(v.Decision, v.Child, v.ChildPolicy, v.ChildLine),
	}
	if v.ParentPolicy != "" {
		lines = append(lines, "  "+side(v.Decision, v.Parent, v.ParentPolicy, v.ParentLine))
	}
	return strings.Join(append(lines, "  "+v.Reason), "\n")
}

// InputText is the input as JSON, or "undefined".
func (v Verdict) InputText() string {
	if v.InputUndefined {
		return "undefined"
	}
	return compact(v.Input)
}

func side(decision string, value any, policy string, line int) string {
	text := "undefined"
	if value != nil {
		text = shortened(compact(value))
	}
	if line == 0 {
		return fmt.Sprintf("%s: %s is %s", policy, decision, text)
	}
	return fmt.Sprintf("%s:%d: %s is %s", policy, line, decision, text)
}

// shortened truncates a value to a readable length.
func shortened(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

func compact(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the value came from JSON
	}
	return strings.TrimSuffix(text.String(), "\n")
}
