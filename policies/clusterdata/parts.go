package clusterdata

import (
	"io"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// IsWhole reports whether all of a value is read.
func (f *Fields) IsWhole() bool { return f.isWhole() }

// At returns the fields read of a field's value; ok is false if the field is not read.
func (f *Fields) At(name string) (field *Fields, ok bool) {
	if f.isWhole() {
		return nil, true
	}
	return f.at(name)
}

// WriteParts writes the parts of a value that are read, so that equal texts mean equal parts. path is
// that of the value. replace returns the value that is written for a field, or false for a field that is
// left out; nil changes none.
func (f *Fields) WriteParts(to io.StringWriter, value ast.Value, path []string, replace func(path []string, value ast.Value) (ast.Value, bool)) {
	write := func(text string) { _, _ = to.WriteString(text) } // hashes and buffers never fail
	switch value := value.(type) {
	case ast.Object:
		write("{")
		value.Foreach(func(key, term *ast.Term) {
			name, isText := key.Value.(ast.String)
			if !isText {
				return
			}
			field, ok := f.At(string(name))
			if !ok {
				return
			}
			below := append(path[:len(path):len(path)], string(name))
			inner := term.Value
			if replace != nil {
				if inner, ok = replace(below, inner); !ok {
					return
				}
			}
			write(strconv.Quote(string(name)))
			write(":")
			field.WriteParts(to, inner, below, replace)
			write(",")
		})
		write("}")
	case *ast.Array:
		write("[")
		each, ok := f.At("")
		below := append(path[:len(path):len(path)], "")
		value.Foreach(func(term *ast.Term) {
			if ok {
				each.WriteParts(to, term.Value, below, replace)
			}
			write(",")
		})
		write("]")
	case ast.String:
		write(strconv.Quote(string(value)))
	default:
		write(value.String())
	}
}
