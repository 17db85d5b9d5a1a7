package gatekeeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
)

// settingsFile is in a folder, so that its name differs from those of all templates.
const settingsFile = "cluster/settings.yaml"

// candidate is an object of the cluster that should be in force.
type candidate struct {
	object unstructured.Unstructured
	// text is the new text for the source, and last the text in the source now: empty if there
	// is none.
	text, last string
}

// id identifies objects. Kinds of two groups never have the same name here.
func id(object unstructured.Unstructured) string { return object.GetKind() + "/" + object.GetName() }

// file is the file of a candidate in the source: one file for each template with its
// constraints, and one for the settings.
func (c *candidate) file() string {
	switch c.object.GroupVersionKind().Group {
	case templateKind.Group:
		return c.object.GetName() + ".yaml"
	case constraintGroup:
		return strings.ToLower(c.object.GetKind()) + ".yaml"
	default:
		return settingsFile
	}
}

// newCandidates returns the objects in the order of their dependencies: settings, templates,
// constraints.
func newCandidates(settings, templates, constraints []unstructured.Unstructured, present map[string]string) []*candidate {
	last := fileTexts(present)
	var out []*candidate
	for _, list := range [][]unstructured.Unstructured{settings, templates, constraints} {
		for _, object := range sorted(list) {
			out = append(out, &candidate{object, textOf(object), last[id(object)]})
		}
	}
	return out
}

// layout contains the files and the location of each candidate in them.
type layout struct {
	files  map[string]string
	starts map[string][]start // by file, in their order
}

type start struct {
	line int
	of   *candidate
}

func layoutOf(list []*candidate) layout {
	l := layout{files: map[string]string{}, starts: map[string][]start{}}
	for _, c := range list {
		name := c.file()
		if l.files[name] != "" {
			l.files[name] += separator
		}
		l.starts[name] = append(l.starts[name], start{strings.Count(l.files[name], "\n") + 1, c})
		l.files[name] += c.text
	}
	return l
}

// at returns the candidate at a location: nil if there is none.
func (l layout) at(file string, line int) *candidate {
	var found *candidate
	for _, s := range l.starts[file] {
		if s.line <= line || found == nil {
			found = s.of
		}
	}
	return found
}

// separator is a line that no document contains: similar lines within documents are indented.
const separator = "---\n"

// textOf returns the part of an object that users write, as YAML: the same object always gives
// the same text.
func textOf(object unstructured.Unstructured) string {
	metadata := map[string]any{"name": object.GetName()}
	if annotations := written(object.GetAnnotations()); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	content := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata}
	if spec, found := object.Object["spec"]; found { // a constraint without one matches everything
		content["spec"] = spec
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		panic("what came as JSON always has YAML: " + err.Error())
	}
	return string(text)
}

// fileTexts returns the documents of files, by object id.
func fileTexts(files map[string]string) map[string]string {
	found := map[string]string{}
	for _, object := range objectsOf(files) {
		found[id(object)] = textOf(object)
	}
	return found
}

// objectsOf returns the objects in files that this controller has written.
func objectsOf(files map[string]string) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, text := range files {
		for _, document := range strings.Split("\n"+text, "\n"+separator) {
			object := unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err == nil && object.GetKind() != "" {
				out = append(out, object)
			}
		}
	}
	return sorted(out)
}

// written lists the annotations that are read from templates.
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
	slices.SortFunc(objects, func(a, b unstructured.Unstructured) int { return strings.Compare(id(a), id(b)) })
	return objects
}

func constraintKind(template unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(template.Object, "spec", "crd", "spec", "names", "kind")
	return kind
}

// hasEffect reports whether there is a constraint or a mutator among the candidates.
func hasEffect(list []*candidate) bool {
	return slices.ContainsFunc(list, func(c *candidate) bool {
		group := c.object.GroupVersionKind().Group
		return group == constraintGroup || group == mutationGroup
	})
}

// sourceObject is the PolicySource to apply. An annotation lists the objects that are not
// enforced, for the status.
func sourceObject(files map[string]string, notEnforced string) (*unstructured.Unstructured, error) {
	metadata := map[string]any{"name": sourceName}
	if notEnforced != "" {
		metadata["annotations"] = map[string]any{v1alpha1.NotEnforcedAnnotation: notEnforced}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": metadata,
		"spec":     map[string]any{"inline": map[string]any{"files": files}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing PolicySource %s: %w", sourceName, err)
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(text)
}

// digestOf returns the digest that the status of a source with these files reports once it is
// live.
func digestOf(files map[string]string) string { return definition.Source{Files: files}.Digest() }
