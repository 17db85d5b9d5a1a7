package gatekeeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
)

// The names of the engines of a template's code.
const (
	regoEngine = "Rego"
	celEngine  = "K8sNativeValidation"
)

// allOperations are those of requests.
var allOperations = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// targetName is the only target that Gatekeeper has.
const targetName = "admission.k8s.gatekeeper.sh"

// Annotations of a template that are read.
const (
	titleAnnotation = "metadata.gatekeeper.sh/title"
	syncAnnotation  = "metadata.gatekeeper.sh/requires-sync-data"
)

// templateObject contains the fields of a ConstraintTemplate that are read, in all its versions.
type templateObject struct {
	Spec struct {
		CRD struct {
			Spec struct {
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
				Validation validationObject `json:"validation"`
			} `json:"spec"`
		} `json:"crd"`
		Targets []targetObject `json:"targets"`
	} `json:"spec"`
}

// validationObject is the schema of the constraints' parameters in a template.
type validationObject struct {
	LegacySchema    *bool           `json:"legacySchema"`
	OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
}

type targetObject struct {
	Target     string       `json:"target"`
	Rego       string       `json:"rego"`
	Libs       []string     `json:"libs"`
	Code       []codeObject `json:"code"`
	Operations []string     `json:"operations"`
}

type codeObject struct {
	Engine string          `json:"engine"`
	Source json.RawMessage `json:"source"`
}

type regoSource struct {
	Rego    string   `json:"rego"`
	Libs    []string `json:"libs"`
	Version string   `json:"version"`
}

// template is a ConstraintTemplate that was read.
type template struct {
	document    document
	kind, title string
	schema      *schema
	operations  []string
	// namesOperations reports that operations are those of the template, not the default.
	namesOperations bool
	modules         []*ast.Module // nil where they have errors
	program         *cel.Program  // instead of modules, of a template in CEL alone
	text            string        // the source of modules or of the program, with its location
	readsInventory  bool
	readsNamespace  bool
	requires        []admission.GroupVersionKind // of its annotation
	constraints     []definition.Constraint
	warnings        definition.CompileErrorList
}

func (t *template) compiled() definition.Template {
	return definition.Template{Name: t.kind, Modules: t.modules, Text: t.text, Constraints: t.constraints, ReadsNamespace: t.readsNamespace, Warnings: t.warnings}
}

// readTemplate reads a template. If it returns errors, the kind is still set if the template has
// one.
func readTemplate(d document, m mode) (*template, definition.CompileErrorList) {
	t := &template{document: d, title: d.annotations[titleAnnotation]}
	var object templateObject
	if err := d.decode(&object); err != nil {
		return t, definition.CompileErrorList{d.errorAt("%v", err)}
	}
	t.kind = object.Spec.CRD.Spec.Names.Kind
	switch {
	case t.kind == "":
		return t, definition.CompileErrorList{d.errorAt("ConstraintTemplate %q: spec.crd.spec.names.kind is empty", d.name)}
	case d.name != strings.ToLower(t.kind):
		return t, definition.CompileErrorList{d.errorAt("ConstraintTemplate %q: its name must be its kind in lower case, %q", d.name, strings.ToLower(t.kind))}
	}
	var errs definition.CompileErrorList
	var err error
	if t.schema, err = readSchema(d, object.Spec.CRD.Spec.Validation); err != nil {
		t.schema = nil
		errs = append(errs, d.errorIn([]any{"spec", "crd", "spec", "validation", "openAPIV3Schema"}, "%v", err))
	}
	if len(object.Spec.Targets) != 1 || object.Spec.Targets[0].Target != targetName {
		return t, append(errs, d.errorIn([]any{"spec", "targets"}, "a template has one target, %s", targetName))
	}
	errs = append(errs, t.readTarget(object.Spec.Targets[0], m)...)
	if requires, err := requiredByAnnotation(d.annotations[syncAnnotation]); err != nil {
		errs = append(errs, d.errorIn([]any{"metadata", "annotations", syncAnnotation}, "%v", err))
	} else {
		t.requires = requires
	}
	return t, errs
}

