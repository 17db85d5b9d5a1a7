package schema

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var textSchema = &Schema{Type: Text}

// envelope are the fields that the objects of every kind have, independent of their schema of
// metadata: the API server sets them.
var envelope = map[string]*Schema{
	"apiVersion": textSchema,
	"kind":       textSchema,
	"metadata":   OfType(reflect.TypeFor[metav1.ObjectMeta]()),
}

// ofKind is the schema of a kind's objects, made from that of their content.
func ofKind(content *Schema) *Schema { return content.with(envelope) }
