package jsonpatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/terms"
)

// Document is an object under mutation, with the operations that made it.
type Document struct {
	Root    any
	Applied []Operation
}

// Step is one operation with its paths and value decoded.
type Step struct {
	Op    string
	Path  []string
	From  []string // move and copy
	Value any      // add, replace and test
}

// ReadStep reads one operation as a policy gave it.
func ReadStep(value any) (Step, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return Step{}, fmt.Errorf("an operation is an object {op, path, value}, not %s", terms.KindOf(value))
	}
	for key := range fields {
		if !slices.Contains([]string{"op", "path", "from", "value"}, key) {
			return Step{}, fmt.Errorf("an operation has no field %q", key)
		}
	}
	var op Step
	var err error
	op.Op, _ = fields["op"].(string)
	if op.Path, err = readPointer(fields, "path"); err != nil {
		return op, err
	}
	var hasValue bool
	op.Value, hasValue = fields["value"]
	switch op.Op {
	case "add", "replace", "test":
		if !hasValue {
			return op, fmt.Errorf("%s %s lacks a value", op.Op, Pointer(op.Path))
		}
	case "remove":
	case "move", "copy":
		if op.From, err = readPointer(fields, "from"); err != nil {
			return op, err
		}
	default:
		return op, fmt.Errorf("op is %q, not one of add, remove, replace, move, copy, test", op.Op)
	}
	return op, nil
}

// readPointer reads a JSON pointer (RFC 6901). The whole document is not for
// policies to replace.
func readPointer(fields map[string]any, field string) ([]string, error) {
	text, _ := fields[field].(string)
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("%s is %q, not a JSON pointer such as /metadata/labels/team", field, text)
	}
	segments := strings.Split(text[1:], "/")
	for i, segment := range segments {
		segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	}
	return segments, checkIdentity(field, segments)
}

// identity are the fields that identify the object. The API server continues with the original
// request, so a change of them has wrong results, or errors that do not name the policy.
var identity = [][]string{
	{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "generateName"},
	{"metadata", "namespace"}, {"metadata", "uid"},
}

func checkIdentity(field string, path []string) error {
	for _, protected := range identity {
		if IsPrefix(path, protected) || IsPrefix(protected, path) {
			return fmt.Errorf("%s is %s, which says what the object is; deny instead", field, Pointer(path))
		}
	}
	return nil
}

// Pointer is the reverse of readPointer.
func Pointer(segments []string) string {
	var b strings.Builder
	for _, segment := range segments {
		b.WriteString("/")
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(segment))
	}
	return b.String()
}

// Apply carries out one operation and records it.
func (d *Document) Apply(op Step) error {
	switch op.Op {
	case "test":
		have, err := Get(d.Root, op.Path)
		if err != nil {
			return err
		}
		if !equal(have, op.Value) {
			return fmt.Errorf("test %s: the value is another", Pointer(op.Path))
		}
	case "copy", "move":
		value, err := Get(d.Root, op.From)
		if err != nil {
			return err
		}
		if op.Op == "move" {
			if IsPrefix(op.From, op.Path) {
				return fmt.Errorf("move %s into itself", Pointer(op.From))
			}
			if err := d.change("remove", op.From, nil); err != nil {
				return err
			}
		}
		return d.add(op.Path, runtime.DeepCopyJSONValue(value))
	case "add":
		return d.add(op.Path, runtime.DeepCopyJSONValue(op.Value))
	default: // replace, remove: ReadStep lets no other through
		return d.change(op.Op, op.Path, runtime.DeepCopyJSONValue(op.Value))
	}
	return nil
}

// add creates the parents that are missing or null, then adds.
func (d *Document) add(path []string, value any) error {
	node := d.Root
	for i, segment := range path[:len(path)-1] {
		next, err := Get(node, []string{segment})
		if _, isMap := node.(map[string]any); isMap && (err != nil || next == nil) {
			var parent any = map[string]any{}
			if path[i+1] == "-" {
				parent = []any{}
			}
			if err := d.change("add", path[:i+1], parent); err != nil {
				return err
			}
			next = node.(map[string]any)[segment]
		} else if err != nil {
			return fmt.Errorf("add %s: %w", Pointer(path), err)
		}
		node = next
	}
	return d.change("add", path, value)
}

