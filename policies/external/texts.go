package external

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// Lookup returns the text of a key in data that is an object. The error says why there is none.
func (d *Data) Lookup(key string) (string, error) {
	object, isObject := d.value.(ast.Object)
	if !isObject {
		return "", fmt.Errorf("the data of DataSource %s is not an object", d.Name)
	}
	value := terms.Lookup(object, key)
	if value == nil {
		return "", fmt.Errorf("DataSource %s has no key %q", d.Name, key)
	}
	text, isText := value.(ast.String)
	if !isText {
		return "", fmt.Errorf("DataSource %s: the value of key %q is not a string", d.Name, key)
	}
	return string(text), nil
}

// IsResult reports whether a text is the value of some key. The values are indexed at the first
// call.
func (d *Data) IsResult(text string) bool {
	d.indexOnce.Do(func() {
		d.results = map[string]bool{}
		if object, isObject := d.value.(ast.Object); isObject {
			object.Foreach(func(_, value *ast.Term) {
				if text, isText := value.Value.(ast.String); isText {
					d.results[string(text)] = true
				}
			})
		}
	})
	return d.results[text]
}
