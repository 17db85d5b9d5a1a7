package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// JSON is the schema as a JSON Schema that OPA's type checker reads. Shared parts are written
// once. The same schema always has the same JSON.
func (s *Schema) JSON() json.RawMessage {
	w := &writer{names: map[*Schema]string{}, definitions: map[string]any{}}
	root := w.write(s)
	root["definitions"] = w.definitions
	out, err := json.Marshal(root)
	if err != nil {
		panic(fmt.Sprintf("maps of strings always have JSON: %v", err))
	}
	return out
}

type writer struct {
	names       map[*Schema]string
	definitions map[string]any
}

// write gives a map of its own: the caller may add to it.
func (w *writer) write(s *Schema) map[string]any {
	switch s.Type {
	case Object:
		properties := make(map[string]any, len(s.Fields))
		for _, name := range slices.Sorted(maps.Keys(s.Fields)) { // definitions are numbered as they come
			properties[name] = w.reference(s.Fields[name])
		}
		return map[string]any{"type": "object", "properties": properties}
	case List:
		return map[string]any{"type": "array", "items": w.reference(s.Items)}
	case Text:
		return map[string]any{"type": "string"}
	case Number:
		return map[string]any{"type": "number"}
	case Boolean:
		return map[string]any{"type": "boolean"}
	default:
		return map[string]any{}
	}
}

// reference refers to an object, and writes everything else in place.
func (w *writer) reference(s *Schema) map[string]any {
	if s.Type != Object {
		return w.write(s)
	}
	name, known := w.names[s]
	if !known {
		name = strconv.Itoa(len(w.names))
		w.names[s] = name
		w.definitions[name] = w.write(s)
	}
	return map[string]any{"$ref": "#/definitions/" + name}
}
