package gatekeeper

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// document is one object of a file, with its location.
type document struct {
	file        string
	line        int // of the object, from 1
	group       string
	version     string
	kind        string
	name        string
	annotations map[string]string
	json        []byte
	node        func() *yaml.Node // nil where the lines of fields are not known
	nodeLine    int               // of the first line that node counts
	// template is set for objects that a Reader keeps.
	template *keptTemplate
}

// nodeOf parses a text once, when the line of a field is first needed: for a constraint without
// errors, never.
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

// IsPolicyFile reports whether a file may contain Gatekeeper objects for admission.
func IsPolicyFile(name, text string) bool {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		return false
	}
	for _, folder := range strings.Split(path.Dir(name), "/") {
		if folder == "testdata" {
			return false
		}
	}
	return strings.Contains(text, "gatekeeper.sh/")
}

// readDocuments reads the objects of a file; lists are unpacked.
func readDocuments(file, text string) ([]document, definition.CompileErrors) {
	found, err := manifest.Read(file, []byte(text))
	if err != nil {
		return nil, definition.CompileErrors{locatedError(file, err)}
	}
	var documents []document
	var errs definition.CompileErrors
	for _, d := range found {
		whole := document{file: file, line: d.Line, json: d.JSON, node: nodeOf(d.Text), nodeLine: d.TextLine}
		unpacked, err := whole.unpack()
		if err != nil {
			errs = append(errs, whole.errorAt("%v", err))
		}
		documents = append(documents, unpacked...)
	}
	return documents, errs
}

// locatedError is an error of the reader whose text begins with the location.
func locatedError(file string, err error) definition.CompileError {
	out := definition.CompileError{File: file, Message: err.Error()}
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

func (d document) unpack() ([]document, error) {
	var h header
	if err := json.Unmarshal(d.json, &h); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	d.group, d.version, _ = strings.Cut(h.APIVersion, "/")
	d.kind, d.name, d.annotations = h.Kind, h.Metadata.Name, h.Metadata.Annotations
	if d.kind != "List" && !(strings.HasSuffix(d.kind, "List") && h.Items != nil) {
		return []document{d}, nil
	}
	var documents []document
	for i, item := range h.Items {
		one := document{file: d.file, line: d.lineOf("items", i), json: item, node: func() *yaml.Node { return d.at("items", i) }, nodeLine: d.nodeLine}
		found, err := one.unpack()
		if err != nil {
			return nil, err
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

// at returns the YAML node at a path of names and indices: nil if it is unknown.
func (d document) at(path ...any) *yaml.Node {
	if d.node == nil {
		return nil
	}
	node := d.node()
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

// lineOf is the line of the innermost part of a path that is there.
func (d document) lineOf(path ...any) int {
	for n := len(path); n > 0; n-- {
		if node := d.at(path[:n]...); node != nil {
			return d.nodeLine + node.Line - 1
		}
	}
	return d.line
}

// textLine is the line of the first line of a text.
func (d document) textLine(path ...any) int {
	line := d.lineOf(path...)
	if node := d.at(path...); node != nil && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return line + 1
	}
	return line
}

func (d document) errorAt(format string, args ...any) definition.CompileError {
	return definition.CompileError{File: d.file, Line: d.line, Message: fmt.Sprintf(format, args...)}
}

// errorIn is about a field.
func (d document) errorIn(path []any, format string, args ...any) definition.CompileError {
	err := d.errorAt("%s: %s", pathText(path), fmt.Sprintf(format, args...))
	err.Line = d.lineOf(path...)
	return err
}

// pathText prints a.b[0].c.
func pathText(path []any) string {
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

// decode reads the object into a typed value.
func (d document) decode(into any) error {
	if err := json.Unmarshal(d.json, into); err != nil {
		return fmt.Errorf("%s %q cannot be read: %s", d.kind, d.name, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
