package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// readRecord is a Record as it is read: a missing decision is not a denial.
type readRecord struct {
	*Record
	Decision *readDecision `json:"decision"`
}

type readDecision struct {
	Decision
	Allowed *bool `json:"allowed"`
}

// into sets the decision of the record, which must be present.
func (r *readRecord) into() error {
	switch {
	case r.Decision == nil:
		return errors.New(`field "decision" is missing`)
	case r.Decision.Allowed == nil:
		return errors.New(`field "decision.allowed" is missing`)
	}
	r.Record.Decision = r.Decision.Decision
	r.Record.Decision.Allowed = *r.Decision.Allowed
	return nil
}

// request are the fields of a request that decide whether an API server sends it.
type request struct {
	UID, Operation, SubResource, Name string
	Kind                              struct{ Group, Version, Kind string }
	Resource                          struct {
		Resource string `json:"resource"`
	}
	Object, OldObject json.RawMessage
}

// readRequest reads these fields. Objects are parts of the text.
func readRequest(text []byte) (one request, err error) {
	var failed error
	err = Members(text, func(name string, value []byte) bool {
		var into any
		switch name {
		case "uid":
			into = &one.UID
		case "operation":
			into = &one.Operation
		case "subResource":
			into = &one.SubResource
		case "name":
			into = &one.Name
		case "kind":
			into = &one.Kind
		case "resource":
			into = &one.Resource
		case "object":
			one.Object = value
			return true
		case "oldObject":
			one.OldObject = value
			return true
		default:
			return true
		}
		if failed = json.Unmarshal(value, into); failed != nil {
			failed = fmt.Errorf("field %q: %w", name, failed)
		}
		return failed == nil
	})
	return one, cmp.Or(failed, err)
}

// maxCount is above the number of requests that one record of a manager stands for, and the sum of
// many such numbers can be represented.
const maxCount = 1 << 32

// Validate returns an error for a record that no manager writes: its evaluation would be that of
// another request, or count as one that was denied.
func (r *Record) Validate() error {
	switch {
	case r.Time.IsZero():
		return errors.New(`field "time" is missing`)
	case !strings.HasPrefix(r.Entry, "validate/") && !strings.HasPrefix(r.Entry, "mutate/"):
		return fmt.Errorf(`field "entry": Invalid value %q: must begin with validate/ or mutate/`, r.Entry)
	case r.Count < 0 || r.Count > maxCount:
		return fmt.Errorf(`field "count": Invalid value %d: must be from 0 to %d`, r.Count, int64(maxCount))
	case len(r.Request) == 0 || string(r.Request) == "null":
		return errors.New(`field "request" is missing`)
	}
	one, err := readRequest(r.Request)
	if err != nil {
		return fmt.Errorf(`field "request": %w`, err)
	}
	for _, field := range []struct{ name, value string }{
		{"uid", one.UID}, {"kind.version", one.Kind.Version}, {"kind.kind", one.Kind.Kind}, {"resource.resource", one.Resource.Resource},
	} {
		if field.value == "" {
			return fmt.Errorf(`field "request.%s" is missing`, field.name)
		}
	}
	return one.validateObjects(r.Masked)
}

// validateObjects compares the objects with the operation and the kind.
func (r *request) validateObjects(masked []string) error {
	var required []string
	switch r.Operation {
	case "CREATE", "CONNECT":
		required = []string{"object"}
	case "UPDATE":
		required = []string{"object", "oldObject"}
	case "DELETE":
		if r.Name != "" { // a mutate entry is called once for a collection
			required = []string{"oldObject"}
		}
	default:
		return fmt.Errorf(`field "request.operation": Invalid value %q: must be CREATE, UPDATE, DELETE or CONNECT`, r.Operation)
	}
	for _, field := range []struct {
		name   string
		object json.RawMessage
	}{{"object", r.Object}, {"oldObject", r.OldObject}} {
		if len(field.object) == 0 || string(field.object) == "null" {
			if slices.Contains(required, field.name) && !slices.Contains(masked, "/"+field.name) {
				return fmt.Errorf(`field "request.%s" is missing, which an API server sends on %s`, field.name, r.Operation)
			}
			continue
		}
		if err := r.validateKind(field.name, field.object); err != nil {
			return err
		}
	}
	return nil
}

// validateKind compares the kind of an object with that of the request. Those of subresources may
// differ.
func (r *request) validateKind(field string, text json.RawMessage) error {
	if r.SubResource != "" || r.Operation == "CONNECT" {
		return nil
	}
	var object struct{ APIVersion, Kind *string }
	var failed error
	err := Members(text, func(name string, value []byte) bool {
		switch name {
		case "apiVersion":
			failed = json.Unmarshal(value, &object.APIVersion)
		case "kind":
			failed = json.Unmarshal(value, &object.Kind)
		}
		return failed == nil && (object.APIVersion == nil || object.Kind == nil)
	})
	if err := cmp.Or(failed, err); err != nil {
		return fmt.Errorf(`field "request.%s": %w`, field, err)
	}
	given := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	apiVersion := r.Kind.Version
	if r.Kind.Group != "" {
		apiVersion = r.Kind.Group + "/" + apiVersion
	}
	if given(object.Kind) != r.Kind.Kind || given(object.APIVersion) != apiVersion {
		return fmt.Errorf(`field "request.%s" is of kind %q in apiVersion %q, and request.kind is %s in %s`, field, given(object.Kind), given(object.APIVersion), r.Kind.Kind, apiVersion)
	}
	return nil
}
