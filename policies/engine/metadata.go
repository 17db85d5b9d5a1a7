package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
)

// Deadlines of one policy for one review.
const (
	DefaultTimeout = 100 * time.Millisecond
	MaxTimeout     = time.Second
)

// Enforcement says what the verdicts of a policy do.
type Enforcement string

// The enforcements, strictest first.
const (
	EnforceDeny  Enforcement = "deny"  // denials deny
	EnforceWarn  Enforcement = "warn"  // denials become warnings
	EnforceAudit Enforcement = "audit" // denials and warnings are logged only
)

// metadata is what Lintel reads from the METADATA block of a package.
type metadata struct {
	title, description string
	match              *Match
	matchLocation      *ast.Location
	enforcement        Enforcement
	requires           []GroupVersionKind
	clock              bool
	timeout            time.Duration
}

// customKeys are the keys of `custom` that Lintel reads. Others are the author's
// own, unless they look like a misspelling of one of these.
var customKeys = []string{"match", "enforcement", "requires", "clock", "timeout"}

// merge reads one annotation block into m: a package may have several files, but
// each setting only once.
func (m *metadata) merge(a *ast.Annotations) error {
	m.title = cmpOr(m.title, a.Title)
	m.description = cmpOr(m.description, a.Description)
	for _, key := range sortedKeys(a.Custom) {
		if !slices.Contains(customKeys, key) {
			if near := nearest(key, customKeys); near != "" {
				return fmt.Errorf("custom.%s: unknown; did you mean %s?", key, near)
			}
			continue
		}
		if err := m.set(key, a.Custom[key], a.Location); err != nil {
			return fmt.Errorf("custom.%s: %w", key, err)
		}
	}
	return nil
}

func (m *metadata) set(key string, value any, loc *ast.Location) error {
	switch key {
	case "match":
		if m.match != nil {
			return fmt.Errorf("the package has one already, at %s:%d; keep one", m.matchLocation.File, m.matchLocation.Row)
		}
		m.match, m.matchLocation = &Match{}, loc
		return decodeStrict(value, m.match)
	case "enforcement":
		if m.enforcement != "" {
			return fmt.Errorf("the package has one already; keep one")
		}
		if err := decodeStrict(value, &m.enforcement); err != nil {
			return err
		}
		switch m.enforcement {
		case EnforceDeny, EnforceWarn, EnforceAudit:
			return nil
		}
		return fmt.Errorf("%q is not one of deny, warn, audit", m.enforcement)
	case "requires":
		var kinds []GroupVersionKind
		if err := decodeStrict(value, &kinds); err != nil {
			return err
		}
		for i, kind := range kinds {
			if kind.Kind == "" || kind.Kind == "*" || kind.Group == "*" {
				return fmt.Errorf("[%d]: name one kind and its group", i)
			}
			if kind.Version != "" {
				return fmt.Errorf("[%d]: leave out version: objects come in the version that the cluster prefers", i)
			}
		}
		m.requires = append(m.requires, kinds...)
		return nil
	case "clock":
		return decodeStrict(value, &m.clock)
	default: // timeout
		var text string
		if err := decodeStrict(value, &text); err != nil {
			return err
		}
		timeout, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 100ms", text)
		}
		if timeout <= 0 || timeout > MaxTimeout {
			return fmt.Errorf("%s is not between 0 and %s", text, MaxTimeout)
		}
		m.timeout = timeout
		return nil
	}
}

// UnmarshalJSON accepts true for warn, and false for no expansion.
func (e *Expand) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true", `"warn"`:
		*e = ExpandWarn
	case `"deny"`:
		*e = ExpandDeny
	case "false", "null":
		*e = ExpandNone
	default:
		return fmt.Errorf("expand: %s is not warn or deny", text)
	}
	return nil
}

// decodeStrict decodes what YAML gave into a typed value; unknown fields are errors.
func decodeStrict(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// nearest is the word that text is likely a misspelling of.
func nearest(text string, words []string) string {
	for _, word := range words {
		if levenshtein.ComputeDistance(strings.ToLower(text), word) <= 2 {
			return word
		}
	}
	return ""
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
