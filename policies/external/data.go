package external

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Data is one state of the data of a DataSource. It is immutable.
//
// The value is stored decoded, so that no request waits for the decoding. That takes about ten
// bytes of heap for each byte of JSON: see BenchmarkMemory.
type Data struct {
	// Name is that of the DataSource.
	Name string
	// Revision is what the origin calls this state.
	Revision string
	// Digest is equal for equal data.
	Digest string
	// Bytes is the length of the data in JSON, and Entries the number of its members.
	Bytes, Entries int

	value ast.Value

	indexOnce sync.Once
	results   map[string]bool // the texts among the values, once indexed
}

// New reads data in JSON: an object or a list.
func New(name, revision, text string) (*Data, error) {
	term, err := terms.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading the data of DataSource %s: %w", name, err)
	}
	d := &Data{Name: name, Revision: revision, Digest: definition.Source{Files: Files(text)}.Digest(), Bytes: len(text), value: term.Value}
	switch value := term.Value.(type) {
	case ast.Object:
		d.Entries = value.Len()
	case *ast.Array:
		d.Entries = value.Len()
	default:
		return nil, fmt.Errorf("reading the data of DataSource %s: neither an object nor a list", name)
	}
	return d, nil
}

// file is the only file of an artifact with data.
const file = "data.json"

// Files are the files of an artifact with data in JSON. The digest of the artifact is that of the
// data.
func Files(text string) map[string]string { return map[string]string{file: text} }

// FromFiles reads the data in the files of an artifact.
func FromFiles(name, revision string, files map[string]string) (*Data, error) {
	return New(name, revision, files[file])
}

// Text is the data in JSON, as New reads it.
func (d *Data) Text() (string, error) {
	value, err := ast.JSON(d.value)
	if err != nil {
		return "", err
	}
	return Encode(value)
}

// Encode returns a value in JSON with sorted keys and without spaces.
func Encode(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// Set is the data of several DataSources by their names. It must not be changed.
type Set map[string]*Data

// ReadSet reads a JSON object with the data of DataSources by their names; none for an empty text.
func ReadSet(text string) (Set, error) {
	if text == "" {
		return nil, nil
	}
	var texts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, fmt.Errorf("reading external data: %w", err)
	}
	set := Set{}
	for name, text := range texts {
		data, err := New(name, "", string(text))
		if err != nil {
			return nil, err
		}
		set[name] = data
	}
	return set, nil
}

// Digest identifies the data of some DataSources, with those that have none: "" for no names.
func (s Set) Digest(names []string) string {
	if len(names) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, name := range names {
		digest := ""
		if data := s[name]; data != nil {
			digest = data.Digest
		}
		fmt.Fprintf(hash, "%q %q\n", name, digest)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// Digests are the digests of the data, by DataSource.
func (s Set) Digests() map[string]string {
	digests := map[string]string{}
	for name, data := range s {
		digests[name] = data.Digest
	}
	return digests
}

// Missing returns the first of some names without data.
func (s Set) Missing(names []string) (name string, missing bool) {
	i := slices.IndexFunc(names, func(name string) bool { return s[name] == nil })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// MissingError is the error of a policy that reads data that is missing.
func MissingError(name string) error {
	return fmt.Errorf("it reads data.external[%q], and DataSource %s does not exist or has no data yet", name, name)
}

// Document is a document with the data of the named DataSources at data.external.
func Document(own eval.Document, data Set, names []string) eval.Document {
	if len(names) == 0 {
		return own
	}
	return root{own, view{data: data, names: names}}
}

// TestDocument is a document for tests of policies: all given data is at data.external, and any other
// is missing.
func TestDocument(own eval.Document, data Set) eval.Document {
	return root{own, view{data: data, names: slices.Sorted(maps.Keys(data)), any: true}}
}

// root is the data of a source together with external data.
type root struct {
	own      eval.Document
	external view
}

// Get implements eval.Document.
func (r root) Get(key string) (ast.Value, eval.Document, error) {
	if key == definition.ExternalKey {
		return nil, r.external, nil
	}
	return r.own.Get(key)
}

// Value implements eval.Document.
func (r root) Value() (ast.Value, error) {
	own, err := r.own.Value()
	if err != nil {
		return nil, err
	}
	object, isObject := own.(ast.Object)
	if !isObject {
		return nil, fmt.Errorf("the data of the source is not an object")
	}
	value, err := r.external.Value()
	if err != nil {
		return nil, err
	}
	return terms.With(object, definition.ExternalKey, ast.NewTerm(value)), nil
}

// view is data.external for one source.
type view struct {
	data  Set
	names []string // sorted
	any   bool     // a name that is not among names is missing
}

// Get implements eval.Document.
func (v view) Get(name string) (ast.Value, eval.Document, error) {
	if _, named := slices.BinarySearch(v.names, name); !named && !v.any {
		return nil, nil, nil
	}
	data := v.data[name]
	if data == nil {
		return nil, missing{name}, nil
	}
	return data.value, nil, nil
}

// missing is the data of a DataSource that has none. Each read of it is an error, and a test may
// replace it.
type missing struct{ name string }

// Get implements eval.Document.
func (m missing) Get(string) (ast.Value, eval.Document, error) { return nil, nil, MissingError(m.name) }

// Value implements eval.Document.
func (m missing) Value() (ast.Value, error) { return nil, MissingError(m.name) }

// Value implements eval.Document.
func (v view) Value() (ast.Value, error) {
	items := make([][2]*ast.Term, 0, len(v.names))
	for _, name := range v.names {
		data := v.data[name]
		if data == nil {
			return nil, MissingError(name)
		}
		items = append(items, ast.Item(ast.StringTerm(name), ast.NewTerm(data.value)))
	}
	return ast.NewObject(items...), nil
}
