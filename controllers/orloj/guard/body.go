package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxBody is the largest resource that is inspected, in bytes, and maxDepth the maximum nesting.
const (
	maxBody  = 8 << 20
	maxDepth = 1000
)

// refusal is the reason why a request is not forwarded: two parsers might read it as writes of
// different resources.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func ambiguous(format string, values ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, values...)}
}

// readBody reads the resource in a request. If the body has only one interpretation, the request
// is forwarded with the body encoded again; otherwise the body is left unchanged and the error
// is a *refusal.
func readBody(r *http.Request) (namespace, name string, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return "", "", nil
	}
	var read bytes.Buffer
	_, err = io.Copy(&read, io.LimitReader(r.Body, maxBody+1))
	unread := r.Body
	setBody(r, io.MultiReader(bytes.NewReader(read.Bytes()), unread), unread, r.ContentLength)
	if err != nil {
		return "", "", fmt.Errorf("reading the request: %w", err)
	}
	if read.Len() > maxBody {
		return "", "", &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", maxBody)}
	}
	if len(bytes.TrimSpace(read.Bytes())) == 0 {
		return "", "", nil
	}
	document, err := readDocument(read.Bytes())
	if err != nil {
		return "", "", err
	}
	if namespace, name, err = identity(document, r.Method); err != nil {
		return "", "", err
	}
	var evaluated bytes.Buffer
	encoder := json.NewEncoder(&evaluated)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return "", "", fmt.Errorf("writing the request: %w", err)
	}
	setBody(r, &evaluated, unread, int64(evaluated.Len()))
	r.Header.Set("Content-Type", "application/json")
	return namespace, name, nil
}

func setBody(r *http.Request, text io.Reader, closer io.Closer, length int64) {
	r.Body = struct {
		io.Reader
		io.Closer
	}{text, closer}
	r.ContentLength = length
}

// readDocument reads JSON without duplicate keys.
func readDocument(text []byte) (any, error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, ambiguous("request body: must be one JSON document (orlojd interprets the keys of YAML differently); send JSON, as orlojctl does")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return readValue(decoder, nil)
}

func readValue(decoder *json.Decoder, path []string) (any, error) {
	if len(path) > maxDepth {
		return nil, ambiguous("request body: nested more than %d levels deep", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	switch token {
	case json.Delim('{'):
		return readObject(decoder, path)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder, append(slices.Clip(path), "[]"))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

func readObject(decoder *json.Decoder, path []string) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		key := token.(string) // JSON has no other keys
		within := append(slices.Clip(path), key)
		if err := checkKey(object, key, within); err != nil {
			return nil, err
		}
		if object[key], err = readValue(decoder, within); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return object, err
}

// known are the fields that identify the resource, by the object that contains them.
var known = map[string][]string{
	"":         {"apiVersion", "kind", "metadata", "spec", "status"},
	"metadata": {"name", "namespace", "labels", "annotations", "resourceVersion", "generation", "createdAt"},
	"spec":     {},
}

// checkKey returns an error for a key that orlojd reads differently from other decoders: orlojd
// ignores the case of its own fields and uses the last of duplicates. Keys of maps such as
// labels are case-sensitive.
func checkKey(object map[string]any, key string, path []string) error {
	where := strings.Join(path, ".")
	if _, twice := object[key]; twice {
		return ambiguous("%s: duplicate key; keep one", where)
	}
	names, isFields := known[strings.Join(path[:len(path)-1], ".")]
	if !isFields {
		return nil
	}
	for _, name := range names {
		if name != key && strings.EqualFold(name, key) {
			return ambiguous("%s: orlojd takes %q for %q, and others do not; write %q", where, key, name, name)
		}
	}
	for other := range object {
		if strings.EqualFold(other, key) {
			return ambiguous("%s: orlojd takes %q and %q for one field; keep one", where, other, key)
		}
	}
	return nil
}

// identity is the namespace and name in a document. Patches may omit them.
func identity(document any, method string) (namespace, name string, err error) {
	object, isObject := document.(map[string]any)
	if !isObject {
		if method == http.MethodPatch {
			return "", "", nil
		}
		return "", "", ambiguous("request body: must be a resource, which is a JSON object with metadata and spec")
	}
	metadata, isObject := object["metadata"].(map[string]any)
	if !isObject && object["metadata"] != nil {
		return "", "", ambiguous("metadata: must be an object")
	}
	texts := map[string]string{}
	for _, key := range []string{"namespace", "name"} {
		text, isText := metadata[key].(string)
		if !isText && metadata[key] != nil {
			return "", "", ambiguous("metadata.%s: must be a string", key)
		}
		texts[key] = strings.TrimSpace(text)
	}
	return texts["namespace"], texts["name"], nil
}
