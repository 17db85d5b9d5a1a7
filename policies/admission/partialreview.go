package admission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
)

// NewPartialReview is NewReview for a request in which values are masked. masked lists these as
// JSON pointers into the request. Policies that depend on such a value are undecided. The error
// is an *eval.UnknownError if the value also decides which policies match.
func NewPartialReview(request []byte, masked []string) (*Review, error) {
	object, err := decodeRequest(request)
	if err != nil {
		return nil, err
	}
	unknown := &unknownTree{}
	for _, pointer := range masked {
		path, err := parsePointer(pointer)
		if err != nil {
			return nil, fmt.Errorf("reading the masked values: %w", err)
		}
		reference := referenceTo(path)
		if decidesMatch(path) {
			return nil, &eval.UnknownError{Reference: reference}
		}
		unknown.add(path, eval.NewUnknown(reference))
	}
	whole, err := unknown.replace(ast.NewTerm(object))
	if err != nil {
		return nil, fmt.Errorf("reading the masked values: %w", err)
	}
	review, err := reviewOf(whole.Value.(ast.Object), requestObjects{})
	if err != nil {
		return nil, err
	}
	return review, review.check()
}

// decidesMatch reports whether the engine itself reads a value at a path of a request: to select
// policies and exceptions, or to read a certificate request.
func decidesMatch(path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch path[0] {
	case "object", "oldObject":
		return decidesObjectMatch(path[1:])
	case "options":
		return false
	case "userInfo":
		return len(path) < 2 || path[1] == "username"
	}
	return true
}

// decidesObjectMatch is decidesMatch for a path of an object, of which the engine reads the
// metadata, a certificate request, and the Pod template.
func decidesObjectMatch(path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch path[0] {
	case "metadata":
		return len(path) < 2 || path[1] != "annotations" && path[1] != "managedFields"
	case "spec":
	default:
		return path[0] == "apiVersion" || path[0] == "kind"
	}
	path = path[1:]
	if len(path) > 2 && path[0] == "jobTemplate" && path[1] == "spec" {
		path = path[2:]
	}
	switch {
	case len(path) == 0, path[0] == "jobTemplate":
		return true
	case path[0] == "request", path[0] == "csr":
		return len(path) == 1
	case path[0] != "template":
		return false
	case len(path) > 1 && path[1] == "metadata":
		return decidesObjectMatch(path[1:])
	}
	return len(path) < 3
}

// unescape decodes a step of a JSON pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func parsePointer(pointer string) ([]string, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("%q is not a JSON pointer", pointer)
	}
	path := strings.Split(pointer[1:], "/")
	for i := range path {
		path[i] = unescape.Replace(path[i])
	}
	return path, nil
}

// referenceTo is a path of a request as policies refer to it.
func referenceTo(path []string) string {
	var b strings.Builder
	b.WriteString("input.request")
	for _, key := range path {
		switch {
		case ast.IsVarCompatibleString(key):
			b.WriteString("." + key)
		case isIndex(key):
			b.WriteString("[" + key + "]")
		default:
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	return b.String()
}

func isIndex(key string) bool {
	_, err := strconv.ParseUint(key, 10, 31)
	return err == nil
}
