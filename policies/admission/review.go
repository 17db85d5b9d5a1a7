package admission

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// Review is a decoded admission.k8s.io/v1 AdmissionReview. It is immutable.
type Review struct {
	// UID, Operation (CREATE, UPDATE, DELETE, CONNECT) and the others are the
	// fields of the AdmissionRequest.
	UID         string
	Operation   string
	Kind        GroupVersionKind // of the request; for a subresource it may be another than the resource's
	Resource    GroupVersionResource
	SubResource string
	Name        string // may be empty when the API server generates it
	Namespace   string // empty for cluster-scoped objects
	Username    string
	DryRun      bool

	// Request is the whole AdmissionRequest, of which New and Old are the object and the
	// oldObject: nil when null.
	Request  func() ast.Object
	New, Old *Object

	userInfo ast.Object
}

// ReviewError explains why a review cannot be read, and how to answer it.
type ReviewError struct {
	// UID is the request's, when it could be read: then the answer is HTTP 200
	// with allowed: false and Code in the status. Without one it is HTTP 400.
	UID     string
	Code    int
	Message string
}

// Error is the message.
func (e *ReviewError) Error() string { return e.Message }

// ErrBusy reports that there was no capacity to evaluate a review in time; a later retry may
// succeed.
var ErrBusy = errors.New("too many requests")

// DecodeReview reads an AdmissionReview. The error is a *ReviewError.
func DecodeReview(body []byte) (*Review, error) {
	term, objects, err := decodeEnvelope(body)
	if err != nil {
		term, err = terms.DecodeUpTo(body, terms.MaxValues)
	}
	if err != nil {
		code := http.StatusBadRequest
		if errors.Is(err, terms.ErrValues) {
			code = http.StatusRequestEntityTooLarge
		}
		return nil, &ReviewError{
			UID:     findUID(body),
			Code:    code,
			Message: unreadable(err),
		}
	}
	root, _ := term.Value.(ast.Object)
	request, _ := terms.Lookup(root, "request").(ast.Object)
	fail := func(format string, args ...any) (*Review, error) {
		return nil, &ReviewError{
			UID:     terms.Text(request, "uid"),
			Code:    http.StatusBadRequest,
			Message: fmt.Sprintf(format, args...),
		}
	}
	switch {
	case root == nil:
		return fail("request body: must be an AdmissionReview as a JSON object")
	case terms.Text(root, "kind") != "AdmissionReview":
		return fail("the body is of kind %q, not AdmissionReview", terms.Text(root, "kind"))
	case terms.Text(root, "apiVersion") != "admission.k8s.io/v1":
		return fail("the AdmissionReview has apiVersion %q; only admission.k8s.io/v1 is served", terms.Text(root, "apiVersion"))
	case request == nil:
		return fail("the AdmissionReview has no request")
	}
	review, err := reviewOf(request, objects)
	if err == nil {
		err = review.check()
	}
	if err != nil {
		return fail("the AdmissionReview cannot be used: %v", err)
	}
	return review, nil
}

// NewReview returns a review from an AdmissionRequest in JSON, for callers that ask
// without an API server.
func NewReview(request []byte) (*Review, error) {
	object, err := decodeRequest(request)
	if err != nil {
		return nil, err
	}
	review, err := reviewOf(object, requestObjects{})
	if err != nil {
		return nil, err
	}
	return review, review.check()
}

func decodeRequest(request []byte) (ast.Object, error) {
	term, err := terms.Decode(request)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	object, ok := term.Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("reading the request: it is not a JSON object")
	}
	return object, nil
}

// reviewOf returns a review from an AdmissionRequest, or one from which these objects
// have been left out.
func reviewOf(request ast.Object, objects requestObjects) (*Review, error) {
	kind, _ := terms.Lookup(request, "kind").(ast.Object)
	resource, _ := terms.Lookup(request, "resource").(ast.Object)
	userInfo, _ := terms.Lookup(request, "userInfo").(ast.Object)
	dryRun, _ := terms.Lookup(request, "dryRun").(ast.Boolean)
	r := &Review{
		UID:         terms.Text(request, "uid"),
		Operation:   terms.Text(request, "operation"),
		Kind:        GroupVersionKind{terms.Text(kind, "group"), terms.Text(kind, "version"), terms.Text(kind, "kind")},
		Resource:    GroupVersionResource{terms.Text(resource, "group"), terms.Text(resource, "version"), terms.Text(resource, "resource")},
		SubResource: terms.Text(request, "subResource"),
		Name:        terms.Text(request, "name"),
		Namespace:   terms.Text(request, "namespace"),
		Username:    terms.Text(userInfo, "username"),
		DryRun:      bool(dryRun),
		userInfo:    userInfo,
		Request:     sync.OnceValue(func() ast.Object { return objects.putBack(request) }),
	}
	var err error
	if r.New, err = nullableObject(request, "object", objects.object); err != nil {
		return nil, err
	}
	if r.Old, err = nullableObject(request, "oldObject", objects.oldObject); err != nil {
		return nil, err
	}
	return r, nil
}

// check validates the fields that every request of an API server has.
func (r *Review) check() error {
	switch {
	case r.UID == "":
		return fmt.Errorf("request.uid is empty")
	case r.Kind.Kind == "":
		return fmt.Errorf("request.kind is empty")
	case r.Resource.Resource == "":
		return fmt.Errorf("request.resource is empty")
	}
	switch r.Operation {
	case "CREATE", "UPDATE", "DELETE", "CONNECT":
		return nil
	}
	return fmt.Errorf("request.operation is %q, not one of CREATE, UPDATE, DELETE, CONNECT", r.Operation)
}

