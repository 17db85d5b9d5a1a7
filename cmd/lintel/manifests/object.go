package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/manifest"
)

// Object is a Kubernetes object of a manifest.
type Object struct {
	// Origin is where it stands, for messages: its file, line and document.
	Origin string
	// File and Line are where its document begins. File is empty where no file holds it.
	File string
	Line int
	Kind schema.GroupVersionKind

	// Text, where set, is the object as the API server has made it of what the manifest
	// says.
	Text json.RawMessage
	// InVersion, where set, reads an object of a cluster in another version.
	InVersion func(version string) ([]byte, error)

	Name, GenerateName, Namespace string

	// Request is the AdmissionRequest in JSON that the object is the subject of; nil for an
	// object by itself. Subresource is the one of that request.
	Request     json.RawMessage
	Subresource string

	fields map[string]any
}

// DisplayName is the name, or what the API server will make one from.
func (o Object) DisplayName() string { return cmp.Or(o.Name, o.GenerateName) }

// Title is "Pod shop/web", or "Namespace shop" for an object without a namespace.
func (o Object) Title() string {
	name := cmp.Or(o.DisplayName(), "(no name)")
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind.Kind + " " + name
}

// IsNamespace says whether the object is a Namespace.
func (o Object) IsNamespace() bool { return o.Kind.Group == "" && o.Kind.Kind == "Namespace" }

// HasAnnotationOf says whether the object has an annotation of a group, such as example.com.
func (o Object) HasAnnotationOf(group string) bool {
	metadata, _ := o.fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for name := range annotations {
		if strings.HasPrefix(name, group+"/") {
			return true
		}
	}
	return false
}

// JSON is the object as it stands.
func (o Object) JSON() (json.RawMessage, error) {
	if len(o.Text) > 0 {
		return o.Text, nil
	}
	text, err := json.Marshal(o.fields)
	if err != nil {
		return nil, fmt.Errorf("%s: writing the object: %w", o.Origin, err)
	}
	return text, nil
}

// SetNamespace puts the object where the API server would: a namespaced one that names no
// namespace into the default one, any other into none. A Namespace gets the label that each
// one has.
func (o *Object) SetNamespace(namespaced bool, defaultNamespace string) {
	switch {
	case !namespaced:
		o.Namespace = ""
		delete(o.metadata(), "namespace")
	case o.Namespace == "":
		o.Namespace = defaultNamespace
		o.metadata()["namespace"] = defaultNamespace
	}
	if o.IsNamespace() && o.Name != "" {
		o.addNameLabel()
	}
}

// addNameLabel sets the label by which selectors choose a Namespace by name.
func (o Object) addNameLabel() {
	if o.metadata()["labels"] == nil {
		o.metadata()["labels"] = map[string]any{}
	}
	if labels, ok := o.metadata()["labels"].(map[string]any); ok { // else not for us to mend
		labels[corev1.LabelMetadataName] = o.Name
	}
}

// RemoveMetadata removes the metadata from the object, for kinds that have none. Name and Namespace
// keep their values.
func (o Object) RemoveMetadata() { delete(o.fields, "metadata") }

// metadata is the object's metadata, made where it has none.
func (o Object) metadata() map[string]any {
	metadata, ok := o.fields["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		o.fields["metadata"] = metadata
	}
	return metadata
}

// Parse reads the objects of a file; lists are unpacked. Errors start with the file, or with
// the place in it.
func Parse(file string, text []byte) ([]Object, error) {
	documents, err := manifest.Read(file, text)
	if err != nil && bytes.Contains(text, []byte("{{")) {
		return nil, fmt.Errorf("%w; the file contains {{ and may be a template: render it first, for example with `helm template`", err)
	}
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, d := range documents {
		found, err := ParseDocument(d)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// ParseDocument reads the objects of a document: one, or those of a list.
func ParseDocument(d manifest.Document) ([]Object, error) {
	value, err := decode(d.JSON)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	found, err := unpack(d.String(), value)
	if err != nil {
		return nil, err
	}
	return at(d.File, d.Line, found), nil
}

// ParseItem reads an item of a list in JSON, which begins at a line of the file. The kind of
// the list is empty where it is not known.
func ParseItem(file string, line int, list schema.GroupVersionKind, text []byte) ([]Object, error) {
	origin := fmt.Sprintf("%s:%d: item", file, line)
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	found, err := unpackItem(origin, list, value)
	if err != nil {
		return nil, err
	}
	return at(file, line, found), nil
}

func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float64 would round what the API server keeps
	err = decoder.Decode(&value)
	return value, err
}

func at(file string, line int, objects []Object) []Object {
	for i := range objects {
		objects[i].File, objects[i].Line = file, line
	}
	return objects
}

// unpack is the object, or the items of the list, in a document.
func unpack(origin string, value any) ([]Object, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a Kubernetes object: it has no fields", origin)
	}
	if isBareRequest(fields) {
		fields = map[string]any{"apiVersion": reviewGroup + "/v1", "kind": reviewKind, "request": fields}
	}
	o, err := newObject(origin, fields)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(o.Kind.Kind, "List") {
		return []Object{o}, nil
	}
	items, isList := fields["items"].([]any)
	if !isList {
		if o.Kind.Kind == "List" {
			if fields["items"] != nil {
				return nil, fmt.Errorf("%s: items is not a list", origin)
			}
			return nil, nil
		}
		return []Object{o}, nil // a kind of someone's own whose name ends so
	}
	var objects []Object
	for i, item := range items {
		found, err := unpackItem(fmt.Sprintf("%s, items[%d]", origin, i), o.Kind, item)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func unpackItem(origin string, list schema.GroupVersionKind, item any) ([]Object, error) {
	if fields, ok := item.(map[string]any); ok && list.Kind != "" && list.Kind != "List" {
		inheritKind(fields, list)
	}
	return unpack(origin, item)
}

// inheritKind sets what the items of a typed list, such as a PodList, leave out.
func inheritKind(item map[string]any, list schema.GroupVersionKind) {
	if item["kind"] == nil && item["apiVersion"] == nil {
		item["kind"] = strings.TrimSuffix(list.Kind, "List")
		item["apiVersion"] = list.GroupVersion().String()
	}
}

// newObject reads what identifies an object.
func newObject(origin string, fields map[string]any) (Object, error) {
	o := Object{Origin: origin, fields: fields}
	var apiVersion, kind string
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok && fields["metadata"] != nil {
		return o, fmt.Errorf("%s: metadata is not an object", origin)
	}
	for _, field := range []struct {
		path  string
		value any
		into  *string
	}{
		{"apiVersion", fields["apiVersion"], &apiVersion},
		{"kind", fields["kind"], &kind},
		{"metadata.name", metadata["name"], &o.Name},
		{"metadata.generateName", metadata["generateName"], &o.GenerateName},
		{"metadata.namespace", metadata["namespace"], &o.Namespace},
	} {
		if field.value == nil {
			continue
		}
		if *field.into, ok = field.value.(string); !ok {
			return o, fmt.Errorf("%s: %s is not a string: put it in quotes", origin, field.path)
		}
	}
	switch {
	case apiVersion == "" && kind == "":
		return o, fmt.Errorf("%s is not a Kubernetes object: it has no apiVersion and no kind", origin)
	case apiVersion == "":
		return o, fmt.Errorf("%s: %s has no apiVersion", origin, kind)
	case kind == "":
		return o, fmt.Errorf("%s has no kind", origin)
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return o, fmt.Errorf("%s: apiVersion %q is not <group>/<version>", origin, apiVersion)
	}
	o.Kind = version.WithKind(kind)
	return o, nil
}
