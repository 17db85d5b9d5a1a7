package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// The annotations of a stored row.
const (
	ManagedByAnnotation       = "orloj.dev/managed-by"
	ManagedBy                 = "crd-sync"
	SourceNamespaceAnnotation = "orloj.dev/source-namespace"
	// OwnerAnnotation is the UID of the object that owns a row.
	OwnerAnnotation = "lintel.dev/owner-uid"
	// ClusterAnnotation is the identity of the owner's cluster.
	ClusterAnnotation = "lintel.dev/cluster"

	generatedLabel = "orloj.dev/mcp-generated"
)

// Row is the desired row of an object.
type Row struct {
	// Namespace and Name are the parts of the key; SourceNamespace is the object's own
	// namespace.
	Namespace, Name, SourceNamespace string
	// Owner is the UID of the object, and Cluster the identity of its cluster.
	Owner, Cluster      string
	Labels, Annotations map[string]string
	// Spec is complete: orlojd adds no defaults when it reads.
	Spec map[string]any
	// Lost are fields that the store has lost before, such as graph.a.review: they are written
	// with the others, but their absence alone does not cause a write of the row.
	Lost []string
	// LeaveUnowned reports a problem if the row has no owner, and LeaveMissing if there is no
	// row: the previous owner may take it back.
	LeaveUnowned, LeaveMissing bool
}

// Key is the key of a row in its table.
func (r *Row) Key() string { return r.Namespace + "/" + r.Name }

// payload is the document in a row. Unknown fields are preserved.
type payload struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   metadata        `json:"metadata"`
	Spec       map[string]any  `json:"spec"`
	Status     json.RawMessage `json:"status,omitempty"`
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Generation      int64             `json:"generation,omitempty"`
	CreatedAt       string            `json:"createdAt,omitempty"`
}

// rowStatus is the part of a row's status that its object reports.
type rowStatus struct {
	Phase     string `json:"phase"`
	LastError string `json:"lastError"`
}

func readPayload(text []byte) (*payload, error) {
	p := &payload{}
	if err := decode(text, p); err != nil {
		return nil, fmt.Errorf("reading the stored payload: %w", err)
	}
	return p, nil
}

// decode reads JSON and preserves the text of numbers.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func (p *payload) status() (s rowStatus) {
	_ = json.Unmarshal(p.Status, &s) // an invalid status counts as empty
	return s
}

// owner is the UID of the object that owns a row: empty if it names none.
func (p *payload) owner() string { return p.Metadata.Annotations[OwnerAnnotation] }

// cluster is the owner's cluster: empty if an earlier version of Lintel has written the row.
func (p *payload) cluster() string { return p.Metadata.Annotations[ClusterAnnotation] }

// sourceNamespace is the Kubernetes namespace of the owner.
func (p *payload) sourceNamespace() string {
	return cmp.Or(p.Metadata.Annotations[SourceNamespaceAnnotation], p.Metadata.Namespace)
}

func (p *payload) isGenerated() bool { return p.Metadata.Labels[generatedLabel] == "true" }

// sameMetadata reports whether labels, annotations and name have their desired values.
func (p *payload) sameMetadata(want *payload) bool {
	return p.APIVersion == want.APIVersion && p.Kind == want.Kind &&
		p.Metadata.Name == want.Metadata.Name && p.Metadata.Namespace == want.Metadata.Namespace &&
		maps.Equal(p.Metadata.Labels, want.Metadata.Labels) && maps.Equal(p.Metadata.Annotations, want.Metadata.Annotations)
}

// normal returns a value as decoded from JSON, with the text of numbers preserved.
func normal(value map[string]any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing the spec: %w", err)
	}
	var out map[string]any
	return out, decode(text, &out)
}

// field returns the string at a path such as runtime.isolation_mode.
func field(spec map[string]any, path string) string {
	head, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		text, _ := spec[head].(string)
		return text
	}
	inner, _ := spec[head].(map[string]any)
	return field(inner, rest)
}
