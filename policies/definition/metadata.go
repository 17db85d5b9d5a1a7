package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// The work of one policy for one review, as the time that it takes at most on an idle core.
const (
	DefaultTimeout = 100 * time.Millisecond
	MaxTimeout     = time.Second
	// StepsPerMillisecond is the number of steps of package eval that bound a millisecond: a
	// policy is bounded by steps, which do not depend on the machine and its load.
	StepsPerMillisecond int64 = 10_000
)

// Enforcement is the effect of a policy's verdicts.
type Enforcement string

// The enforcements, strictest first.
const (
	EnforceDeny  Enforcement = "deny"  // denials deny
	EnforceWarn  Enforcement = "warn"  // denials become warnings
	EnforceAudit Enforcement = "audit" // denials and warnings are logged only
)

// Metadata contains the settings that Lintel reads from the METADATA block of a package.
type Metadata struct {
	Title, description string
	Match              *Match
	MatchLocation      *ast.Location
	Enforcement        Enforcement
	Requires           []admission.GroupVersionKind
	// External are the names of the DataSources that the policy reads, sorted.
	External []string
	Clock    bool
	// Timeout bounds the steps: see Steps. Zero is the default.
	Timeout time.Duration
	// Severity and Category describe violations in reports. Values that reports do not have are
	// left out: the keys may be the author's own.
	Severity, Category string
	// Exceptions is nil if the METADATA do not contain it.
	Exceptions *Allowance
}

// Steps is the number of steps that the policy may take for one review.
func (m Metadata) Steps() int64 {
	timeout := cmp.Or(m.Timeout, DefaultTimeout)
	return max(1, int64(timeout)*StepsPerMillisecond/int64(time.Millisecond))
}

// Allowance is what the policy allows exceptions from its rules.
func (m Metadata) Allowance() Allowance {
	if m.Exceptions == nil {
		return Allowance{}
	}
	return *m.Exceptions
}

// Severities are those that a report can give a violation, the highest first.
var Severities = []string{"critical", "high", "medium", "low", "info"}

// customKeys are the keys of `custom` that Lintel reads. Others are the author's
// own, unless they look like a misspelling of one of these, or belong elsewhere.
var customKeys = []string{"match", "enforcement", "requires", "external", "clock", "timeout", "exceptions"}

// matchKeys and kindKeys are the fields of `match` and of one of its kinds.
var (
	matchKeys = []string{"kinds", "operations", "subresources", "namespaces", "excludedNamespaces", "namespaceSelector", "objectSelector", "expand"}
	kindKeys  = []string{"group", "version", "kind"}
)

// ReadMetadata reads the METADATA of a package, and reports calls that it does not permit.
func ReadMetadata(name string, modules []*ast.Module) (meta Metadata, errs CompileErrorList) {
	for _, module := range modules {
		errs = append(errs, misspelledMetadata(module)...)
		for _, annotations := range module.Annotations {
			for _, err := range misplaced(annotations) {
				errs = append(errs, ErrorAt(annotations.Location, "METADATA: %v", err))
			}
			if annotations.Scope != "package" {
				if _, ok := annotations.Custom["match"]; ok {
					errs = append(errs, ErrorAt(annotations.Location, "match is read from the METADATA of the package only, not of a %s; move it above `package %s`", annotations.Scope, name))
				}
				continue
			}
			for _, err := range meta.merge(annotations) {
				errs = append(errs, ErrorAt(annotations.Location, "METADATA: %v", err))
			}
		}
	}
	for _, module := range modules {
		if meta.Clock {
			break
		}
		errs = append(errs, ClockCalls(module)...)
	}
	return meta, errs
}

// merge reads one annotation block into m and returns all its errors: a package may have several
// files, but each setting only once.
func (m *Metadata) merge(a *ast.Annotations) []error {
	m.Title = cmp.Or(m.Title, a.Title)
	m.description = cmp.Or(m.description, a.Description)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(a.Custom)) {
		switch {
		case slices.Contains(customKeys, key):
			for _, err := range m.set(key, a.Custom[key], a.Location) {
				errs = append(errs, fmt.Errorf("custom.%s%w", key, err))
			}
		case slices.Contains(matchKeys, key):
			errs = append(errs, fmt.Errorf("custom.%s: belongs under custom.match: write custom.match.%s", key, key))
		case key == "severity":
			if text, _ := a.Custom[key].(string); slices.Contains(Severities, text) {
				m.Severity = cmp.Or(m.Severity, text)
			}
		case key == "category":
			text, _ := a.Custom[key].(string)
			m.Category = cmp.Or(m.Category, text)
		default:
			if near := nearest(key, customKeys); near != "" {
				errs = append(errs, fmt.Errorf("custom.%s: unknown; did you mean %s?", key, near))
			}
		}
	}
	return errs
}

