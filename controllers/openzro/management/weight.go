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

// remember reports whether there is room for the data of a place.
func (t *Tenant) remember(at place, w weight) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	all := w
	for other, has := range t.weights {
		if other != at && !(at.id == "" && other.collection == at.collection) {
			all.bytes, all.values = all.bytes+has.bytes, all.values+has.values
		}
	}
	if all.bytes > maxAnswer || all.values > maxValues {
		return false
	}
	if at.id == "" {
		t.release(at.collection)
	}
	t.weights[at] = w
	return true
}

// release forgets what a collection weighs. t.mutex is locked.
func (t *Tenant) release(collection any) {
	for at := range t.weights {
		if at.collection == collection {
			delete(t.weights, at)
		}
	}
}

// tooMuch is a list for which there is no room.
func tooMuch(path string) *Error {
	return &Error{Cause: Unavailable, Asked: "GET /api" + path, Code: http.StatusOK, Message: fmt.Sprintf(
		"with this, what the server has is more than %d MiB or %d values", maxAnswer>>20, maxValues)}
}
