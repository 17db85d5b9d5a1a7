package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/manifest"
)

// object is a Kubernetes object of a manifest.
type object struct {
	origin string // where it stands, for messages
	kind   schema.GroupVersionKind
	fields map[string]any

	// text, where set, is the object as the API server has made it of the fields.
	text json.RawMessage
	// inVersion, where set, reads an object of a cluster in another version.
	inVersion func(version string) ([]byte, error)

	name, generateName, namespace string
}

// displayName is the name, or what the API server will make one from.
func (o object) displayName() string {
	if o.name != "" {
		return o.name
	}
	return o.generateName
}

// json is the object as it stands.
func (o object) json() (json.RawMessage, error) {
	if len(o.text) > 0 {
		return o.text, nil
	}
	text, err := json.Marshal(o.fields)
	if err != nil {
		return nil, fmt.Errorf("%s: writing the object: %w", o.origin, err)
	}
	return text, nil
}

// metadata is the object's metadata, made where it has none.
func (o object) metadata() map[string]any {
	metadata, ok := o.fields["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		o.fields["metadata"] = metadata
	}
	return metadata
}

// readObjects reads the objects of a file; lists are unpacked.
func readObjects(file string, text []byte) ([]object, error) {
	documents, err := manifest.Read(file, text)
	if err != nil && bytes.Contains(text, []byte("{{")) {
		return nil, fmt.Errorf("%w; with {{ in it, it is perhaps a template: render it first, with `helm template` or whatever it is written for", err)
	}
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, d := range documents {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(d.JSON))
		decoder.UseNumber() // a float64 would round what the API server keeps
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		found, err := unpack(d.String(), value)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// unpack is the object, or the items of the list, in a document.
func unpack(origin string, value any) ([]object, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a Kubernetes object: it has no fields", origin)
	}
	o, err := newObject(origin, fields)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(o.kind.Kind, "List") {
		return []object{o}, nil
	}
	items, isList := fields["items"].([]any)
	if !isList {
		if o.kind.Kind == "List" {
			if fields["items"] != nil {
				return nil, fmt.Errorf("%s: items is not a list", origin)
			}
			return nil, nil
		}
		return []object{o}, nil // a kind of someone's own whose name ends so
	}
	var objects []object
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if ok && o.kind.Kind != "List" {
			inheritKind(fields, o.kind)
		}
		found, err := unpack(fmt.Sprintf("%s, items[%d]", origin, i), item)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// inheritKind sets what the items of a typed list, such as a PodList, leave out.
func inheritKind(item map[string]any, list schema.GroupVersionKind) {
	if item["kind"] == nil && item["apiVersion"] == nil {
		item["kind"] = strings.TrimSuffix(list.Kind, "List")
		item["apiVersion"] = list.GroupVersion().String()
	}
}

// newObject reads what identifies an object.
func newObject(origin string, fields map[string]any) (object, error) {
	o := object{origin: origin, fields: fields}
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
		{"metadata.name", metadata["name"], &o.name},
		{"metadata.generateName", metadata["generateName"], &o.generateName},
		{"metadata.namespace", metadata["namespace"], &o.namespace},
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
	o.kind = version.WithKind(kind)
	return o, nil
}
