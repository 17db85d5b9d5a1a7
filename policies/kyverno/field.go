package kyverno

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// field is a value in a YAML document, with its path and line.
type field struct {
	node *yaml.Node
	path string
}

// exists reports whether the document has the field.
func (f field) exists() bool { return f.node != nil && f.node.Tag != "!!null" }

func (f field) line() int {
	if f.node == nil {
		return 0
	}
	return f.node.Line
}

func (f field) isMap() bool  { return f.node != nil && f.node.Kind == yaml.MappingNode }
func (f field) isList() bool { return f.node != nil && f.node.Kind == yaml.SequenceNode }

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	value field
}

// entries are the keys of a mapping, in the order of the document.
func (f field) entries() (out []entry) {
	if !f.isMap() {
		return nil
	}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key := f.node.Content[i].Value
		out = append(out, entry{key, f.below(f.node.Content[i+1], "."+key)})
	}
	return out
}

// get is the value at a path of keys; a field that does not exist has only a path.
func (f field) get(keys ...string) field {
	for _, key := range keys {
		found := field{path: strings.TrimPrefix(f.path+"."+key, ".")}
		for _, e := range f.entries() {
			if e.key == key {
				found = e.value
			}
		}
		f = found
	}
	return f
}

// items are the elements of a list.
func (f field) items() (out []field) {
	if !f.isList() {
		return nil
	}
	for i, node := range f.node.Content {
		out = append(out, f.below(node, fmt.Sprintf("[%d]", i)))
	}
	return out
}

func (f field) below(node *yaml.Node, suffix string) field {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return field{node, strings.TrimPrefix(f.path+suffix, ".")}
}

// text is the text of a scalar.
func (f field) text() string {
	if f.node == nil || f.node.Kind != yaml.ScalarNode {
		return ""
	}
	return f.node.Value
}

// texts are the texts of a list of scalars.
func (f field) texts() (out []string) {
	for _, item := range f.items() {
		out = append(out, item.text())
	}
	return out
}

// value is the field as JSON has it.
func (f field) value() any {
	var out any
	if f.node == nil || f.node.Decode(&out) != nil {
		return nil
	}
	return out
}
