package management

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// weight is how much there is of an answer.
type weight struct{ bytes, values int }

// weighed reads an answer into out, and weighs it.
type weighed struct {
	out any
	weight
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *weighed) UnmarshalJSON(text []byte) error {
	w.weight = weight{len(text), bytes.Count(text, comma)}
	return json.Unmarshal(text, w.out)
}

// place is the location of a tenant's cached data: the ID is empty for a list.
type place struct {
	collection any
	id         string
}

// tooMuch is a list for which there is no room.
func tooMuch(path string) *Error {
	return &Error{Cause: Unavailable, Asked: "GET /api" + path, Code: http.StatusOK, Message: fmt.Sprintf(
		"with this, what the server has is more than %d MiB or %d values", maxAnswer>>20, maxValues)}
}
