package schema

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OfType is the schema of what encoding/json makes of values of a type. Types that
// encode themselves are Any, and so is a type within itself.
func OfType(t reflect.Type) *Schema { return newTypes().of(t) }

// OfKindType is OfType for the type of a kind.
func OfKindType(t reflect.Type) *Schema { return ofKind(OfType(t)) }

// types keeps the schemas of types that were seen. A type in the making is Any, which
// ends recursion.
type types map[reflect.Type]*Schema

func newTypes() types {
	return types{
		reflect.TypeFor[metav1.Time]():      textSchema,
		reflect.TypeFor[metav1.MicroTime](): textSchema,
		reflect.TypeFor[metav1.Duration]():  textSchema,
	}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func (k types) of(t reflect.Type) *Schema {
	if known, ok := k[t]; ok {
		return known
	}
	if t.Kind() == reflect.Pointer {
		return k.of(t.Elem())
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return anySchema
	}
	k[t] = anySchema
	k[t] = k.make(t)
	return k[t]
}

func (k types) make(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Struct:
		fields := map[string]*Schema{}
		if !k.addFields(fields, t) {
			return anySchema
		}
		return Of(fields)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return textSchema
		}
		return &Schema{Type: List, Items: k.of(t.Elem())}
	case reflect.String:
		return textSchema
	case reflect.Bool:
		return &Schema{Type: Boolean}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return &Schema{Type: Number}
	default: // maps, interfaces
		return anySchema
	}
}

// addFields adds the fields of a struct and those of embedded structs. It reports whether all
// are known.
func (k types) addFields(fields map[string]*Schema, t reflect.Type) bool {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || (!field.IsExported() && !field.Anonymous):
		case name == "" && (field.Anonymous || strings.Contains(options, "inline")):
			inner := k.of(field.Type)
			if inner.Type != Object {
				return false
			}
			for name, schema := range inner.Fields {
				if _, mine := fields[name]; !mine {
					fields[name] = schema
				}
			}
		case strings.Contains(options, "string"):
			fields[name] = textSchema
		default:
			if name == "" {
				name = field.Name
			}
			fields[name] = k.of(field.Type)
		}
	}
	return true
}