// change carries out add, replace or remove at a path whose parent is there.
func (d *Document) change(op string, path []string, value any) error {
	root, err := changed(d.Root, op, path, value)
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, Pointer(path), err)
	}
	d.Root = root
	operation := Operation{Op: op, Path: Pointer(path)}
	if op != "remove" {
		if operation.Value, err = json.Marshal(value); err != nil {
			return fmt.Errorf("%s %s: %w", op, Pointer(path), err)
		}
	}
	d.Applied = append(d.Applied, operation)
	return nil
}

// changed is node with the change made below it; maps are changed in place.
func changed(node any, op string, path []string, value any) (any, error) {
	key, rest := path[0], path[1:]
	switch node := node.(type) {
	case map[string]any:
		child, exists := node[key]
		switch {
		case len(rest) > 0:
			if !exists {
				return nil, fmt.Errorf("there is no %q", key)
			}
			next, err := changed(child, op, rest, value)
			if err != nil {
				return nil, err
			}
			node[key] = next
		case op != "add" && !exists:
			return nil, fmt.Errorf("there is no %q", key)
		case op == "remove":
			delete(node, key)
		default:
			node[key] = value
		}
		return node, nil
	case []any:
		if len(rest) == 0 && op == "add" {
			if key == "-" {
				return append(node, value), nil
			}
			i, err := Index(key, len(node)+1)
			if err != nil {
				return nil, err
			}
			return slices.Insert(node, i, value), nil
		}
		i, err := Index(key, len(node))
		if err != nil {
			return nil, err
		}
		switch {
		case len(rest) > 0:
			next, err := changed(node[i], op, rest, value)
			if err != nil {
				return nil, err
			}
			node[i] = next
		case op == "remove":
			return slices.Delete(node, i, i+1), nil
		default:
			node[i] = value
		}
		return node, nil
	default:
		return nil, fmt.Errorf("%q is below %s, which has no fields", key, terms.KindOf(node))
	}
}

// Index reads a list index below length. "-", behind the last element, is none:
// only add may point there.
func Index(key string, length int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || strconv.Itoa(i) != key {
		return 0, fmt.Errorf("%q is not a list index", key)
	}
	if i >= length {
		return 0, fmt.Errorf("index %d is outside the list", i)
	}
	return i, nil
}

// Get is the value at a path; the error names the missing part.
func Get(node any, path []string) (any, error) {
	for _, key := range path {
		switch value := node.(type) {
		case map[string]any:
			next, ok := value[key]
			if !ok {
				return nil, fmt.Errorf("there is no %q", key)
			}
			node = next
		case []any:
			i, err := Index(key, len(value))
			if err != nil {
				return nil, err
			}
			node = value[i]
		default:
			return nil, fmt.Errorf("%q is below %s, which has no fields", key, terms.KindOf(node))
		}
	}
	return node, nil
}

// IsPrefix says whether a path begins with another, or is the same.
func IsPrefix(prefix, path []string) bool {
	return len(prefix) <= len(path) && slices.Equal(prefix, path[:len(prefix)])
}

// Defaults are the additions that put defaults where a document has nothing or null.
// Maps are merged; anything else is a value of its own.
func Defaults(root, defaults any) ([]Step, error) {
	fields, ok := defaults.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("defaults is %s, not an object", terms.KindOf(defaults))
	}
	var ops []Step
	collectDefaults(root, fields, nil, &ops)
	for _, op := range ops {
		if err := checkIdentity("a default", op.Path); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

func collectDefaults(node any, defaults map[string]any, path []string, ops *[]Step) {
	object, isMap := node.(map[string]any)
	if !isMap && node != nil {
		return // a list or scalar of the user's own stays
	}
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		at := append(slices.Clone(path), key)
		have := object[key]
		fields, merges := defaults[key].(map[string]any)
		switch {
		case merges && len(fields) > 0:
			collectDefaults(have, fields, at, ops)
		case have == nil && defaults[key] != nil:
			*ops = append(*ops, Step{Op: "add", Path: at, Value: defaults[key]})
		}
	}
}

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Operation is the step as JSON has it.
func (op Step) Operation() Operation {
	out := Operation{Op: op.Op, Path: Pointer(op.Path)}
	if op.From != nil {
		out.From = Pointer(op.From)
	}
	if op.Op != "remove" && op.From == nil {
		text, err := json.Marshal(op.Value)
		if err != nil {
			panic("what came as JSON always has JSON: " + err.Error())
		}
		out.Value = text
	}
	return out
}
