package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Object is one Kubernetes object of a file, with the lines of its fields.
type Object struct {
	File                       string
	Line                       int // of the object, from 1
	Group, Version, Kind, Name string
	Annotations                map[string]string
	JSON                       []byte

	node     func() *yaml.Node // nil where the lines of fields are not known
	nodeLine int               // of the first line that node counts
}

// nodeOf parses a text once, when the line of a field is first needed: for an object without
// errors, often never.
func nodeOf(text []byte) func() *yaml.Node {
	return sync.OnceValue(func() *yaml.Node {
		root := &yaml.Node{}
		if err := yaml.Unmarshal(text, root); err != nil || len(root.Content) != 1 {
			return nil
		}
		return root.Content[0]
	})
}

// header contains the fields common to all objects.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// ObjectError is an error about a document of a file.
type ObjectError struct {
	File    string
	Line    int // from 1; 0 where the message begins with the line
	Message string
}

// ReadObjects reads the objects of a file; lists are unpacked. The errors are about single
// documents.
func ReadObjects(file, text string) ([]Object, []*ObjectError) {
	found, err := Read(file, []byte(text))
	if err != nil {
		return nil, []*ObjectError{locatedError(file, err)}
	}
	var objects []Object
	var errs []*ObjectError
	for _, d := range found {
		whole := Object{File: file, Line: d.Line, JSON: d.JSON, node: nodeOf(d.Text), nodeLine: d.TextLine}
		unpacked, err := whole.unpack()
		if err != nil {
			errs = append(errs, &ObjectError{file, d.Line, err.Error()})
		}
		objects = append(objects, unpacked...)
	}
	return objects, errs
}

// locatedError is an error of Read, whose text begins with the location.
func locatedError(file string, err error) *ObjectError {
	out := &ObjectError{File: file, Message: err.Error()}
	rest, ok := strings.CutPrefix(out.Message, file+":")
	if !ok {
		return out
	}
	if number, message, ok := strings.Cut(rest, ": "); ok {
		if _, err := fmt.Sscanf(number, "%d", &out.Line); err == nil {
			out.Message = message
		}
	}
	return out
}

func (o Object) unpack() ([]Object, error) {
	var h header
	if err := json.Unmarshal(o.JSON, &h); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	group, version, hasGroup := strings.Cut(h.APIVersion, "/")
	if !hasGroup {
		group, version = "", h.APIVersion
	}
	o.Group, o.Version = group, version
	o.Kind, o.Name, o.Annotations = h.Kind, h.Metadata.Name, h.Metadata.Annotations
	if o.Kind != "List" && !(strings.HasSuffix(o.Kind, "List") && h.Items != nil) {
		return []Object{o}, nil
	}
	var objects []Object
	for i, item := range h.Items {
		one := Object{File: o.File, Line: o.LineOf("items", i), JSON: item, node: func() *yaml.Node { return o.at("items", i) }, nodeLine: o.nodeLine}
		found, err := one.unpack()
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// at returns the YAML node at a path of names and indices: nil if it is unknown.
func (o Object) at(path ...any) *yaml.Node {
	if o.node == nil {
		return nil
	}
	node := o.node()
	for _, step := range path {
		if node == nil {
			return nil
		}
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		switch step := step.(type) {
		case int:
			if node.Kind != yaml.SequenceNode || step >= len(node.Content) {
				return nil
			}
			node = node.Content[step]
		case string:
			node = field(node, step)
		}
	}
	return node
}

func field(node *yaml.Node, name string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// LineOf returns the line of the innermost part of a path that exists.
func (o Object) LineOf(path ...any) int {
	for n := len(path); n > 0; n-- {
		if node := o.at(path[:n]...); node != nil {
			return o.nodeLine + node.Line - 1
		}
	}
	return o.Line
}

// TextLine returns the line of the first line of a text.
func (o Object) TextLine(path ...any) int {
	line := o.LineOf(path...)
	if node := o.at(path...); node != nil && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return line + 1
	}
	return line
}

// PathText prints a.b[0].c.
func PathText(path []any) string {
	var b strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i > 0 {
				b.WriteString(".")
			}
			b.WriteString(step)
		}
	}
	return b.String()
}
