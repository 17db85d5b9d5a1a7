package webhooks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// concealed are the masked values of a review in the forms in which a policy may quote them.
// Texts that contain one are replaced as a whole, as in the decision log.
type concealed struct {
	values map[string]bool
	// all conceals every text: the values are not known.
	all bool
}

// maxConcealed bounds the time to search for values. If there are more, all texts are concealed.
const maxConcealed = 1000

// minLine is the length from which a line of a longer value is concealed on its own.
const minLine = 12

func newConcealed() *concealed { return &concealed{values: map[string]bool{}} }

// add conceals the texts and numbers in a JSON value.
func (c *concealed) add(value jsontext.Value) {
	var node any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if decoder.Decode(&node) != nil {
		c.all = true
		return
	}
	c.addNode(node)
}

func (c *concealed) addNode(node any) {
	found := map[string]bool{}
	visit(node, nil, found)
	for text := range found {
		c.addText(text)
	}
}

// addText conceals a text, the text that it encodes, and its lines.
func (c *concealed) addText(text string) {
	c.addForms(text)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if plain, err := encoding.DecodeString(strings.TrimSpace(text)); err == nil && len(plain) >= minContained && utf8.Valid(plain) {
			c.addForms(string(plain))
			c.addDocument(string(plain))
		}
	}
	c.addDocument(text)
}

// addDocument conceals the values of a JSON document in a text, such as a Docker configuration.
func (c *concealed) addDocument(text string) {
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return
	}
	var node any
	if json.Unmarshal([]byte(text), &node) != nil {
		return
	}
	found := map[string]bool{}
	visit(node, nil, found)
	for value := range found {
		c.addForms(value)
	}
}

func (c *concealed) addForms(text string) {
	add := func(form string) {
		switch form = strings.ToLower(form); {
		case form == "" || c.all:
		case len(c.values) >= maxConcealed:
			c.all = true
		default:
			c.values[form] = true
		}
	}
	add(text)
	add(strings.TrimSpace(text))
	if len(text) < minContained {
		return
	}
	add(strings.Trim(strconv.Quote(text), `"`))
	if quoted, err := json.Marshal(text); err == nil {
		add(strings.Trim(string(quoted), `"`))
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		add(encoding.EncodeToString([]byte(text)))
	}
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				add(line)
			}
		}
	}
}

// text returns a text that contains no concealed value.
func (c *concealed) text(text string) string {
	if text == "" || !c.all && len(c.values) == 0 {
		return text
	}
	if c.all {
		return masked
	}
	lower := strings.ToLower(text)
	for value := range c.values {
		if lower == value || len(value) >= minContained && strings.Contains(lower, value) {
			return masked
		}
	}
	return text
}

// node is text for every text and number in a JSON value.
func (c *concealed) node(node any) any {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for key, child := range node {
			out[c.text(key)] = c.node(child)
		}
		return out
	case []any:
		for i, child := range node {
			node[i] = c.node(child)
		}
		return node
	case nil, bool:
		return node
	}
	if c.text(fmt.Sprint(node)) == masked {
		return masked
	}
	return node
}
