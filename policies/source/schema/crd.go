package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/version"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Definition is what a CustomResourceDefinition says of its kind.
type Definition struct {
	Group, Kind string
	// Versions are the schemas of those that are served.
	Versions map[string]*Schema

	plural     string
	namespaced bool
}

// Resources are those that the definition adds to a cluster, the version that the API
// server prefers first.
func (d *Definition) Resources() []admission.ServedResource {
	var out []admission.ServedResource
	versions := slices.SortedFunc(maps.Keys(d.Versions), func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	for _, version := range versions {
		out = append(out, admission.ServedResource{Group: d.Group, Version: version, Kind: d.Kind, Name: d.plural, Namespaced: d.namespaced})
	}
	return out
}

// IsOfKind says whether another definition is of the same kind.
func (d *Definition) IsOfKind(other *Definition) bool {
	return d.Group == other.Group && d.Kind == other.Kind
}

// ReadDefinition reads a CustomResourceDefinition in JSON: nil where the text is an
// object of another kind.
func ReadDefinition(document []byte) (*Definition, error) {
	var in struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       struct {
			Group string `json:"group"`
			Names struct {
				Kind   string `json:"kind"`
				Plural string `json:"plural"`
			} `json:"names"`
			Scope           string `json:"scope"`
			PreserveUnknown bool   `json:"preserveUnknownFields"`
			Versions        []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
				Schema struct {
					OpenAPI *OpenAPI `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(document, &in); err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	if in.Kind != "CustomResourceDefinition" || in.APIVersion != "apiextensions.k8s.io/v1" {
		return nil, nil
	}
	definition := &Definition{
		Group: in.Spec.Group, Kind: in.Spec.Names.Kind, Versions: map[string]*Schema{},
		plural: in.Spec.Names.Plural, namespaced: in.Spec.Scope != "Cluster",
	}
	for _, version := range in.Spec.Versions {
		if !version.Served {
			continue
		}
		definition.Versions[version.Name] = OfOpenAPI(version.Schema.OpenAPI)
		if in.Spec.PreserveUnknown {
			definition.Versions[version.Name] = anySchema
		}
	}
	return definition, nil
}
