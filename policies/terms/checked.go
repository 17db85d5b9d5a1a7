package terms

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
)

// DecodeChecked is Decode for a text that SkipObject has accepted: it is valid JSON without duplicate
// keys, and within all limits, so that nothing is checked again. The term shares no memory with the
// text.
func DecodeChecked(text []byte) (*ast.Term, error) {
	d := checkedDecoderPool.Get().(*checkedDecoder)
	defer d.release()
	d.text = text
	term, err := d.value()
	if err == nil && d.peek() != 0 {
		err = fmt.Errorf("more than one JSON value, at byte %d", d.at)
	}
	return term, err
}

// checkedDecoder reads a text that is known to be valid.
type checkedDecoder struct {
	text []byte
	at   int
	// pairs and elements are those of the objects and lists that are being read, each behind those
	// that contain it.
	pairs    [][2]*ast.Term
	elements []*ast.Term
	// copied is a copy of the text from copiedAt, of which strings are parts. It is short, because
	// every string that outlives the review retains all of it.
	copied   string
	copiedAt int
	// terms are unused terms.
	terms []ast.Term
}

const (
	copiedBytes = 1024
	termsAtOnce = 32
)

// checkedDecoderPool reuses the memory of decoders for members and elements.
var checkedDecoderPool = sync.Pool{New: func() any { return &checkedDecoder{} }}

// release keeps the decoder for another text, and nothing of this one.
func (d *checkedDecoder) release() {
	const maxKept = 256
	if cap(d.pairs) > maxKept {
		d.pairs = nil
	}
	if cap(d.elements) > maxKept {
		d.elements = nil
	}
	clear(d.pairs[:cap(d.pairs)])
	clear(d.elements[:cap(d.elements)])
	*d = checkedDecoder{pairs: d.pairs[:0], elements: d.elements[:0]}
	checkedDecoderPool.Put(d)
}

// peek returns the next byte that is not white space: 0 at the end.
func (d *checkedDecoder) peek() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// next skips the byte of peek.
func (d *checkedDecoder) next() { d.at++ }

func (d *checkedDecoder) term(value ast.Value) *ast.Term {
	if len(d.terms) == 0 {
		d.terms = make([]ast.Term, termsAtOnce)
	}
	term := &d.terms[0]
	d.terms = d.terms[1:]
	term.Value = value
	return term
}

// invalid is the error about a text that was not checked.
func (d *checkedDecoder) invalid() error { return fmt.Errorf("invalid JSON at byte %d", d.at) }

// value reads a value.
func (d *checkedDecoder) value() (*ast.Term, error) {
	switch c := d.peek(); c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		text, err := d.string()
		if err != nil {
			return nil, err
		}
		return d.term(ast.String(text)), nil
	case 't', 'n', 'f':
		return d.literal(c)
	default:
		start := d.at
		for d.at < len(d.text) && isInNumber(d.text[d.at]) {
			d.at++
		}
		if d.at == start {
			return nil, d.invalid()
		}
		text, err := d.unquoted(start, d.at, false)
		return d.term(ast.Number(text)), err
	}
}

func (d *checkedDecoder) literal(first byte) (*ast.Term, error) {
	name, term := "true", ast.InternedTerm(true)
	switch first {
	case 'f':
		name, term = "false", ast.InternedTerm(false)
	case 'n':
		name, term = "null", ast.InternedNullTerm
	}
	if string(d.text[d.at:min(d.at+len(name), len(d.text))]) != name {
		return nil, d.invalid()
	}
	d.at += len(name)
	return term, nil
}

func (d *checkedDecoder) array() (*ast.Term, error) {
	start := len(d.elements)
	for d.next(); d.peek() != ']'; {
		element, err := d.value()
		if err != nil {
			return nil, err
		}
		d.elements = append(d.elements, element)
		if d.peek() == ',' {
			d.next()
		}
	}
	d.next()
	array := ast.NewArray(append([]*ast.Term(nil), d.elements[start:]...)...)
	clear(d.elements[start:])
	d.elements = d.elements[:start]
	return d.term(array), nil
}

func (d *checkedDecoder) object() (*ast.Term, error) {
	start := len(d.pairs)
	for d.next(); d.peek() != '}'; {
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		if d.peek() != ':' {
			return nil, d.invalid()
		}
		d.next()
		var value *ast.Term
		if name == fieldsV1 && d.peek() == '{' {
			value, err = d.fields()
		} else {
			value, err = d.value()
		}
		if err != nil {
			return nil, err
		}
		d.pairs = append(d.pairs, [2]*ast.Term{name, value})
		if d.peek() == ',' {
			d.next()
		}
	}
	d.next()
	if len(d.pairs) == start {
		return ast.InternedEmptyObject, nil // managedFields are full of them
	}
	object := ast.NewObject(d.pairs[start:]...)
	d.pairs = d.pairs[:start]
	return d.term(object), nil
}

// name reads the name of a member.
func (d *checkedDecoder) name() (*ast.Term, error) {
	start, end, escaped, err := d.quoted()
	if err != nil {
		return nil, err
	}
	if !escaped {
		if term, known := fieldTerms[string(d.text[start:end])]; known {
			return term, nil
		}
	}
	text, err := d.unquoted(start, end, escaped)
	if err != nil {
		return nil, err
	}
	return d.term(ast.String(text)), nil
}

func (d *checkedDecoder) string() (string, error) {
	start, end, escaped, err := d.quoted()
	if err != nil {
		return "", err
	}
	return d.unquoted(start, end, escaped)
}

// quoted skips a string, and returns the places of its content.
func (d *checkedDecoder) quoted() (start, end int, escaped bool, err error) {
	if d.peek() != '"' {
		return 0, 0, false, d.invalid()
	}
	d.next()
	for start = d.at; d.at < len(d.text); d.at++ {
		switch d.text[d.at] {
		case '"':
			d.next()
			return start, d.at - 1, escaped, nil
		case '\\':
			escaped = true
			d.next()
		}
	}
	return 0, 0, false, d.invalid()
}

func (d *checkedDecoder) unquoted(start, end int, escaped bool) (string, error) {
	if escaped {
		text, err := jsontext.AppendUnquote(nil, d.text[start-1:end+1])
		return string(text), err
	}
	if start < d.copiedAt || end > d.copiedAt+len(d.copied) {
		d.copied, d.copiedAt = string(d.text[start:min(max(end, start+copiedBytes), len(d.text))]), start
	}
	return d.copied[start-d.copiedAt : end-d.copiedAt], nil
}