// set reads one setting. The errors follow the setting's name: they begin with a
// colon, or with a further part of the path.
func (m *Metadata) set(key string, value any, loc *ast.Location) []error {
	if key == "match" {
		if m.Match != nil {
			return []error{fmt.Errorf(": the package has one already, at %s:%d; keep one", m.MatchLocation.File, m.MatchLocation.Row)}
		}
		m.Match, m.MatchLocation = &Match{}, loc
		return m.Match.read(value)
	}
	if key == "requires" {
		return m.readRequires(value)
	}
	if key == "external" {
		return m.readExternal(value)
	}
	if key == "exceptions" {
		return m.readExceptions(value)
	}
	if err := m.setOne(key, value); err != nil {
		return []error{fmt.Errorf(": %w", err)}
	}
	return nil
}

func (m *Metadata) readRequires(value any) []error {
	kinds, errs := readKindList(value, "[{group: networking.k8s.io, kind: Ingress}]", func(kind admission.GroupVersionKind) error {
		switch {
		case kind.Kind == "" || kind.Kind == "*" || kind.Group == "*":
			return errors.New("name one kind and its group")
		case kind.Version != "":
			return errors.New("leave out version: objects come in the version that the cluster prefers")
		}
		return nil
	})
	m.Requires = append(m.Requires, kinds...)
	return errs
}

func (m *Metadata) setOne(key string, value any) error {
	switch key {
	case "enforcement":
		if m.Enforcement != "" {
			return fmt.Errorf("the package has one already; keep one")
		}
		if err := decodeStrict(value, &m.Enforcement); err != nil {
			return err
		}
		switch m.Enforcement {
		case EnforceDeny, EnforceWarn, EnforceAudit:
			return nil
		}
		return fmt.Errorf("%q is not one of deny, warn, audit", m.Enforcement)
	case "clock":
		return decodeStrict(value, &m.Clock)
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
		m.Timeout = timeout
		return nil
	}
}

func unknown(key string, keys []string) string {
	if near := nearest(key, keys); near != "" {
		return fmt.Sprintf("unknown; did you mean %s?", near)
	}
	return "unknown; there are " + strings.Join(keys, ", ")
}

// decodeStrict decodes a YAML value into a typed value; unknown fields are errors.
func decodeStrict(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("is %s where %s belongs", article(wrong.Value), goKind(wrong.Type))
	}
	if err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// article is a JSON type as encoding/json names it, in the words of terms.KindOf.
func article(kind string) string {
	kind, _, _ = strings.Cut(kind, " ") // a number comes with its digits
	switch kind {
	case "array":
		return "a list"
	case "bool":
		return "a boolean"
	case "object":
		return "an object"
	default:
		return "a " + kind
	}
}

// goKind describes the YAML form of a Go type.
func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "an object"
	}
}

// nearest is the word that text is likely a misspelling of.
func nearest(text string, words []string) string {
	for _, word := range words {
		if levenshtein.ComputeDistance(strings.ToLower(text), strings.ToLower(word)) <= 2 {
			return word
		}
	}
	return ""
}

// ClockCalls finds the calls that need `clock: true`.
func ClockCalls(module *ast.Module) CompileErrorList {
	var errs CompileErrorList
	ast.WalkRefs(module, func(ref ast.Ref) bool {
		if ref.String() == sandbox.ClockBuiltin {
			errs = append(errs, ErrorAt(ref[0].Location, "%s needs `clock: true` under custom in the METADATA of the package", sandbox.ClockBuiltin))
		}
		return false
	})
	return errs
}

// LineInMetadata returns the line of a policy's METADATA that contains a text, otherwise the
// location of the policy.
func LineInMetadata(files map[string]string, policy Location, text string) Location {
	lines := strings.Split(files[policy.File], "\n")
	for i := min(policy.Line, len(lines)) - 1; i > 0 && strings.HasPrefix(lines[i-1], "#"); i-- {
		if strings.Contains(lines[i-1], text) {
			return Location{File: policy.File, Line: i}
		}
	}
	return policy
}
