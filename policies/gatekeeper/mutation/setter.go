package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// setter sets the field at the end of a location.
type setter interface {
	set(fields map[string]any, name string, object map[string]any) error
}

// AssignValue is a value, or the field of the metadata that has it. Value is nil if it is not set,
// and null is not a value.
type AssignValue struct {
	Value        any             `json:"value"`
	FromMetadata *FromMetadata   `json:"fromMetadata"`
	ExternalData json.RawMessage `json:"externalData"`
}

// FromMetadata names a field of the metadata: name or namespace.
type FromMetadata struct {
	Field string `json:"field"`
}

func newSetter(kind string, location Location, p Parameters) (setter, *FieldError) {
	switch kind {
	case KindAssign, KindAssignMetadata:
		return newAssignment(kind, location, p.Assign)
	case KindAssignImage:
		parts := imageParts{domain: p.AssignDomain, path: p.AssignPath, tag: p.AssignTag}
		return parts, parts.check()
	case KindModifySet:
		if p.Values == nil || p.Values.FromList == nil {
			return nil, newFieldError(errors.New("must list the values"), "spec", "parameters", "values", "fromList")
		}
		switch p.Operation {
		case "", "merge":
			return merge(p.Values.FromList), nil
		case "prune":
			return prune(p.Values.FromList), nil
		}
		return nil, newFieldError(fmt.Errorf("%q is not one of merge, prune", p.Operation), "spec", "parameters", "operation")
	}
	return nil, newFieldError(fmt.Errorf("%q is not a kind of mutator", kind), "kind")
}

func newAssignment(kind string, location Location, a *AssignValue) (setter, *FieldError) {
	path := []any{"spec", "parameters", "assign"}
	if a == nil {
		a = &AssignValue{}
	}
	if len(a.ExternalData) > 0 {
		return nil, newFieldError(errors.New("external data is not supported, because policies have no network; assign a value"), append(path, "externalData")...)
	}
	if (a.Value == nil) == (a.FromMetadata == nil) {
		return nil, newFieldError(errors.New("set exactly one of value and fromMetadata"), path...)
	}
	last := location[len(location)-1]
	if a.FromMetadata != nil {
		switch {
		case a.FromMetadata.Field != "name" && a.FromMetadata.Field != "namespace":
			return nil, newFieldError(fmt.Errorf("%q is not one of name, namespace", a.FromMetadata.Field), append(path, "fromMetadata", "field")...)
		case last.isList():
			return nil, newFieldError(errors.New("a field of the metadata cannot be an element of a list"), append(path, "fromMetadata")...)
		}
		return metadataField(a.FromMetadata.Field), nil
	}
	if _, isText := a.Value.(string); kind == KindAssignMetadata && !isText {
		return nil, newFieldError(errors.New("must be a string"), append(path, "value")...)
	}
	if last.isList() {
		fields, isMap := a.Value.(map[string]any)
		switch {
		case last.isGlob():
			return nil, newFieldError(errors.New("* selects all elements of a list, which cannot be replaced by one value; name a field of the elements"), "spec", "location")
		case !isMap || !last.isKey(fields[last.key]):
			return nil, newFieldError(fmt.Errorf("must be an object whose %s is %v, as in spec.location", last.key, last.value), append(path, "value")...)
		}
	}
	return constant{a.Value}, nil
}

// constant sets a value.
type constant struct{ value any }

func (c constant) set(fields map[string]any, name string, _ map[string]any) error {
	fields[name] = clone(c.value)
	return nil
}

// element is the value as an element of a list.
func (c constant) element() any { return clone(c.value) }

// metadataField sets the value of a field of the metadata, "" if it is missing.
type metadataField string

func (f metadataField) set(fields map[string]any, name string, object map[string]any) error {
	metadata, _ := object["metadata"].(map[string]any)
	value, _ := metadata[string(f)].(string)
	fields[name] = value
	return nil
}

// merge adds values to a list that lacks them.
type merge []any

func (values merge) set(fields map[string]any, name string, _ map[string]any) error {
	list, err := listIn(fields, name)
	if err != nil {
		return err
	}
	if list == nil {
		fields[name] = clone([]any(values))
		return nil
	}
	for _, value := range values {
		if !slices.ContainsFunc(list, func(have any) bool { return equal(have, value) }) {
			list = append(slices.Clone(list), clone(value))
		}
	}
	fields[name] = list
	return nil
}

// prune removes values from a list.
type prune []any

func (values prune) set(fields map[string]any, name string, _ map[string]any) error {
	list, err := listIn(fields, name)
	if list == nil || err != nil {
		return err
	}
	fields[name] = slices.DeleteFunc(slices.Clone(list), func(have any) bool {
		return slices.ContainsFunc(values, func(value any) bool { return equal(have, value) })
	})
	return nil
}

// listIn returns the list in a field, nil if the field is missing.
func listIn(fields map[string]any, name string) ([]any, error) {
	value, exists := fields[name]
	if !exists {
		return nil, nil
	}
	list, isList := value.([]any)
	if !isList {
		return nil, fmt.Errorf("%s is %s, not a list", name, typeName(value))
	}
	if list == nil {
		list = []any{}
	}
	return list, nil
}

// clone copies maps and lists.
func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = clone(item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = clone(item)
		}
		return out
	}
	return value
}

// equal compares values. Numbers are equal if both are integers, or both are not, and they have
// the same value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for key, value := range a {
			if have, ok := other[key]; !ok || !equal(value, have) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, equal)
	case json.Number:
		other, ok := b.(json.Number)
		return ok && (a == other || reflect.DeepEqual(number(a), number(other)))
	}
	return a == b
}

// number is an int64, or a float64 for other numbers.
func number(n json.Number) any {
	if !strings.ContainsAny(n.String(), ".eE") {
		if integer, err := n.Int64(); err == nil {
			return integer
		}
	}
	float, _ := n.Float64()
	return float
}

// typeName is the name of a JSON type.
func typeName(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}
