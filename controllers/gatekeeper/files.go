package gatekeeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
)

// problem is why an object stays out of the source.
type problem struct {
	object  unstructured.Unstructured
	message string
}

// check compiles templates and constraints, each group by itself.
type check func(files map[string]string) error

// filesOf are the files of the source: one for the settings, and one for each template
// with its constraints. What does not compile stays out.
func filesOf(settings, templates, constraints []unstructured.Unstructured, compiles check) (files map[string]string, problems []problem) {
	files = map[string]string{}
	drop := func(object unstructured.Unstructured, err error) {
		problems = append(problems, problem{object, err.Error()})
	}
	var usable []unstructured.Unstructured
	for _, object := range sorted(settings) {
		if err := readable(fileOf(object)); err != nil {
			drop(object, err)
			continue
		}
		usable = append(usable, object)
	}
	if len(usable) > 0 {
		files["settings.yaml"] = fileOf(usable...)
	}
	for _, template := range sorted(templates) {
		kind := constraintKind(template)
		name := template.GetName() + ".yaml"
		alone := fileOf(template)
		if err := compiles(map[string]string{name: alone}); err != nil {
			drop(template, err)
			continue
		}
		group := []unstructured.Unstructured{template}
		for _, constraint := range sorted(constraints) {
			if constraint.GetKind() != kind {
				continue
			}
			with := map[string]string{name: alone, "constraint.yaml": fileOf(constraint), "settings.yaml": files["settings.yaml"]}
			if _, errs := gatekeeper.Dialect(with); len(errs) > 0 {
				drop(constraint, errs)
				continue
			}
			group = append(group, constraint)
		}
		if len(group) > 1 {
			files[name] = fileOf(group...)
		}
	}
	if len(files) == 1 && files["settings.yaml"] != "" {
		return nil, problems // of nothing
	}
	return files, problems
}

// readable says what is wrong with an object that compiles to nothing by itself.
func readable(text string) error {
	if _, errs := gatekeeper.Dialect(map[string]string{"object.yaml": text}); len(errs) > 0 {
		return errs
	}
	return nil
}

// fileOf is what people wrote of objects, in YAML: the same objects give the same text.
func fileOf(objects ...unstructured.Unstructured) string {
	var documents []string
	for _, object := range objects {
		metadata := map[string]any{"name": object.GetName()}
		if annotations := written(object.GetAnnotations()); len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata, "spec": object.Object["spec"],
		})
		if err != nil {
			panic("what came as JSON always has YAML: " + err.Error())
		}
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n")
}

// written are the annotations that templates are read for.
func written(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range annotations {
		if strings.HasPrefix(name, "metadata.gatekeeper.sh/") {
			kept[name] = value
		}
	}
	return kept
}

func sorted(objects []unstructured.Unstructured) []unstructured.Unstructured {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetKind()+"/"+a.GetName(), b.GetKind()+"/"+b.GetName())
	})
	return objects
}

func constraintKind(template unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(template.Object, "spec", "crd", "spec", "names", "kind")
	return kind
}

// checker is a check that remembers what it has found of each set of files.
func checker(compile func(engine.Source) error) check {
	known := map[string]error{}
	return func(files map[string]string) error {
		digest := engine.Source{Files: files}.Digest()
		if err, ok := known[digest]; ok {
			return err
		}
		err := compile(engine.Source{Name: sourceName, Files: files})
		if !errors.As(err, new(engine.CompileErrors)) {
			err = nil // as far as it is known; the gate judges again
		}
		if len(known) > 1000 {
			clear(known)
		}
		known[digest] = err
		return err
	}
}

// sourceObject is the PolicySource as it is applied.
func sourceObject(files map[string]string) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": map[string]any{"name": sourceName},
		"spec":     map[string]any{"inline": map[string]any{"files": files}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing PolicySource %s: %w", sourceName, err)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(text)
}
