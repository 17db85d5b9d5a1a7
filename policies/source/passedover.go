package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
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
		objects, _ := manifest.ReadObjects(name, files[name]) // the reader of the file reports errors
		for _, object := range objects {
			if why := passedOverObject(name, object); why != "" {
				found = append(found, definition.CompileError{File: name, Line: object.Line, Message: why})
			}
		}
	}
	return found
}

// foreignGroups are the groups of policies that other engines enforce, or that are
// enforced once they are applied, with what to do instead.
var foreignGroups = []struct{ group, kind, instead string }{
	{"kyverno.io", "", "is Kyverno's"},
	{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", enforcedByAPIServer},
	{"admissionregistration.k8s.io", "MutatingAdmissionPolicy", enforcedByAPIServer},
	{"templates.kubewarden.io", "", "is Kubewarden's"},
	{"policies.kubewarden.io", "", "is Kubewarden's"},
	{"policy.sigstore.dev", "", "is the Sigstore policy controller's"},
	{"policy.jspolicy.com", "", "is jsPolicy's"},
}

// ownKinds are kinds of Lintel that have an effect once they are applied, and none within a source,
// with the way in which commands read them.
var ownKinds = []struct{ group, kind, instead string }{
	{v1alpha1.GroupName, "PolicySource", "a PolicySource within a source is not enforced: apply it, or name its file with -p"},
	{v1alpha1.GroupName, "PolicyException", "a PolicyException within a source has no effect: apply it. Commands read it from its own file, with another -p"},
	{v1alpha1.GroupName, "DataSource", "a DataSource within a source has no effect: apply it. Commands read its data with --external NAME=FILE"},
	{openclawv1.GroupName, "PolicyBundle", "a PolicyBundle within a source has no effect: apply it. Commands read it with -f"},
	{openvoxv1alpha1.GroupName, "SigningPolicy", "a SigningPolicy within a source has no effect: apply it"},
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
	return strings.Contains(text, "Kustomization") ||
		slices.ContainsFunc(slices.Concat(foreignGroups, ownKinds), func(one struct{ group, kind, instead string }) bool {
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
func passedOverObject(file string, object manifest.Object) string {
	if object.Kind == "Kustomization" && object.Group == "kustomize.config.k8s.io" || isKustomization(file) {
		var fields struct{ Resources []string }
		if err := json.Unmarshal(object.JSON, &fields); err != nil {
			return ""
		}
		return kustomized(object.JSON, fields.Resources)
	}
	for _, one := range ownKinds {
		if object.Group == one.group && object.Kind == one.kind {
			return one.instead
		}
	}
	for _, one := range foreignGroups {
		if object.Group == one.group && (one.kind == "" || one.kind == object.Kind) {
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

// UnreadJSON names the policies in files in JSON, which a source does not contain: its objects are in
// YAML. Files that are not manifests have none.
func UnreadJSON(files map[string]string) (found definition.CompileErrorList) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		objects, _ := manifest.ReadObjects(name, files[name])
		for _, object := range objects {
			isPolicy := strings.HasSuffix(object.Group, ".gatekeeper.sh") || passedOverObject(name, object) != ""
			if isPolicy && object.Kind != "Suite" {
				found = append(found, definition.CompileError{File: name, Line: object.Line, Message: fmt.Sprintf("the %s is not read: files of a source that contain objects are .yaml or .yml", object.Kind)})
			}
		}
	}
	return found
}
