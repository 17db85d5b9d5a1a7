package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
)

// masked takes the place of what the decision log must not show.
const masked = "masked"

// Mask is a list of places in objects that the decision log does not show.
type Mask [][]string

// lastApplied is where kubectl keeps a copy of the object, with all that is masked.
var lastApplied = Mask{{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}}

// kindMasks hide the secret fields of kinds, independent of the configuration. Kinds named
// Secret are masked in every group, with a spec and without.
var kindMasks = map[string]Mask{
	"Secret":                                {{"data"}, {"stringData"}, {"spec", "data"}, {"spec", "stringData"}},
	"Tool.orloj.dev":                        {{"spec", "cli", "env"}},
	"McpServer.orloj.dev":                   {{"spec", "env", "*", "value"}},
	"ReportProcessor.openvox.voxpupuli.org": {{"spec", "headers", "*", "value"}},
	"SigningPolicy.openvox.voxpupuli.org":   {{"spec", "csrAttributes", "*", "value"}},
	"TokenRequest.authentication.k8s.io":    {{"status", "token"}},
	"TokenReview.authentication.k8s.io":     {{"spec", "token"}},
}

func maskOf(kind admission.GroupVersionKind) Mask {
	if kind.Kind == "Secret" {
		return kindMasks["Secret"]
	}
	return kindMasks[admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}.String()]
}

// ParseMask reads JSON pointers in which * stands for every element or key, such as
// /spec/containers/*/env/*/value.
func ParseMask(pointers []string) (Mask, error) {
	var mask Mask
	for _, pointer := range pointers {
		if !strings.HasPrefix(pointer, "/") || pointer == "/" {
			return nil, fmt.Errorf("%q is not a place such as /spec/containers/*/env/*/value", pointer)
		}
		segments := strings.Split(pointer[1:], "/")
		for i, segment := range segments {
			segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		}
		mask = append(mask, segments)
	}
	return mask, nil
}

// object is the object of a review as it may be logged: without managedFields, and with the
// masks applied.
func (m Mask) object(review *admission.Review) (json.RawMessage, error) {
	text, err := review.Object()
	if text == nil && err == nil {
		text, err = review.OldObject()
	}
	if text == nil || err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	for _, mask := range []Mask{lastApplied, maskOf(review.Kind), m} {
		mask.apply(object)
	}
	return json.Marshal(object)
}

func (m Mask) apply(object map[string]any) {
	for _, path := range m {
		maskAt(object, path)
	}
}

func maskAt(node any, path []string) {
	key, rest := path[0], path[1:]
	switch node := node.(type) {
	case map[string]any:
		for name, child := range node {
			switch {
			case key != "*" && key != name:
			case len(rest) == 0:
				node[name] = masked
			default:
				maskAt(child, rest)
			}
		}
	case []any:
		for i, child := range node {
			switch {
			case key != "*" && key != fmt.Sprint(i):
			case len(rest) == 0:
				node[i] = masked
			default:
				maskAt(child, rest)
			}
		}
	}
}