func (t *template) readTarget(target targetObject, m mode) definition.CompileErrorList {
	path := []any{"spec", "targets", 0}
	errs := t.readOperations(target, m)
	source, at, err := t.findRego(target)
	if errors.Is(err, errOnlyCEL) {
		return append(errs, t.readCEL(target)...)
	}
	if err != nil {
		return append(errs, t.document.errorIn(path, "%v", err))
	}
	version, err := regoVersion(source.Version)
	if err != nil {
		return append(errs, t.document.errorIn(append(at, "version"), "%v", err))
	}
	code := &rego{kind: t.kind, file: t.document.file, version: version}
	code.addMain(t.document.textLine(append(slices.Clone(at), "rego")...), source.Rego)
	for i, lib := range source.Libs {
		code.addLibrary(t.document.textLine(append(slices.Clone(at), "libs", i)...), lib)
	}
	if len(code.errs) > 0 {
		return append(errs, code.errs...)
	}
	t.modules, t.text, t.readsInventory = code.modules, code.text.String(), code.readsInventory
	for _, text := range append([]string{source.Rego}, source.Libs...) {
		t.readsNamespace = t.readsNamespace || strings.Contains(text, "namespaceObject") || strings.Contains(text, "_unstable")
	}
	return errs
}

func (t *template) readOperations(target targetObject, m mode) definition.CompileErrorList {
	if m.test {
		t.operations = allOperations
		return nil
	}
	t.operations = []string{"CREATE", "UPDATE"}
	if len(target.Operations) == 0 {
		return nil
	}
	t.operations, t.namesOperations = nil, true
	for i, operation := range target.Operations {
		switch {
		case operation == "*":
			t.operations = allOperations
			return nil
		case !slices.Contains(allOperations, operation):
			return definition.CompileErrorList{t.document.errorIn([]any{"spec", "targets", 0, "operations", i}, "%q is not one of *, %s", operation, strings.Join(allOperations, ", "))}
		}
		t.operations = append(t.operations, operation)
	}
	return nil
}

// errOnlyCEL reports a target in CEL alone.
var errOnlyCEL = errors.New("the target has no Rego")

// findRego returns the Rego of a target, and its location. If a target also has CEL, Rego is
// evaluated, as gator does.
func (t *template) findRego(target targetObject) (regoSource, []any, error) {
	at := []any{"spec", "targets", 0}
	source := regoSource{Rego: target.Rego, Libs: target.Libs}
	cel := false
	for i, code := range target.Code {
		switch code.Engine {
		case regoEngine:
			if target.Rego != "" {
				return source, nil, fmt.Errorf("has Rego both in rego and in code[%d]; keep one", i)
			}
			if err := json.Unmarshal(code.Source, &source); err != nil {
				return source, nil, fmt.Errorf("code[%d].source: %w", i, err)
			}
			at = []any{"spec", "targets", 0, "code", i, "source"}
		case celEngine:
			cel = true
		default:
			return source, nil, fmt.Errorf("code[%d].engine is %q, which is not one of %s, %s", i, code.Engine, regoEngine, celEngine)
		}
	}
	switch {
	case source.Rego != "":
		return source, at, nil
	case cel:
		return source, nil, errOnlyCEL
	default:
		return source, nil, fmt.Errorf("has no Rego: write it under rego, or under code with the engine %s; CEL has the engine %s", regoEngine, celEngine)
	}
}

func regoVersion(version string) (ast.RegoVersion, error) {
	switch version {
	case "", "v0":
		return ast.RegoV0, nil
	case "v1":
		return ast.RegoV1, nil
	default:
		return 0, fmt.Errorf("%q is not v0 or v1", version)
	}
}

// Modules returns the Rego of the templates in files, one module for each file, at its original
// lines: for reports that name lines.
func Modules(files map[string]string) map[string]*ast.Module {
	f := &folder{mode: mode{test: true}, templates: map[string]*template{}}
	modules := map[string]*ast.Module{}
	for name, text := range files {
		documents, _ := readDocuments(name, text)
		for _, d := range documents {
			if d.group == templateGroup {
				f.add(d)
			}
		}
	}
	for _, t := range f.templates {
		for _, module := range t.modules {
			if whole := modules[t.document.file]; whole != nil {
				whole.Rules = append(whole.Rules, module.Rules...)
				continue
			}
			modules[t.document.file] = module
		}
	}
	return modules
}
