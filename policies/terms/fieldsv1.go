package terms

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// fieldsV1 is the name under which managedFields have the fields of a manager: a third of most
// objects, and equal for all objects of one form, because it has names of fields and no values.
var fieldsV1 = fieldTerms["fieldsV1"]

// Limits of the cache of fields, in bytes of JSON. Its terms take about fifteen times as much.
const (
	maxCachedFields    = 16 << 10
	maxAllCachedFields = 256 << 10
)

// cachedFields are the fields of managers as terms, by their JSON. The terms are never changed, so
// that reviews can share them.
var cachedFields = fieldsCache{byText: map[string]*ast.Term{}}

type fieldsCache struct {
	mu     sync.RWMutex
	byText map[string]*ast.Term
	bytes  int
}

func (c *fieldsCache) get(text []byte) *ast.Term {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byText[string(text)]
}

func (c *fieldsCache) put(text []byte, term *ast.Term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += len(text); c.bytes > maxAllCachedFields {
		clear(c.byText)
		c.bytes = len(text)
	}
	c.byText[string(text)] = term
}

// fields reads the fields of a manager.
func (d *checkedDecoder) fields() (*ast.Term, error) {
	start := d.at
	if !d.skipObject() {
		return nil, d.invalid()
	}
	text := d.text[start:d.at]
	if len(text) > maxCachedFields {
		d.at = start
		return d.value()
	}
	if term := cachedFields.get(text); term != nil {
		return term, nil
	}
	end := d.at
	d.at = start
	// Terms of the cache are in memory of their own.
	own := &checkedDecoder{text: text}
	term, err := own.value()
	if err != nil {
		return nil, err
	}
	d.at = end
	cachedFields.put(text, term)
	return term, nil
}

// skipObject moves behind an object. It returns false if the object has no end.
func (d *checkedDecoder) skipObject() bool {
	for depth := 0; d.at < len(d.text); d.at++ {
		switch d.text[d.at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				d.next()
				return true
			}
		case '"':
			for d.next(); d.at < len(d.text) && d.text[d.at] != '"'; d.next() {
				if d.text[d.at] == '\\' {
					d.next()
				}
			}
		}
	}
	return false
}
