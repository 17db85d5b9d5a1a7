package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The keys and the failure policies of external data.
const (
	keyValueAtLocation = "ValueAtLocation"
	keyUsername        = "Username"

	externalFail       = "Fail"
	externalIgnore     = "Ignore"
	externalUseDefault = "UseDefault"
)

// Texts is the data of a Provider: texts by key.
type Texts interface {
	// Lookup returns the text of a key. The error says why there is none.
	Lookup(key string) (string, error)
	// IsResult reports whether a text is that of some key.
	IsResult(text string) bool
}

// external sets the text that a Provider has for the value at the location, or for the user.
//
// Mutators are applied until nothing changes, and again if another webhook changes the object. A
// value that is the text of some key is therefore left as it is: it is the result of an earlier
// application.
type external struct {
	Provider      string `json:"provider"`
	DataSource    string `json:"dataSource"`
	FailurePolicy string `json:"failurePolicy"`
	Default       string `json:"default"`

	texts    Texts // nil where there is no data
	username string
}

func newExternal(kind string, location Location, text json.RawMessage, path []any) (setter, *FieldError) {
	fail := func(field, format string, args ...any) (setter, *FieldError) {
		return nil, newFieldError(fmt.Errorf(format, args...), append(append([]any{}, path...), field)...)
	}
	e := external{DataSource: keyValueAtLocation, FailurePolicy: externalFail}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return nil, newFieldError(errors.New(strings.TrimPrefix(err.Error(), "json: ")), path...)
	}
	switch {
	case e.Provider == "":
		return fail("provider", "must name a Provider")
	case e.DataSource != keyValueAtLocation && e.DataSource != keyUsername:
		return fail("dataSource", "%q is not one of %s, %s", e.DataSource, keyValueAtLocation, keyUsername)
	case kind == KindAssignMetadata && e.DataSource != keyUsername:
		return fail("dataSource", "AssignMetadata sets fields that are missing, so its key is the user: set %s", keyUsername)
	case e.FailurePolicy != externalFail && e.FailurePolicy != externalIgnore && e.FailurePolicy != externalUseDefault:
		return fail("failurePolicy", "%q is not one of %s, %s, %s", e.FailurePolicy, externalFail, externalIgnore, externalUseDefault)
	case e.FailurePolicy == externalUseDefault && e.Default == "":
		return fail("default", "must be set with the failure policy %s", externalUseDefault)
	case location[len(location)-1].isList():
		return nil, newFieldError(errors.New("a text cannot be an element of a list; name a field of the element"), "spec", "location")
	}
	return e, nil
}

func (e external) set(fields map[string]any, name string, _ map[string]any) error {
	value, exists := fields[name]
	at, isText := value.(string)
	key := at
	if e.DataSource == keyUsername {
		key = e.username
	} else if exists && !isText {
		return fmt.Errorf("%s is %s, and the key of external data is a string", name, typeName(value))
	}
	text, err := e.lookup(key)
	switch {
	case err == nil:
		fields[name] = text
	case e.texts != nil && e.DataSource == keyValueAtLocation && exists && e.texts.IsResult(at):
	case e.FailurePolicy == externalFail:
		return err
	case e.FailurePolicy == externalUseDefault:
		fields[name] = e.Default
	default: // the value that would be the key, as in Gatekeeper
		fields[name] = key
	}
	return nil
}

func (e external) lookup(key string) (string, error) {
	if e.texts == nil {
		return "", fmt.Errorf("DataSource %s has no data; offline, give it with --external %s=FILE", e.Provider, e.Provider)
	}
	return e.texts.Lookup(key)
}

// Provider is the Provider whose data the mutator sets: empty if there is none.
func (m *Mutator) Provider() string {
	e, _ := m.setter.(external)
	return e.Provider
}

// Bind gives the mutator the external data of one request, whose user is username.
func (m *Mutator) Bind(texts Texts, username string) {
	if e, isExternal := m.setter.(external); isExternal {
		e.texts, e.username = texts, username
		m.setter = e
	}
}
