package gatekeeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
)

// syncedKinds are those that a Config or a SyncSet puts into the inventory.
type syncedKinds []admission.GroupVersionKind

func (s *syncedKinds) add(kinds ...admission.GroupVersionKind) {
	for _, kind := range kinds {
		kind.Version = "" // objects come in the version that the cluster prefers
		if !slices.Contains(*s, kind) {
			*s = append(*s, kind)
		}
	}
}

// processes are those that a Config excludes namespaces from. Lintel syncs no namespaces separately,
// so sync has no effect.
var processes = []string{"audit", "webhook", "mutation-webhook", "sync", "*"}

// addConfig reads which kinds are synced, and which namespaces are excluded.
func (f *folder) addConfig(d document) {
	var object struct {
		Spec struct {
			Sync struct {
				SyncOnly []admission.GroupVersionKind `json:"syncOnly"`
			} `json:"sync"`
			Match []struct {
				ExcludedNamespaces []glob   `json:"excludedNamespaces"`
				Processes          []string `json:"processes"`
			} `json:"match"`
			Validation struct {
				Traces []any `json:"traces"`
			} `json:"validation"`
		} `json:"spec"`
	}
	if err := d.decode(&object); err != nil {
		f.fail(d.errorAt("%v", err))
		return
	}
	if len(object.Spec.Validation.Traces) > 0 {
		f.fail(d.errorIn([]any{"spec", "validation", "traces"}, "reviews are not traced into the log: remove this field, and run `lintel why` for a request, or send spans to OpenTelemetry"))
	}
	f.addSynced(d, []any{"spec", "sync", "syncOnly"}, object.Spec.Sync.SyncOnly)
	for i, match := range object.Spec.Match {
		for j, process := range match.Processes {
			if !slices.Contains(processes, process) {
				f.fail(d.errorIn([]any{"spec", "match", i, "processes", j}, "%q is not one of %s", process, strings.Join(processes, ", ")))
			}
		}
		every := slices.Contains(match.Processes, "*")
		if every || slices.Contains(match.Processes, "webhook") {
			f.excluded = append(f.excluded, match.ExcludedNamespaces...)
		}
		if every || slices.Contains(match.Processes, "mutation-webhook") {
			f.excludedFromMutation = append(f.excludedFromMutation, match.ExcludedNamespaces...)
		}
		if every || slices.Contains(match.Processes, "audit") {
			f.unaudited = append(f.unaudited, match.ExcludedNamespaces...)
		}
	}
}

func (f *folder) addSyncSet(d document) {
	var object struct {
		Spec struct {
			GVKs []admission.GroupVersionKind `json:"gvks"`
		} `json:"spec"`
	}
	if err := d.decode(&object); err != nil {
		f.fail(d.errorAt("%v", err))
		return
	}
	f.addSynced(d, []any{"spec", "gvks"}, object.Spec.GVKs)
}

func (f *folder) addSynced(d document, at []any, kinds []admission.GroupVersionKind) {
	for i, kind := range kinds {
		if kind.Kind == "" || kind.Kind == "*" || kind.Group == "*" {
			f.fail(d.errorIn(append(slices.Clone(at), i), "name one group, version and kind"))
			continue
		}
		f.sync.add(kind)
	}
}

// requires returns the kinds that a template finds in the inventory: those of its own
// annotation, otherwise all synced kinds.
func (f *folder) requires(t *template) ([]admission.GroupVersionKind, error) {
	switch {
	case f.mode.test:
		return f.mode.inventory, nil
	case len(t.requires) > 0:
		return t.requires, nil
	case len(f.sync) > 0:
		return f.sync, nil
	}
	return nil, fmt.Errorf("its template reads data.inventory, and nothing says which kinds are in it: "+
		"add a Config with spec.sync.syncOnly or a SyncSet to the source, or the annotation %s to the template", syncAnnotation)
}

// requiredByAnnotation reads the kinds that a template requires: a list of lists, each with
// alternatives. Gatekeeper ignores quotes and line ends around the list, and public templates
// have both.
func requiredByAnnotation(text string) ([]admission.GroupVersionKind, error) {
	text = strings.Trim(text, "\n\"")
	if text == "" {
		return nil, nil
	}
	var needs [][]struct {
		Groups   []string `json:"groups"`
		Versions []string `json:"versions"`
		Kinds    []string `json:"kinds"`
	}
	if err := json.Unmarshal([]byte(text), &needs); err != nil {
		return nil, fmt.Errorf(`is not JSON of the form [[{"groups": [""], "versions": ["v1"], "kinds": ["Service"]}]]: %w`, err)
	}
	known := admission.BuiltinResources()
	var all syncedKinds
	for _, need := range needs {
		var named, served []admission.GroupVersionKind
		for _, alternative := range need {
			for _, group := range alternative.Groups {
				for _, kind := range alternative.Kinds {
					one := admission.GroupVersionKind{Group: group, Kind: kind}
					named = append(named, one)
					if _, ok := known.ByKind(group, kind); ok {
						served = append(served, one)
					}
				}
			}
		}
		if len(served) > 0 {
			named = served // others are older names of the same
		}
		all.add(named...)
	}
	return all, nil
}
