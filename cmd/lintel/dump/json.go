package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// jsonDocument is an object that is being read. If it is a list, each item is passed as soon as
// it is complete.
type jsonDocument struct {
	r          *reader
	name, file string
	content    *meter
	decoder    *jsontext.Decoder
	line       int
	fields     bytes.Buffer // all but the items
	items      bool
	apiVersion string
	kindName   string
}

// jsonStream reads JSON objects in a row.
func (r *reader) jsonStream(name, file string, content io.Reader) error {
	metered := &meter{from: content}
	decoder := jsontext.NewDecoder(metered)
	for {
		metered.begin()
		kind := decoder.PeekKind()
		d := &jsonDocument{r: r, name: name, file: file, content: metered, decoder: decoder}
		d.line = d.here()
		if kind != '{' {
			if _, err := decoder.ReadToken(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return d.problem(err)
			}
			return fmt.Errorf("%s:%d: the rest of the file cannot be read: not a JSON object", name, d.line)
		}
		if err := d.read(); err != nil {
			return err
		}
	}
}

// here is the line at which the decoder is.
func (d *jsonDocument) here() int {
	return 1 + d.content.lines - bytes.Count(d.decoder.UnreadBuffer(), []byte("\n"))
}

func (d *jsonDocument) problem(err error) error {
	line := d.here()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err = syntax.Err
	}
	return fmt.Errorf("%s:%d: the rest of the file cannot be read: reading JSON: %w", d.name, line, err)
}

// read reads one object.
func (d *jsonDocument) read() error {
	if _, err := d.decoder.ReadToken(); err != nil {
		return d.problem(err)
	}
	d.fields.WriteByte('{')
	for d.decoder.PeekKind() != '}' {
		d.content.begin()
		name, err := d.decoder.ReadToken()
		if err != nil {
			return d.problem(err)
		}
		field := name.String()
		if field == "items" && d.decoder.PeekKind() == '[' && (d.kindName == "" || isList(d.kind())) {
			if err := d.readItems(); err != nil {
				return err
			}
			continue
		}
		value, err := d.decoder.ReadValue()
		if err != nil {
			return d.problem(err)
		}
		if err := d.keep(field, value); err != nil {
			return err
		}
	}
	if _, err := d.decoder.ReadToken(); err != nil {
		return d.problem(err)
	}
	d.fields.WriteByte('}')
	if d.items {
		if err := checkList(d.name, d.line, d.kind()); err != nil {
			return d.r.unreadable(err)
		}
	}
	objects, err := manifests.ParseDocument(manifest.Document{File: d.name, Line: d.line, Number: 1, JSON: d.fields.Bytes()})
	if d.items { // the document without them is not an object
		return d.r.unreadable(err)
	}
	if err != nil {
		return d.r.unreadable(err)
	}
	return d.r.objects(d.file, objects)
}

func (d *jsonDocument) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(d.apiVersion, d.kindName)
}

// keep keeps a field of the object.
func (d *jsonDocument) keep(field string, value jsontext.Value) error {
	if into := map[string]*string{"apiVersion": &d.apiVersion, "kind": &d.kindName}[field]; into != nil {
		_ = json.Unmarshal(value, into) // of another type, it is refused with the object
	}
	if d.fields.Len() > 1 {
		d.fields.WriteByte(',')
	}
	quoted, err := jsontext.AppendQuote(nil, field)
	if err != nil {
		return d.problem(err)
	}
	d.fields.Write(quoted)
	d.fields.WriteByte(':')
	d.fields.Write(value)
	if d.fields.Len() > maxObjectBytes {
		return d.problem(errTooLarge)
	}
	return nil
}

func (d *jsonDocument) readItems() error {
	d.items = true
	if _, err := d.decoder.ReadToken(); err != nil {
		return d.problem(err)
	}
	for d.decoder.PeekKind() != ']' {
		d.content.begin()
		value, err := d.decoder.ReadValue()
		if err != nil {
			return d.problem(err)
		}
		line := d.here() - bytes.Count(value, []byte("\n"))
		if err := d.r.item(d.name, d.file, line, d.kind(), value); err != nil {
			return err
		}
	}
	if _, err := d.decoder.ReadToken(); err != nil {
		return d.problem(err)
	}
	return nil
}

// meter counts lines, and bounds the bytes of one value.
type meter struct {
	from  io.Reader
	lines int
	value int
}

// begin begins a value.
func (m *meter) begin() { m.value = 0 }

func (m *meter) Read(p []byte) (int, error) {
	if m.value > maxObjectBytes {
		return 0, errTooLarge
	}
	n, err := m.from.Read(p)
	m.value += n
	m.lines += bytes.Count(p[:n], []byte("\n"))
	return n, err
}
