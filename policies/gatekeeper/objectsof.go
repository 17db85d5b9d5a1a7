package gatekeeper

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/manifest"
)

// ObjectsOf returns the template and the constraint of a policy among the files of a source, as
// JSON. The policy is named as in Policies: Kind/name.
func ObjectsOf(files map[string]string, policy string) (template, constraint []byte, err error) {
	kind, name, _ := strings.Cut(policy, "/")
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		documents, err := manifest.Read(file, []byte(files[file]))
		if err != nil {
			continue // not one of the policy's: the source compiles
		}
		for _, d := range documents {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
				Spec     struct {
					CRD struct {
						Spec struct{ Names struct{ Kind string } }
					}
				}
			}
			switch {
			case json.Unmarshal(d.JSON, &object) != nil:
			case object.Kind == "ConstraintTemplate" && object.Spec.CRD.Spec.Names.Kind == kind:
				template = d.JSON
			case object.Kind == kind && object.Metadata.Name == name:
				constraint = d.JSON
			}
		}
	}
	if template == nil || constraint == nil {
		return nil, nil, fmt.Errorf("the template and the constraint of %s are not among the files", policy)
	}
	return template, constraint, nil
}
