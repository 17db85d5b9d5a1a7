package openzro

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// refusal is an answer that is an error.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, values ...any) error {
	return &refusal{status, fmt.Sprintf(format, values...)}
}

func invalid(format string, values ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, values...)
}

func missing(what, id string) error {
	return refuse(http.StatusNotFound, "there is no %s %s", what, id)
}

// broken is what the server says where it has no better error: nothing.
func broken() error { return refuse(http.StatusInternalServerError, "internal server error") }

// write answers with an object, or with an error. Every success is a 200.
func write(w http.ResponseWriter, answer any, err error) {
	status := http.StatusOK
	if refused := new(refusal); errors.As(err, &refused) {
		status = refused.status
		answer = Refused{Message: refused.message, Code: refused.status}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// request is an authorized call.
type request struct {
	*http.Request
	account *Account
	user    *storedUser
}

// decode reads the body with strict types, but ignores unknown fields.
func (r *request) decode(into any) error {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		return refuse(http.StatusBadRequest, "the body is not the JSON that is expected")
	}
	return nil
}

// empty is the answer to a deletion.
type empty struct{}