// CheckValues is the error of DecodeReview for a review that holds too many values. It is for
// reviews of NewReview, which may be of any size.
func (r *Review) CheckValues() error {
	const envelope = 3 // the AdmissionReview, its apiVersion and its kind
	if terms.Count(ast.NewTerm(r.Request()), terms.MaxValues-envelope) > terms.MaxValues-envelope {
		return &ReviewError{UID: r.UID, Code: http.StatusRequestEntityTooLarge, Message: unreadable(terms.ErrValues)}
	}
	return nil
}

func unreadable(err error) string { return fmt.Sprintf("the AdmissionReview cannot be read: %v", err) }

// Object is the object under review as JSON: nil if there is none (DELETE).
func (r *Review) Object() (json.RawMessage, error) { return encodeObject(r.New.Value()) }

// OldObject is the object before the change as JSON: nil where there was none.
func (r *Review) OldObject() (json.RawMessage, error) { return encodeObject(r.Old.Value()) }

// UserInfo is the requesting user, as an authentication.k8s.io UserInfo in JSON.
func (r *Review) UserInfo() (json.RawMessage, error) {
	info, _ := terms.Lookup(r.Request(), "userInfo").(ast.Object)
	return encodeObject(info)
}

func encodeObject(object ast.Object) (json.RawMessage, error) {
	if object == nil {
		return nil, nil
	}
	return terms.Encode(ast.NewTerm(object))
}

// WithObject is the same review of another state of the object.
func (r *Review) WithObject(object ast.Object) *Review {
	changed := *r
	changed.New = NewObject(object)
	changed.Request = sync.OnceValue(func() ast.Object { return terms.With(r.Request(), "object", ast.NewTerm(object)) })
	return &changed
}

// AsCreated is the creation of the same object.
func (r *Review) AsCreated() *Review {
	created := *r
	created.Operation, created.Old = "CREATE", nil
	created.Request = sync.OnceValue(func() ast.Object {
		return terms.With(terms.With(r.Request(), "operation", ast.InternedTerm("CREATE")), "oldObject", ast.InternedNullTerm)
	})
	return &created
}

// DisplayName is the object's name, or its generateName while it has none: see
// input.name. It is never the prefix of a name that is there: policies decide by it,
// and an object may bear a generateName that has nothing to do with its name. A
// request to delete a collection names nothing; there the old object has the name.
func (r *Review) DisplayName() string {
	if r.Name != "" {
		return r.Name // most reviews: the objects need not be decoded for it
	}
	metadata, _ := terms.Lookup(r.New.Value(), "metadata").(ast.Object)
	oldMetadata, _ := terms.Lookup(r.Old.Value(), "metadata").(ast.Object)
	return cmp.Or(terms.Text(metadata, "name"), terms.Text(oldMetadata, "name"), terms.Text(metadata, "generateName"))
}

// IsNamespace reports whether the review is about a Namespace itself. Its request has
// the object's name as namespace, but the object is in none, and does not exist yet
// when it is created.
func (r *Review) IsNamespace() bool {
	return r.Resource.Group == "" && r.Resource.Resource == "namespaces"
}

// InNamespaces reports whether a review is about an object in a namespace that one of
// the globs names. A Namespace counts as being in itself.
func (r *Review) InNamespaces(globs []string) bool {
	namespace := r.Namespace
	if r.IsNamespace() {
		namespace = r.DisplayName()
	}
	return namespace != "" && MatchesAny(globs, namespace)
}

// OnlyRemovesFinalizers is an UPDATE of an object under deletion that changes
// nothing but takes finalizers away. Refusing one would keep the object forever.
func (r *Review) OnlyRemovesFinalizers() bool {
	if r.Operation != "UPDATE" || r.New == nil || r.Old == nil {
		return false
	}
	oldMeta, _ := terms.Lookup(r.Old.Value(), "metadata").(ast.Object)
	newMeta, _ := terms.Lookup(r.New.Value(), "metadata").(ast.Object)
	if oldMeta == nil || newMeta == nil || terms.Text(oldMeta, "deletionTimestamp") == "" {
		return false
	}
	oldFinalizers, newFinalizers := terms.StringList(terms.Lookup(oldMeta, "finalizers")), terms.StringList(terms.Lookup(newMeta, "finalizers"))
	if len(newFinalizers) >= len(oldFinalizers) {
		return false
	}
	kept := map[string]bool{}
	for _, name := range oldFinalizers {
		kept[name] = true
	}
	for _, name := range newFinalizers {
		if !kept[name] {
			return false
		}
	}
	return r.ChangesOnly("finalizers")
}

// MatchesAny reports whether one of the globs matches a name.
func MatchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		if glob != "" && name != "" && glob[0] != name[0] && !strings.ContainsRune(`*?[\`, rune(glob[0])) {
			return false // most, and path.Match reads a pattern to its end
		}
		ok, _ := path.Match(glob, name)
		return ok
	})
}

func nullableObject(request ast.Object, field string, leftOut *Object) (*Object, error) {
	if leftOut != nil {
		return leftOut, nil
	}
	switch value := terms.Lookup(request, field).(type) {
	case nil, ast.Null:
		return nil, nil
	case ast.Object:
		return NewObject(value), nil
	default:
		return nil, fmt.Errorf("request.%s is not an object", field)
	}
}
