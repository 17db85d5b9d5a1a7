package gatekeeper

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// document is one object of a file, with its location.
type document struct {
	manifest.Object
	file        string
	line        int // of the object, from 1
	group       string
	version     string
	kind        string
	name        string
	annotations map[string]string
	json        []byte
	// template is set for objects that a Reader keeps.
	template *keptTemplate
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
func readDocuments(file, text string) ([]document, definition.CompileErrorList) {
	objects, problems := manifest.ReadObjects(file, text)
	var errs definition.CompileErrorList
	for _, err := range problems {
		errs = append(errs, definition.CompileError{File: err.File, Line: err.Line, Message: err.Message})
	}
	documents := make([]document, len(objects))
	for i, o := range objects {
		documents[i] = document{Object: o, file: o.File, line: o.Line, group: o.Group, version: o.Version, kind: o.Kind, name: o.Name, annotations: o.Annotations, json: o.JSON}
	}
	return documents, errs
}

// lineOf is the line of the innermost part of a path that is there.
func (d document) lineOf(path ...any) int { return d.LineOf(path...) }

// textLine is the line of the first line of a text.
func (d document) textLine(path ...any) int { return d.TextLine(path...) }

func (d document) errorAt(format string, args ...any) definition.CompileError {
	return definition.CompileError{File: d.file, Line: d.line, Message: fmt.Sprintf(format, args...)}
}

// errorIn is about a field.
func (d document) errorIn(path []any, format string, args ...any) definition.CompileError {
	err := d.errorAt("%s: %s", manifest.PathText(path), fmt.Sprintf(format, args...))
	err.Line = d.lineOf(path...)
	return err
}

// decode reads the object into a typed value.
func (d document) decode(into any) error {
	if err := json.Unmarshal(d.json, into); err != nil {
		return fmt.Errorf("%s %q cannot be read: %s", d.kind, d.name, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
