package management

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/lintel-policy/lintel/controllers/object"
)

// Cause classifies the errors of the server that callers distinguish.
type Cause string

const (
	// Unauthorized is a key that the server does not take.
	Unauthorized Cause = "Unauthorized"
	// Forbidden is a key whose user lacks the permission for the request.
	Forbidden Cause = "Forbidden"
	// NotFound is an object that the server does not have.
	NotFound Cause = "NotFound"
	// NotServed means that the server has no such address.
	NotServed Cause = "NotServed"
	// AlreadyExists is a name that is already in use.
	AlreadyExists Cause = "AlreadyExists"
	// Invalid is a request that the server rejects.
	Invalid Cause = "Invalid"
	// RateLimited is a server that requests a delay.
	RateLimited Cause = "RateLimited"
	// ServerError is a server that responds, but could not process the request.
	ServerError Cause = "ServerError"
	// Unavailable is a server that does not answer, or not as a management server does.
	Unavailable Cause = "Unavailable"
)

// Error is the error of a failed request.
type Error struct {
	Cause Cause
	// Asked is the method and the path of the request.
	Asked string
	// Code is that of HTTP: 0 where there was no answer.
	Code int
	// Message is the server's message, if there is one.
	Message string
	// RetryAfter is the delay that the server requests, if any.
	RetryAfter time.Duration
	// Unsure reports that the server may have processed the request.
	Unsure bool
}

func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s: %s", e.Asked, e.Message)
	}
	return fmt.Sprintf("%s: %d: %s", e.Asked, e.Code, e.Message)
}

// ofTenant reports that any next request would fail in the same way.
func (e *Error) ofTenant() bool {
	return e.Cause == Unauthorized || e.Cause == RateLimited || e.Cause == Unavailable
}

// Is reports whether an error has a cause.
func Is(err error, cause Cause) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Cause == cause
}

// Unsure reports whether the server may have processed a failed request.
func Unsure(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Unsure
}

// IsNameTaken reports whether a resource was rejected because another resource of the account has
// its name. For resources, the server returns 422 in no other case.
func IsNameTaken(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == http.StatusUnprocessableEntity
}

const (
	// maxMessage limits how much of a server's message is stored, in bytes.
	maxMessage = 500
	// maxRetryAfter limits the delay that a server can request.
	maxRetryAfter = 5 * time.Minute
)

// failure converts a response without success to an error. It removes key from the message.
func failure(asked string, answer *http.Response, body []byte, key string, quoted bool) *Error {
	message, found := wordsOf(body)
	e := &Error{Asked: asked, Code: answer.StatusCode}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		e.Cause = Unauthorized
	case code == http.StatusForbidden:
		e.Cause = Forbidden
	case code == http.StatusNotFound && found:
		e.Cause = NotFound
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		e.Cause = NotServed
	case code == http.StatusConflict:
		e.Cause = AlreadyExists
	case code == http.StatusTooManyRequests:
		e.Cause, e.RetryAfter = RateLimited, retryAfter(answer.Header.Get("Retry-After"), time.Now())
	case code == http.StatusInternalServerError && found:
		e.Cause = ServerError
	case code >= http.StatusInternalServerError:
		e.Cause, e.RetryAfter, e.Unsure = Unavailable, retryAfter(answer.Header.Get("Retry-After"), time.Now()), true
	case found:
		e.Cause = Invalid
	default:
		e.Cause = Unavailable
	}
	switch {
	case !found:
		message = notJSON(answer, quoted)
	case !quoted:
		message = http.StatusText(answer.StatusCode) + "; the message of the server is left out, because it is not the one of --openzro-management-url"
	}
	e.Message = without(message, key)
	return e
}

// wordsOf returns the message of a server's error. found reports that the response is from a
// management server.
func wordsOf(body []byte) (message string, found bool) {
	var said struct {
		Message *string `json:"message"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Message == nil {
		return "", false
	}
	return *said.Message, true
}

func notJSON(answer *http.Response, quoted bool) string {
	if location := answer.Header.Get("Location"); location != "" && answer.StatusCode/100 == 3 {
		return "redirects elsewhere, which is not followed; give the address that it leads to as managementURL"
	}
	if !quoted {
		return "the answer is not that of a management server; check managementURL"
	}
	kind := answer.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	return fmt.Sprintf("the answer (%s) is not that of a management server; check managementURL", kind)
}

// without removes the key from a text, and shortens the text afterwards: shortening first could
// leave a part of the key. The server may have changed its case.
func without(text, key string) string {
	if key != "" {
		text = regexp.MustCompile("(?i)"+regexp.QuoteMeta(key)).ReplaceAllLiteralString(text, "<key>")
	}
	return object.Shorten(text, maxMessage)
}

// retryAfter reads the header of that name, which has seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
