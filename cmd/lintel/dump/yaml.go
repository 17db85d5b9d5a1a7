package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// yamlDocument is a document that is being read. Of a list in block style, as kubectl writes it,
// each item is parsed as soon as it is complete: lines that belong to an item are indented deeper
// than its dash.
type yamlDocument struct {
	r          *reader
	name, file string
	// line is that of the first line of outer, which are the lines that belong to no item.
	line  int
	outer bytes.Buffer
	// items says that the document is a list, and inItems that its items have not ended.
	items, inItems bool
	hasItems       bool
	indent         int // of the dashes
	itemLine       int
	item           bytes.Buffer
	kind           schema.GroupVersionKind // as known before the items
}

// yamlStream reads the documents of a file.
func (r *reader) yamlStream(name, file string, lines *lineReader) error {
	document := &yamlDocument{r: r, name: name, file: file, line: 1}
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return document.end()
		case err != nil:
			return fmt.Errorf("%s:%d: the rest of the file cannot be read: %w", name, lines.line+1, err)
		}
		if hasControls(line) {
			return fmt.Errorf("%s:%d: the rest of the file cannot be read: the line has control characters", name, lines.line)
		}
		if isMarker(line, "---") || isMarker(line, "...") {
			if err := document.end(); err != nil {
				return err
			}
			if rest := bytes.TrimSpace(line[3:]); len(rest) > 0 && rest[0] != '#' {
				return fmt.Errorf("%s:%d: put what follows %s on a line of its own", name, lines.line, line[:3])
			}
			document = &yamlDocument{r: r, name: name, file: file, line: lines.line + 1}
			continue
		}
		if err := document.add(line, lines.line); err != nil {
			return err
		}
	}
}

// hasControls reports whether a line has control characters, or is broken by YAML at another place
// than its end.
func hasControls(line []byte) bool {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	return bytes.ContainsFunc(line, func(r rune) bool {
		return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

func isMarker(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// add adds a line to the document.
func (d *yamlDocument) add(line []byte, number int) error {
	if !d.inItems {
		if name, found := bytes.CutPrefix(line, []byte("items:")); found && !d.items && isBlank(name) {
			d.items, d.inItems, d.indent = true, true, -1
			d.kind, _ = d.readKind() // if it is invalid, that is reported at the end
			d.outer.WriteByte('\n')  // so that lines after the items are not part of it
			return nil
		}
		return d.grow(&d.outer, line, number)
	}
	if isBlank(line) {
		if d.indent >= 0 { // a comment before the first item belongs to none
			return d.grow(&d.item, line, number)
		}
		return d.checkComment(line, number)
	}
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	isDash := isMarker(line[indent:], "-")
	if d.indent < 0 && isDash {
		d.indent = indent
	}
	switch {
	case isDash && indent == d.indent:
		if err := d.endItem(); err != nil {
			return err
		}
		d.itemLine, d.hasItems = number, true
	case indent == 0:
		d.inItems = false
		if err := d.endItem(); err != nil {
			return err
		}
		return d.grow(&d.outer, line, number)
	case indent < d.indent:
		return fmt.Errorf("%s:%d: the line is indented less than the items of the list", d.name, number)
	case d.indent < 0:
		return fmt.Errorf("%s:%d: items is not a list of objects in block style; lists in files of more than %d MiB must be as kubectl writes them", d.name, number, maxWholeBytes>>20)
	}
	return d.grow(&d.item, line, number)
}

// checkComment refuses a line that YAML does not read as empty.
func (d *yamlDocument) checkComment(line []byte, number int) error {
	if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")) {
		return fmt.Errorf("%s:%d: the line is indented with a tab", d.name, number)
	}
	return nil
}

func (d *yamlDocument) grow(buffer *bytes.Buffer, line []byte, number int) error {
	buffer.Write(line)
	if buffer.Len() > maxObjectBytes {
		return fmt.Errorf("%s:%d: the rest of the file cannot be read: %w", d.name, number, errTooLarge)
	}
	return nil
}

// isBlank says whether a line has nothing but a comment.
func isBlank(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 0 || text[0] == '#'
}

// readKind reads the kind of a list from the lines that belong to no item.
func (d *yamlDocument) readKind() (schema.GroupVersionKind, error) {
	documents, err := manifest.ReadAt(d.name, d.line, d.outer.Bytes())
	if err != nil || len(documents) == 0 {
		return schema.GroupVersionKind{}, err
	}
	var about struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Items      json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(documents[0].JSON, &about); err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%s: %w", documents[0], err)
	}
	if about.Items != nil {
		return schema.GroupVersionKind{}, fmt.Errorf(`%s: key "items" is set twice`, documents[0])
	}
	return schema.FromAPIVersionAndKind(about.APIVersion, about.Kind), nil
}

// endItem passes the item that is complete.
func (d *yamlDocument) endItem() error {
	defer d.item.Reset()
	if d.indent < 0 || isAllBlank(d.item.Bytes()) {
		return nil
	}
	documents, err := manifest.ReadAt(d.name, d.itemLine, d.item.Bytes())
	if err != nil {
		return d.r.unreadable(err)
	}
	var items []json.RawMessage
	if len(documents) == 1 {
		err = json.Unmarshal(documents[0].JSON, &items)
	}
	if err != nil || len(items) != 1 {
		return d.r.unreadable(fmt.Errorf("%s:%d: the item is not an object", d.name, d.itemLine))
	}
	return d.r.item(d.name, d.file, d.itemLine, d.kind, items[0])
}

func isAllBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !isBlank(line) {
			return false
		}
	}
	return true
}

// end passes the rest of the document.
func (d *yamlDocument) end() error {
	if !d.items {
		return d.endObject()
	}
	if err := d.endItem(); err != nil {
		return err
	}
	kind, err := d.readKind()
	if err == nil {
		err = checkList(d.name, d.line, kind)
	}
	if err == nil && !d.hasItems && kind.Kind != "List" {
		err = fmt.Errorf("%s:%d: items is empty: write []", d.name, d.line)
	}
	if err == nil {
		err = d.checkOuter()
	}
	return d.r.unreadable(err)
}

// checkOuter refuses a list that is invalid apart from its items.
func (d *yamlDocument) checkOuter() error {
	documents, err := manifest.ReadAt(d.name, d.line, d.outer.Bytes())
	for _, document := range documents {
		if _, invalid := manifests.ParseDocument(document); invalid != nil {
			return invalid
		}
	}
	return err
}

// endObject passes a document that is not a list in block style.
func (d *yamlDocument) endObject() error {
	documents, err := manifest.ReadAt(d.name, d.line, d.outer.Bytes())
	if err != nil {
		return d.r.unreadable(err)
	}
	for _, document := range documents {
		objects, err := manifests.ParseDocument(document)
		if err != nil {
			return d.r.unreadable(err)
		}
		if err := d.r.objects(d.file, objects); err != nil {
			return err
		}
	}
	return nil
}
