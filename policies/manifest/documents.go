// Package manifest reads files of YAML and JSON documents, as kubectl does.
//
// Invariant: a document has no duplicate keys, and says where it stands.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Document is one YAML or JSON document of a file, as JSON without duplicate keys.
type Document struct {
	File   string
	Line   int // from 1
	Number int // from 1; empty documents do not count
	JSON   []byte
	// Text is what the document was read from, which starts at TextLine.
	Text     []byte
	TextLine int
}

// String says where the document stands.
func (d Document) String() string { return fmt.Sprintf("%s:%d: document %d", d.File, d.Line, d.Number) }

// section is the text between two YAML document markers.
type section struct {
	file string
	line int // of its first line, from 1
	text []byte
}

// Read reads a file of YAML or JSON documents. file is what messages call it.
func Read(file string, text []byte) ([]Document, error) {
	return ReadAt(file, 1, bytes.TrimPrefix(text, []byte("\uFEFF")))
}

// ReadAt reads documents from a part of a file, which starts at a line.
func ReadAt(file string, line int, text []byte) ([]Document, error) {
	sections, err := splitSections(file, line, text)
	if err != nil {
		return nil, err
	}
	var documents []Document
	for _, s := range sections {
		found, err := s.documents()
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			d.Number = len(documents) + 1
			documents = append(documents, d)
		}
	}
	return documents, nil
}

// splitSections splits a text that starts at a line of the file at lines "---", as kubectl
// does.
func splitSections(file string, startLine int, text []byte) ([]section, error) {
	var sections []section
	start, offset, line := 0, 0, startLine-1
	for content := range bytes.Lines(text) {
		line++
		rest, marker := bytes.CutPrefix(content, []byte("---"))
		offset += len(content)
		if !marker || (len(rest) > 0 && !bytes.ContainsAny(rest[:1], " \t\r\n")) {
			continue
		}
		if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
			return nil, fmt.Errorf("%s:%d: put what follows --- on a line of its own", file, line)
		}
		sections = append(sections, section{file, startLine, text[start : offset-len(content)]})
		start, startLine = offset, line+1
	}
	return append(sections, section{file, startLine, text[start:]}), nil
}

// documents are the one YAML document or the JSON documents of a section.
func (s section) documents() ([]Document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(s.text), []byte("{")) {
		documents, err := s.jsonDocuments()
		// A document that is invalid JSON from the start may have YAML's flow style.
		if err == nil || len(documents) > 0 || strings.HasSuffix(s.file, ".json") {
			return documents, err
		}
	}
	text, err := toJSON(s.text)
	if err != nil {
		return nil, s.yamlError(err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	return []Document{{File: s.file, Line: s.firstLine(), JSON: text, Text: s.text, TextLine: s.line}}, nil
}

// jsonDocuments reads JSON values in a row. After an error it also returns those
// before it.
func (s section) jsonDocuments() ([]Document, error) {
	var documents []Document
	decoder := jsontext.NewDecoder(bytes.NewBuffer(s.text))
	for {
		value, err := decoder.ReadValue()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, s.jsonError(err)
		}
		start := int(decoder.InputOffset()) - len(value)
		documents = append(documents, Document{File: s.file, Line: s.lineAt(start), JSON: bytes.Clone(value), Text: bytes.Clone(value), TextLine: s.lineAt(start)})
	}
}

// firstLine is the line of the first character that is neither space nor comment.
func (s section) firstLine() int {
	line := s.line
	for content := range bytes.Lines(s.text) {
		if content = bytes.TrimSpace(content); len(content) > 0 && content[0] != '#' {
			return line
		}
		line++
	}
	return s.line
}

func (s section) lineAt(offset int) int {
	return s.line + bytes.Count(s.text[:min(offset, len(s.text))], []byte("\n"))
}

// The YAML library puts the line, counted from the start of the section, into the
// text of its errors and nowhere else.
var yamlErrorLine = regexp.MustCompile(`line (\d+): (.*)`)

func (s section) yamlError(err error) error {
	line, message := s.firstLine(), err.Error()
	if found := yamlErrorLine.FindStringSubmatch(message); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil {
			line, message = s.line+n-1, found[2]
		}
	}
	message = strings.TrimPrefix(message, "error converting YAML to JSON: ")
	return fmt.Errorf("%s:%d: %s", s.file, line, strings.TrimPrefix(message, "yaml: "))
}

func (s section) jsonError(err error) error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fmt.Errorf("%s:%d: reading JSON: %w", s.file, s.firstLine(), err)
	}
	at := ""
	if syntax.JSONPointer != "" {
		at = fmt.Sprintf(" at %s", syntax.JSONPointer)
	}
	return fmt.Errorf("%s:%d: reading JSON: %w%s", s.file, s.lineAt(int(syntax.ByteOffset)), syntax.Err, at)
}
