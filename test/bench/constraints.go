package main

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/test/installation"
)

// policyFiles has the peers' policies in addition to config/samples/gatekeeper.
//
//go:embed policies
var policyFiles embed.FS

// constraint is a constraint about Pods.
type constraint struct {
	template   string // its folder
	kind, name string
	parameters map[string]any
	match      map[string]any
	// action is the enforcementAction, if not the default.
	action string
	// whole is the constraint as in its file, where the fields above are only a part of it.
	whole *unstructured.Unstructured
}

// library is what the constraints of the benchmarks are taken from.
type library struct {
	templates   map[string]string // in YAML, by folder
	constraints []constraint      // all match Pods
}

// commonConstraints are what nearly every cluster has: those of a small policy set.
var commonConstraints = []string{
	"privileged", "host-namespaces", "privilege-escalation", "users", "allowed-repos",
	"disallowed-tags", "container-limits", "requests-basic", "required-probes", "labels-owner",
}

// aboutPods is the match of a constraint that is asked about every Pod.
var aboutPods = map[string]any{"kinds": []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"Pod"}}}}

func readLibrary() (*library, error) {
	l := &library{templates: map[string]string{}}
	folders, err := filepath.Glob(filepath.Join(installation.Root(), "config/samples/gatekeeper/*/constraint.yaml"))
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, path := range folders {
		folder := filepath.Base(filepath.Dir(path))
		template, err := os.ReadFile(filepath.Join(filepath.Dir(path), "template.yaml"))
		if err != nil {
			return nil, err
		}
		var sample unstructured.Unstructured
		if err := readYAML(path, &sample.Object); err != nil {
			return nil, err
		}
		kinds[folder], l.templates[folder] = sample.GetKind(), string(template)
		if matchesPods(sample.Object) {
			parameters, _, _ := unstructured.NestedMap(sample.Object, "spec", "parameters")
			l.constraints = append(l.constraints, constraint{template: folder, kind: sample.GetKind(), name: sample.GetName(), parameters: parameters, match: aboutPods})
		}
	}
	var more []struct {
		Template, Name string
		Parameters     map[string]any
	}
	if err := readPolicies("constraints.yaml", &more); err != nil {
		return nil, err
	}
	for _, m := range more {
		l.constraints = append(l.constraints, constraint{template: m.Template, kind: kinds[m.Template], name: m.Name, parameters: m.Parameters, match: aboutPods})
	}
	slices.SortStableFunc(l.constraints, func(a, b constraint) int {
		return rank(a.name) - rank(b.name)
	})
	return l, nil
}

// rank puts the common constraints first.
func rank(name string) int {
	if i := slices.Index(commonConstraints, name); i >= 0 {
		return i
	}
	return len(commonConstraints)
}

func matchesPods(sample map[string]any) bool {
	kinds, _, _ := unstructured.NestedSlice(sample, "spec", "match", "kinds")
	return slices.ContainsFunc(kinds, func(kind any) bool {
		names, _, _ := unstructured.NestedStringSlice(kind.(map[string]any), "kinds")
		return slices.Contains(names, "Pod")
	})
}

func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

func readPolicies(name string, into any) error {
	text, err := policyFiles.ReadFile("policies/" + name)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("reading policies/%s: %w", name, err)
	}
	return nil
}

// matching are n constraints that are all asked about a Pod. Beyond those there are,
// they are the same again, under other names and with a longer list where there is one.
func (l *library) matching(n int) []constraint {
	chosen := slices.Clone(l.constraints[:min(n, len(l.constraints))])
	for i := len(chosen); i < n; i++ {
		chosen = append(chosen, l.constraints[i%len(l.constraints)].variant(i))
	}
	return chosen
}

// elsewhere are n constraints, none of which is asked about the Pods of the
// benchmarks: half are for other kinds, half for the namespaces of other teams.
func (l *library) elsewhere(n int) []constraint {
	others := []any{"ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim"}
	chosen := make([]constraint, n)
	for i := range chosen {
		c := l.constraints[i%len(l.constraints)].variant(1000 + i)
		if i%2 == 0 {
			c.match = map[string]any{"kinds": []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{others[i/2%len(others)]}}}}
		} else {
			c.match = maps.Clone(aboutPods)
			c.match["namespaces"] = []any{fmt.Sprintf("team-%d", i)}
		}
		chosen[i] = c
	}
	return chosen
}

// longerLists are parameters that may hold one more word without denying the Pod of
// the benchmarks.
var longerLists = []string{"repos", "tags", "forbidden", "drivers", "exemptImages", "users", "exempt"}

// variant is the same constraint under another name.
func (c constraint) variant(n int) constraint {
	c.name = fmt.Sprintf("%s-%d", c.name, n)
	c.parameters = maps.Clone(c.parameters)
	for _, field := range longerLists {
		if list, ok := c.parameters[field].([]any); ok {
			c.parameters[field] = append(slices.Clone(list), fmt.Sprintf("other-%d.example.com/", n))
			break
		}
	}
	return c
}

// named are the constraints with these names.
func (l *library) named(names []string) []constraint {
	return slices.DeleteFunc(slices.Clone(l.constraints), func(c constraint) bool { return !slices.Contains(names, c.name) })
}

// id identifies a constraint among those of all kinds, as in Lintel's denials.
func (c constraint) id() string { return c.kind + "/" + c.name }

// object is the constraint as Gatekeeper has it.
func (c constraint) object() *unstructured.Unstructured {
	if c.whole != nil {
		return c.whole.DeepCopy()
	}
	spec := map[string]any{}
	if c.match != nil { // null is not a valid match
		spec["match"] = c.match
	}
	if len(c.parameters) > 0 {
		spec["parameters"] = c.parameters
	}
	if c.action != "" {
		spec["enforcementAction"] = c.action
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": c.kind,
		"metadata": map[string]any{"name": c.name}, "spec": spec,
	}}
}

// files are constraints with their templates, as a source of Lintel holds them.
func (l *library) files(constraints []constraint) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range constraints {
		name := c.template + ".yaml"
		if files[name] == "" {
			files[name] = strings.TrimSpace(l.templates[c.template]) + "\n"
		}
		text, err := yaml.Marshal(c.object().Object)
		if err != nil {
			return nil, err
		}
		files[name] += "---\n" + string(text)
	}
	return files, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
