package audit

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// newShardClient returns a client that decodes no more than the names of watched objects in
// namespaces of other replicas: otherwise, every replica would decode all objects. Streamed lists
// are watches as well.
func newShardClient(config *rest.Config, owns func(namespace string) bool) (dynamic.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = shardSerializer{config.NegotiatedSerializer, owns}
	config.GroupVersion, config.APIPath = nil, "/"
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of audit: %w", err)
	}
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of audit: %w", err)
	}
	return dynamic.New(client), nil
}

// shardSerializer wraps the decoders of a serializer.
type shardSerializer struct {
	runtime.NegotiatedSerializer
	owns func(namespace string) bool
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s shardSerializer) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return shardDecoder{s.NegotiatedSerializer.DecoderToVersion(decoder, version), s.owns}
}

// shardDecoder decodes the names of objects in namespaces of other replicas.
type shardDecoder struct {
	runtime.Decoder
	owns func(namespace string) bool
}

// Decode implements runtime.Decoder.
func (d shardDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into == nil {
		if named, ok := nameOf(data); ok && named.namespace != "" && !d.owns(named.namespace) {
			object := named.object()
			kind := object.GroupVersionKind()
			return object, &kind, nil
		}
	}
	return d.Decoder.Decode(data, defaults, into)
}

// skipped is the value of a field without a name in an object of which only the name was decoded. No
// JSON has a value of this type.
type skipped struct{}

// isSkipped reports whether only the name of an object was decoded.
func isSkipped(object *unstructured.Unstructured) bool {
	_, is := object.Object[""].(skipped)
	return is
}

// objectName contains the fields that are decoded before the rest of an object.
type objectName struct{ apiVersion, kind, namespace, name, uid, resourceVersion string }

func (n objectName) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"": skipped{}, "apiVersion": n.apiVersion, "kind": n.kind,
		"metadata": map[string]any{"namespace": n.namespace, "name": n.name, "uid": n.uid, "resourceVersion": n.resourceVersion},
	}}
}

// nameOf reads the name of an object, up to the end of its metadata. It returns false if that cannot
// be read, and for lists.
func nameOf(data []byte) (n objectName, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data))
	read := false
	ok = fields(decoder, func(field string) (more, valid bool) {
		switch field {
		case "apiVersion":
			valid = readText(decoder, &n.apiVersion)
		case "kind":
			valid = readText(decoder, &n.kind)
		case "metadata":
			read = true
			valid = fields(decoder, func(field string) (more, valid bool) { return true, n.readMetadata(decoder, field) })
		case "items":
			return false, false
		default:
			valid = decoder.SkipValue() == nil
		}
		return n.apiVersion == "" || n.kind == "" || !read, valid
	})
	return n, ok && n.apiVersion != "" && n.kind != "" && n.name != ""
}

func (n *objectName) readMetadata(decoder *jsontext.Decoder, field string) bool {
	switch field {
	case "namespace":
		return readText(decoder, &n.namespace)
	case "name":
		return readText(decoder, &n.name)
	case "uid":
		return readText(decoder, &n.uid)
	case "resourceVersion":
		return readText(decoder, &n.resourceVersion)
	default:
		return decoder.SkipValue() == nil
	}
}

// fields calls a function with the names of the fields of an object, until one returns that it wants
// no more. The function reads the value.
func fields(decoder *jsontext.Decoder, read func(field string) (more, valid bool)) bool {
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() == '}' {
			return true
		}
		more, valid := read(token.String())
		if !more || !valid {
			return valid
		}
	}
}

func readText(decoder *jsontext.Decoder, into *string) bool {
	token, err := decoder.ReadToken()
	if err != nil || token.Kind() != '"' {
		return false
	}
	*into = token.String()
	return true
}
