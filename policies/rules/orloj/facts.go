package orloj

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
)

// Mapping says who may store objects outside of their namespace.
type Mapping string

const (
	// Restricted is where the Namespace allows it.
	Restricted Mapping = "Restricted"
	// Open is everybody.
	Open Mapping = "Open"
)

// ParseMapping reads a mode.
func ParseMapping(text string) (Mapping, error) {
	for _, mapping := range []Mapping{Restricted, Open} {
		if strings.EqualFold(text, string(mapping)) {
			return mapping, nil
		}
	}
	return "", fmt.Errorf("%q is not one of %s, %s", text, Restricted, Open)
}

// Facts are what Go finds out about an object for the rules, which read it as
// input.facts.
type Facts struct {
	// Mapping is the mode.
	Mapping Mapping `json:"mapping"`
	// Target is the Orloj namespace that the object names, or is in.
	Target string `json:"target"`
	// Taken is another object that has the store key.
	Taken *Reference `json:"taken,omitempty"`
}

// Reference names an object.
type Reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Object is of an object what Go has to know for the rules.
type Object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Data       map[string]any `json:"data"`
		StringData map[string]any `json:"stringData"`
	} `json:"spec"`
}

// ReadObject reads an object; namespace is where it is if it does not say so.
func ReadObject(text []byte, namespace string) (Object, error) {
	var o Object
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fmt.Errorf("reading the object: %w", err)
	}
	if o.Metadata.Namespace == "" {
		o.Metadata.Namespace = namespace
	}
	return o, nil
}

func (o Object) namesTarget() bool {
	_, names := o.Metadata.Annotations[v1.TargetNamespaceAnnotation]
	return names
}

// Target is the Orloj namespace of the object.
func (o Object) Target() string { return Target(o.Metadata.Namespace, o.Metadata.Annotations) }

// Key is the key of its row.
func (o Object) Key() string { return o.Target() + "/" + o.Metadata.Name }

// Reference names the object.
func (o Object) Reference() Reference {
	return Reference{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

// Target is the Orloj namespace of an object in a Kubernetes namespace.
func Target(namespace string, annotations map[string]string) string {
	if target, named := annotations[v1.TargetNamespaceAnnotation]; named {
		return strings.TrimSpace(target)
	}
	return namespace
}

// Key is the key of the row of an object.
func Key(o v1.Object) string {
	return Target(o.GetNamespace(), o.GetAnnotations()) + "/" + o.GetName()
}

// kinds are those of Orloj by their resources.
var kinds = map[string]string{
	"agents": "Agent", "agentpolicies": "AgentPolicy", "agentsystems": "AgentSystem", "mcpservers": "McpServer",
	"memories": "Memory", "modelendpoints": "ModelEndpoint", "secrets": "Secret", "tools": "Tool",
}

// Resources are the resources of the kinds, in order.
func Resources() []string { return slices.Sorted(maps.Keys(kinds)) }

// ResourceOf is the resource of a kind; empty if the kind is not one of Orloj.
func ResourceOf(kind string) string {
	for resource, known := range kinds {
		if known == kind {
			return resource
		}
	}
	return ""
}
