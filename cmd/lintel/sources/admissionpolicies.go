package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// ClusterName is the name of the source of the policies that an API server enforces itself.
const ClusterName = "cluster"

// clusterObject is an object of a cluster, as far as admission policies are concerned.
type clusterObject struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		ParamKind *struct{ APIVersion, Kind string }
	}
}

func (o clusterObject) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
}

// IsAdmissionPolicy reports whether a kind is an admission policy of Kubernetes, or a binding of one.
func IsAdmissionPolicy(kind schema.GroupKind) bool {
	return cel.IsPolicyKind(kind.Group, strings.TrimSuffix(kind.Kind, "Binding"))
}

// ParamKinds are the kinds that policies among objects in JSON name as their paramKind.
func ParamKinds(objects [][]byte) (found []schema.GroupVersionKind) {
	for _, text := range objects {
		var o clusterObject
		if json.Unmarshal(text, &o) != nil || !IsAdmissionPolicy(o.kind().GroupKind()) || o.Spec.ParamKind == nil {
			continue
		}
		kind := schema.FromAPIVersionAndKind(o.Spec.ParamKind.APIVersion, o.Spec.ParamKind.Kind)
		if !slices.Contains(found, kind) {
			found = append(found, kind)
		}
	}
	return found
}

// WithoutParamKind are the objects without the policies that name a kind as their paramKind.
func WithoutParamKind(objects [][]byte, kind schema.GroupVersionKind) [][]byte {
	return slices.DeleteFunc(slices.Clone(objects), func(text []byte) bool {
		return slices.Contains(ParamKinds([][]byte{text}), kind)
	})
}

// AdmissionPolicies compiles the admission policies, bindings and params among the objects of a
// cluster, which are in JSON. The set is nil without policies. The notes are about policies that are
// left out because they cannot be read.
func AdmissionPolicies(objects [][]byte) (*engine.PolicySet, []string, error) {
	kinds := ParamKinds(objects)
	files, hasPolicy := map[string]string{}, false
	for _, text := range objects {
		var o clusterObject
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, nil, fmt.Errorf("reading an object of the cluster: %w", err)
		}
		isPolicy := IsAdmissionPolicy(o.kind().GroupKind())
		if !isPolicy && o.Kind != "CustomResourceDefinition" && !slices.Contains(kinds, o.kind()) {
			continue
		}
		hasPolicy = hasPolicy || isPolicy
		readable, err := asKubectl(text)
		if err != nil {
			return nil, nil, err
		}
		files[path.Join(strings.ToLower(o.Kind), o.Metadata.Namespace, o.Metadata.Name)+".yaml"] = readable
	}
	if !hasPolicy {
		return nil, nil, nil
	}
	return compileReadable(files)
}

// asKubectl writes an object as kubectl prints it, so that lines in messages can be found.
func asKubectl(text []byte) (string, error) {
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return "", fmt.Errorf("reading an object of the cluster: %w", err)
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	readable, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("writing an object of the cluster: %w", err)
	}
	return string(readable), nil
}

// compileReadable compiles policies. Those with errors are left out: the API server may know fields
// and functions that this program does not.
func compileReadable(files map[string]string) (set *engine.PolicySet, notes []string, err error) {
	for {
		source := definition.Source{Name: ClusterName, Files: files, AdmissionPolicies: true}
		set, err = policyset.Compile(source, cel.Dialect)
		wrong, ok := errors.AsType[definition.CompileErrorList](err)
		if err == nil || !ok {
			break
		}
		left := len(files)
		for _, one := range wrong {
			notes = append(notes, fmt.Sprintf("a policy of the cluster is not evaluated: %v", one))
			delete(files, one.File)
		}
		if len(files) == left {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if set.Policies() == 0 {
		return nil, notes, nil
	}
	for _, warning := range set.Warnings() {
		notes = append(notes, warning.Error())
	}
	return set, notes, nil
}
