package admission

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// GroupOf is the group of an apiVersion: "" for the core group's.
func GroupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// GroupVersionKind names a kind; the version may be empty if it does not matter.
type GroupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
}

// WithoutVersion returns the kind with an empty version, to match any version.
func (k GroupVersionKind) WithoutVersion() GroupVersionKind {
	return GroupVersionKind{Group: k.Group, Kind: k.Kind}
}

// String prints Kind, or Kind.group outside the core group.
func (k GroupVersionKind) String() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// ParseKind reads what String prints.
func ParseKind(text string) (GroupVersionKind, error) {
	kind, group, _ := strings.Cut(text, ".")
	if kind == "" {
		return GroupVersionKind{}, fmt.Errorf("%q is not a kind, such as Pod or Ingress.networking.k8s.io", text)
	}
	return GroupVersionKind{Group: group, Kind: kind}, nil
}

// GroupVersionResource names a resource.
type GroupVersionResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// ObjectKind is the kind that an object names, otherwise the kind of its request.
func ObjectKind(object ast.Object, request GroupVersionKind) GroupVersionKind {
	apiVersion, kind := terms.Text(object, "apiVersion"), terms.Text(object, "kind")
	if kind == "" {
		return request
	}
	return GroupVersionKind{GroupOf(apiVersion), apiVersion[strings.LastIndex(apiVersion, "/")+1:], kind}
}
