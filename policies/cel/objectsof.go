package cel

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/manifest"
)

// IsPolicyName reports whether the name of a policy of a snapshot is that of an admission policy.
func IsPolicyName(name string) bool { return strings.HasPrefix(name, kindPolicy+"/") }

// ObjectsOf returns an admission policy of a source in JSON, and its bindings and the objects of its
// paramKind as the documents of a file.
func ObjectsOf(files map[string]string, name string) (policy, bound []byte, err error) {
	name = strings.TrimPrefix(name, kindPolicy+"/")
	type head struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			PolicyName string
			ParamKind  struct{ APIVersion, Kind string }
		}
	}
	var params head
	var others []manifest.Document
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(file); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		documents, err := manifest.Read(file, []byte(files[file]))
		if err != nil {
			continue // not one of the policy's: the source compiles
		}
		for _, d := range documents {
			var one head
			switch {
			case json.Unmarshal(d.JSON, &one) != nil:
			case one.Kind == kindPolicy && one.Metadata.Name == name:
				policy, params = d.JSON, one
			default:
				others = append(others, d)
			}
		}
	}
	for _, d := range others {
		var one head
		if json.Unmarshal(d.JSON, &one) != nil {
			continue
		}
		isBinding := one.Kind == kindPolicy+bindingSuffix && one.Spec.PolicyName == name
		isParam := params.Spec.ParamKind.Kind != "" && one.Kind == params.Spec.ParamKind.Kind && one.APIVersion == params.Spec.ParamKind.APIVersion
		if isBinding || isParam {
			bound = fmt.Appendf(bound, "---\n%s\n", d.JSON)
		}
	}
	if policy == nil || bound == nil {
		return nil, nil, fmt.Errorf("%s %s and its %s are not among the files", kindPolicy, name, kindPolicy+bindingSuffix)
	}
	return policy, bound, nil
}
