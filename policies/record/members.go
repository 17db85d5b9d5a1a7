package record

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Members calls visit with the members of a JSON object, in their order. Values are parts of the
// text. It ends early if visit returns false. Repeated names and invalid UTF-8 are passed on: the
// evaluation of a request refuses them.
func Members(text []byte, visit func(name string, value []byte) bool) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if decoder.PeekKind() != '{' {
		return errors.New("not a JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		end := decoder.InputOffset()
		if !visit(name, text[end-int64(len(value)):end:end]) {
			return nil
		}
	}
	_, err := decoder.ReadToken()
	return err
}
