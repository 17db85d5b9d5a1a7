package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// PassedOver finds what a source holds that looks as if it were enforced, and is not:
// policies of other engines, PolicySources, charts, and what a kustomization would make
// of the files.
func PassedOver(files map[string]string) (found definition.CompileErrorList) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "Chart.yaml" {
			found = append(found, definition.CompileError{File: name, Message: "a chart is not rendered, and its templates are passed over: put what `helm template` prints into the source"})
			continue
		}
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || !isKustomization(name) && !mayBePassedOver(files[name]) {
			continue
		}
		documents, err := manifest.Read(name, []byte(files[name]))
		if err != nil {
			continue // who reads the file says so
		}
		for _, document := range documents {
			if why := passedOverObject(name, document); why != "" {
				found = append(found, definition.CompileError{File: name, Line: document.Line, Message: why})
			}
		}
	}
	return found
}

// foreignGroups are the groups of policies that other engines enforce, or that are
// enforced once they are applied, with what to do instead.
var foreignGroups = []struct{ group, kind, instead string }{
	{"kyverno.io", "Policy", "is Kyverno's"},
	{"kyverno.io", "ClusterPolicy", "is Kyverno's"},
	{"policies.kyverno.io", "", "is Kyverno's"},
	{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", enforcedByAPIServer},
	{"admissionregistration.k8s.io", "MutatingAdmissionPolicy", "is the API server's own"},
	{"templates.kubewarden.io", "", "is Kubewarden's"},
	{"policies.kubewarden.io", "", "is Kubewarden's"},
}

// enforcedByAPIServer marks the policies that the API server enforces once they are applied.
// Commands evaluate them from files, see definition.Source.
const enforcedByAPIServer = "is enforced by the API server, not by a PolicySource: apply it to the cluster"

// evaluatedPassedOver is PassedOver without what the programs that compiled a set evaluate.
func evaluatedPassedOver(set *engine.PolicySet) definition.CompileErrorList {
	found := PassedOver(set.Files())
	if !set.Source().AdmissionPolicies {
		return found
	}
	return slices.DeleteFunc(found, func(one definition.CompileError) bool { return strings.Contains(one.Message, enforcedByAPIServer) })
}

func mayBePassedOver(text string) bool {
	return strings.Contains(text, "kind: Kustomization") || strings.Contains(text, "kind: PolicySource") ||
		slices.ContainsFunc(foreignGroups, func(one struct{ group, kind, instead string }) bool {
			return strings.Contains(text, one.group+"/") && strings.Contains(text, one.kind)
		})
}

// isKustomization reports whether kustomize reads a file as a kustomization because of its name,
// independent of its kind.
func isKustomization(file string) bool {
	base := path.Base(file)
	return base == "kustomization.yaml" || base == "kustomization.yml"
}

// passedOverObject says what to do with an object of a file; empty for most.
func passedOverObject(file string, document manifest.Document) string {
	var object struct {
		APIVersion, Kind string
		Resources        []string
	}
	if err := json.Unmarshal(document.JSON, &object); err != nil {
		return ""
	}
	group, _, _ := strings.Cut(object.APIVersion, "/")
	switch {
	case object.Kind == "Kustomization" && group == "kustomize.config.k8s.io", isKustomization(file):
		return kustomized(document.JSON, object.Resources)
	case object.Kind == "PolicySource" && group == "policy.lintel.dev":
		return "a PolicySource within a source is not enforced: apply it, or name its file with -p"
	}
	for _, one := range foreignGroups {
		if group == one.group && (one.kind == "" || one.kind == object.Kind) {
			if one.instead == enforcedByAPIServer {
				return object.Kind + " " + one.instead
			}
			return fmt.Sprintf("%s %s, and Lintel does not enforce it: write it in Rego, or keep it apart and apply it for its own engine", object.Kind, one.instead)
		}
	}
	return ""
}

// kustomized says what a kustomization would do to the files of its folder: nothing, where
// it lists some of them.
func kustomized(text []byte, resources []string) string {
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return ""
	}
	const instead = "put what `kustomize build` prints into the source"
	for _, resource := range resources {
		if strings.Contains(resource, "://") || strings.HasPrefix(path.Clean(resource), "..") {
			return fmt.Sprintf("the kustomization is not built, and %s is not in the source: %s", resource, instead)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "resources"}, field) {
			return fmt.Sprintf("the kustomization is not built, and its %s change nothing here: %s", field, instead)
		}
	}
	return ""
}
