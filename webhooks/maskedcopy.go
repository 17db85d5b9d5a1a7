package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maskTree is a Mask by its segments. A nil tree masks nothing.
type maskTree struct {
	whole bool // the value here is masked
	// drop removes the value in place of masking it, for fields whose size matters.
	drop     bool
	children map[string]*maskTree // "*" is every key and element
}

func newMaskTree(masks ...Mask) *maskTree {
	root := &maskTree{}
	for _, mask := range masks {
		for _, path := range mask {
			root.at(path).whole = true
		}
	}
	return root
}

// at returns the node of a path, which it creates.
func (t *maskTree) at(path []string) *maskTree {
	for _, segment := range path {
		if t.children == nil {
			t.children = map[string]*maskTree{}
		}
		if t.children[segment] == nil {
			t.children[segment] = &maskTree{}
		}
		t = t.children[segment]
	}
	return t
}

// below returns the trees that apply to the value of a key or element.
func below(trees []*maskTree, key string) (found []*maskTree) {
	for _, tree := range trees {
		if child := tree.children[key]; child != nil && key != "*" {
			found = append(found, child)
		}
		if child := tree.children["*"]; child != nil {
			found = append(found, child)
		}
	}
	return found
}

func anyWhole(trees []*maskTree) bool {
	return slices.ContainsFunc(trees, func(t *maskTree) bool { return t.whole })
}

// maskedCopy copies JSON without the masked values.
type maskedCopy struct {
	out []byte
	// pointers are the locations of masked values, below prefix.
	pointers []string
	prefix   string
	// removed receives each masked value and its location; nil if they are not required.
	removed func(value jsontext.Value, pointer string)
}

// value copies the next value of the decoder.
func (c *maskedCopy) value(from *jsontext.Decoder, trees []*maskTree, pointer string) error {
	if anyWhole(trees) {
		return c.mask(from, pointer)
	}
	kind := from.PeekKind()
	if len(trees) == 0 || kind != '{' && kind != '[' {
		value, err := from.ReadValue()
		if err != nil {
			return err
		}
		start := len(c.out)
		c.out = append(c.out, value...)
		if bytes.ContainsAny(value, "\n\r\t ") { // not from the API server
			compact := jsontext.Value(slices.Clone(c.out[start:]))
			if err := compact.Compact(); err != nil {
				return err
			}
			c.out = append(c.out[:start], compact...)
		}
		return nil
	}
	return c.members(from, kind, trees, pointer)
}

func (c *maskedCopy) members(from *jsontext.Decoder, kind jsontext.Kind, trees []*maskTree, pointer string) error {
	if _, err := from.ReadToken(); err != nil {
		return err
	}
	c.out = append(c.out, byte(kind))
	first := true
	for i := 0; ; i++ {
		next := from.PeekKind()
		if next == '}' || next == ']' {
			c.out = append(c.out, byte(next))
			_, err := from.ReadToken()
			return err
		}
		key := strconv.Itoa(i)
		var name jsontext.Value
		if kind == '{' {
			text, err := from.ReadValue()
			if err != nil {
				return err
			}
			name = slices.Clone(text)
			unquoted, err := jsontext.AppendUnquote(nil, name)
			if err != nil {
				return err
			}
			key = string(unquoted)
		}
		inner := below(trees, key)
		if slices.ContainsFunc(inner, func(t *maskTree) bool { return t.drop }) {
			c.pointers = append(c.pointers, c.prefix+pointer+"/"+escapePointer(key))
			if err := from.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if !first {
			c.out = append(c.out, ',')
		}
		first = false
		if kind == '{' {
			c.out = append(append(c.out, name...), ':')
		}
		at := ""
		if len(inner) > 0 {
			at = pointer + "/" + escapePointer(key)
		}
		if err := c.value(from, inner, at); err != nil {
			return err
		}
	}
}

func (c *maskedCopy) mask(from *jsontext.Decoder, pointer string) error {
	value, err := from.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == 'n' { // null is the absence of a value
		c.out = append(c.out, "null"...)
		return nil
	}
	if c.removed != nil {
		c.removed(value, pointer)
	}
	c.out = append(c.out, `"`+masked+`"`...)
	c.pointers = append(c.pointers, c.prefix+pointer)
	return nil
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// newDecoder accepts what the strict decoder of reviews has accepted, and what encoding/json writes.
func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
}

// requestIn returns a decoder at the request of an AdmissionReview.
func requestIn(body []byte) (*jsontext.Decoder, error) {
	decoder := newDecoder(body)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, fmt.Errorf("the body is not a JSON object")
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		if name.String() == "request" {
			return decoder, nil
		}
		if err := decoder.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the body has no request")
}

// copyMasked returns a JSON value without the masked values.
func copyMasked(text []byte, tree *maskTree, prefix string, removed func(jsontext.Value, string)) (json.RawMessage, []string, error) {
	c := maskedCopy{out: make([]byte, 0, len(text)), prefix: prefix, removed: removed}
	if err := c.value(newDecoder(text), []*maskTree{tree}, ""); err != nil {
		return nil, nil, err
	}
	return c.out, c.pointers, nil
}
