package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// The annotations of a stored row.
const (
	ManagedByAnnotation       = "orloj.dev/managed-by"
	ManagedBy                 = "crd-sync"
	SourceNamespaceAnnotation = "orloj.dev/source-namespace"
	// OwnerAnnotation has the UID of the object that a row belongs to.
	OwnerAnnotation = "lintel.dev/owner-uid"

	generatedLabel = "orloj.dev/mcp-generated"
)

// Row is what is stored of an object.
type Row struct {
	// Namespace and Name make the key; SourceNamespace is the object's own.
	Namespace, Name, SourceNamespace string
	// Owner is the UID of the object.
	Owner               string
	Labels, Annotations map[string]string
	// Spec is complete: orlojd fills in nothing when it reads.
	Spec map[string]any
}

// Key is the key of a row in its table.
func (r *Row) Key() string { return r.Namespace + "/" + r.Name }

// payload is the document in a row. What it does not know is kept.
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

// rowStatus is what of a row's status its object tells.
type rowStatus struct {
	Phase     string `json:"phase"`
	LastError string `json:"lastError"`
}

func readPayload(text []byte) (*payload, error) {
	p := &payload{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("reading the stored payload: %w", err)
	}
	return p, nil
}

func (p *payload) status() (s rowStatus) {
	_ = json.Unmarshal(p.Status, &s) // what is no status tells nothing
	return s
}

// owner is whom a row belongs to: empty where nobody has said so.
func (p *payload) owner() string { return p.Metadata.Annotations[OwnerAnnotation] }

// sourceNamespace is the Kubernetes namespace of the owner.
func (p *payload) sourceNamespace() string {
	if source := p.Metadata.Annotations[SourceNamespaceAnnotation]; source != "" {
		return source
	}
	return p.Metadata.Namespace
}

func (p *payload) isGenerated() bool { return p.Metadata.Labels[generatedLabel] == "true" }

// sameMetadata says whether labels, annotations and name are as wanted.
func (p *payload) sameMetadata(want *payload) bool {
	return p.APIVersion == want.APIVersion && p.Kind == want.Kind &&
		p.Metadata.Name == want.Metadata.Name && p.Metadata.Namespace == want.Metadata.Namespace &&
		maps.Equal(p.Metadata.Labels, want.Metadata.Labels) && maps.Equal(p.Metadata.Annotations, want.Metadata.Annotations)
}

// sameValue compares two JSON values as orlojd understands them: nothing, null and an
// empty list or object are one, and numbers are compared by their value.
func sameValue(a, b any) bool {
	if isEmpty(a) && isEmpty(b) {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && !slices.ContainsFunc(unionOfKeys(a, other), func(key string) bool { return !sameValue(a[key], other[key]) })
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, sameValue)
	case json.Number:
		other, ok := b.(json.Number)
		return ok && sameNumber(a, other)
	}
	return reflect.DeepEqual(a, b)
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range value {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return false
}

func unionOfKeys(a, b map[string]any) []string {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	return keys
}

// maxExponent is where numbers are compared by their text: their value would be long.
const maxExponent = 8

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if _, exponent, _ := strings.Cut(strings.ToLower(string(a)+"e"), "e"); len(exponent) > maxExponent {
		return false
	}
	x, okX := new(big.Float).SetString(string(a))
	y, okY := new(big.Float).SetString(string(b))
	return okX && okY && x.Cmp(y) == 0
}

// normal is a value as it comes from JSON, with numbers as they were written.
func normal(value map[string]any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing the spec: %w", err)
	}
	var out map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return out, decoder.Decode(&out)
}

// field is the text at a path such as runtime.isolation_mode.
func field(spec map[string]any, path string) string {
	head, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		text, _ := spec[head].(string)
		return text
	}
	inner, _ := spec[head].(map[string]any)
	return field(inner, rest)
}
