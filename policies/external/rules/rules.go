// Package rules checks the data of a DataSource before it comes into force.
//
// Invariant: what passes is JSON that any reader understands in the same way: one document, without
// duplicate keys.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	yaml "go.yaml.in/yaml/v3"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/external"
)

// The reasons for which data is refused.
const (
	// ReasonUnreadable: not one document in JSON or YAML, or with duplicate keys.
	ReasonUnreadable = "DataUnreadable"
	// ReasonTooLarge: more bytes than the maximum.
	ReasonTooLarge = "TooLarge"
	// ReasonTooFewEntries: fewer members than the minimum.
	ReasonTooFewEntries = "TooFewEntries"
	// ReasonSchemaMismatch: the data does not match the schema.
	ReasonSchemaMismatch = "SchemaMismatch"
	// ReasonSchemaInvalid: the schema itself cannot be used.
	ReasonSchemaInvalid = "SchemaInvalid"
)

// Rules are the rules that data must meet.
type Rules struct {
	// MaxBytes bounds the data as it is sent, and MinEntries its members from below.
	MaxBytes   int64 `json:"maxBytes"`
	MinEntries int   `json:"minEntries"`
	// Schema is the JSON Schema in JSON; empty for none.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Error is why data is refused.
type Error struct{ Reason, Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func refuse(reason, format string, args ...any) error {
	return &Error{reason, fmt.Sprintf(format, args...)}
}

// Check reads data in JSON or YAML and returns it in JSON, with sorted keys and without spaces, so
// that data that differs in its form alone has the same text, and the number of its members. The error is an *Error.
func (r Rules) Check(name, text string) (asJSON string, entries int, err error) {
	value, err := read(text)
	if err != nil {
		return "", 0, refuse(ReasonUnreadable, "%s cannot be read: %v; correct the file", name, err)
	}
	switch value := value.(type) {
	case map[string]any:
		entries = len(value)
	case []any:
		entries = len(value)
	default:
		return "", 0, refuse(ReasonUnreadable, "%s is neither an object nor a list: put the data into one", name)
	}
	if entries < r.MinEntries {
		return "", 0, refuse(ReasonTooFewEntries, "%s has %d entries, fewer than %d: correct the data, or lower spec.minEntries", name, entries, r.MinEntries)
	}
	asJSON, err = external.Encode(value)
	if err != nil {
		return "", 0, refuse(ReasonUnreadable, "%s cannot be read: %v", name, err)
	}
	if int64(len(asJSON)) > r.MaxBytes {
		return "", 0, refuse(ReasonTooLarge, "%s has %d bytes in JSON, more than %d: raise spec.maxBytes, or shorten the data", name, len(asJSON), r.MaxBytes)
	}
	if len(r.Schema) > 0 {
		if err := matchSchema(r.Schema, []byte(asJSON), name); err != nil {
			return "", 0, err
		}
	}
	return asJSON, entries, nil
}

// read reads one document. Numbers stay as they are written.
func read(text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("not UTF-8 text")
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		return nil, errors.New("it is an HTML or XML page") // which may be valid YAML
	}
	if !json.Valid([]byte(text)) && hasSecondDocument(text) {
		return nil, errors.New("it has several YAML documents")
	}
	term, err := definition.ReadDocument(text)
	if err != nil {
		return nil, readError(text, err)
	}
	return ast.JSON(term.Value)
}

// readError is an error of reading a text. For a text that is JSON from its first character, it is
// that of reading JSON: the same text as YAML fails elsewhere.
func readError(text string, err error) error {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return err
	}
	var value any
	syntax := json.Unmarshal([]byte(text), &value)
	if syntax == nil {
		return err
	}
	if isCutOff(syntax) {
		return errors.New("the JSON text is cut off: it ends within a value")
	}
	return err
}

// isCutOff reports whether an error of reading JSON is that the text ends.
func isCutOff(err error) bool { return err.Error() == "unexpected end of JSON input" }

// hasSecondDocument reports whether a text in YAML has a document after the first one. Readers that
// ignore it would lose data.
func hasSecondDocument(text string) bool {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); err != nil {
		return false // the first document is the error
	}
	return !errors.Is(decoder.Decode(&node), io.EOF)
}
