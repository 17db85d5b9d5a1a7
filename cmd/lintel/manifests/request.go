package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	reviewGroup = "admission.k8s.io"
	reviewKind  = "AdmissionReview"
)

// reviewVersions are the versions of AdmissionReview. Their requests have the same fields.
var reviewVersions = []string{"v1", "v1beta1"}

// isBareRequest reports whether a document is an AdmissionRequest without its AdmissionReview.
// Unlike any Kubernetes object, it has an object as kind.
func isBareRequest(fields map[string]any) bool {
	if fields["apiVersion"] != nil {
		return false
	}
	if _, ok := fields["kind"].(map[string]any); ok {
		return true
	}
	return fields["kind"] == nil && fields["operation"] != nil && (fields["object"] != nil || fields["oldObject"] != nil)
}

// IsReview reports whether the object is an AdmissionReview.
func (o Object) IsReview() bool { return o.Kind.Group == reviewGroup && o.Kind.Kind == reviewKind }

// CheckReviewKind returns an error for a misspelled AdmissionReview, which would be evaluated as an
// object.
func (o Object) CheckReviewKind() error {
	if o.IsReview() || !strings.HasPrefix(strings.ToLower(o.Kind.Kind), strings.ToLower(reviewKind)) || o.fields["request"] == nil {
		return nil
	}
	return fmt.Errorf("%s: kind %s of %s is not a Kubernetes object; write kind: %s and apiVersion: %s/v1", o.Origin, o.Kind.Kind, o.Kind.GroupVersion(), reviewKind, reviewGroup)
}

// Subject returns the object that the request of an AdmissionReview is about, with the request. A
// request may lack fields that its objects imply: they are added, and assumed names them.
// namespace is that of a namespaced object that names none, as for other manifests.
func (o Object) Subject(resources *Table, namespace string) (subject Object, assumed []string, err error) {
	if !slices.Contains(reviewVersions, o.Kind.Version) {
		return o, nil, fmt.Errorf("%s: apiVersion %q of the AdmissionReview is not %s/%s", o.Origin, o.Kind.GroupVersion(), reviewGroup, strings.Join(reviewVersions, " or "+reviewGroup+"/"))
	}
	text, err := json.Marshal(o.fields["request"])
	if err != nil {
		return o, nil, fmt.Errorf("%s: reading the request: %w", o.Origin, err)
	}
	decoded, err := decode(text)
	if err != nil {
		return o, nil, fmt.Errorf("%s: reading the request: %w", o.Origin, err)
	}
	request, ok := decoded.(map[string]any)
	switch {
	case !ok && o.fields["response"] != nil:
		return o, nil, fmt.Errorf("%s: the AdmissionReview has a response and no request: give the one that the API server sends", o.Origin)
	case !ok:
		return o, nil, fmt.Errorf("%s: the AdmissionReview has no request", o.Origin)
	}
	r := reviewRequest{fields: request, namespace: namespace}
	if err := r.complete(resources); err != nil {
		return o, nil, fmt.Errorf("%s: %w", o.Origin, err)
	}
	if subject, err = r.subject(o); err != nil {
		return o, nil, err
	}
	return subject, r.assumed, nil
}

// reviewRequest is the request of an AdmissionReview.
type reviewRequest struct {
	fields    map[string]any
	assumed   []string
	namespace string // of a namespaced object that names none
}

func (r *reviewRequest) text(field string) string {
	value, _ := r.fields[field].(string)
	return value
}

// main is the object of the request, or the one before the change if there is none.
func (r *reviewRequest) main() map[string]any {
	for _, field := range []string{"object", "oldObject"} {
		if object, ok := r.fields[field].(map[string]any); ok {
			return object
		}
	}
	return nil
}

// complete adds the fields that are missing and that the objects imply.
func (r *reviewRequest) complete(resources *Table) error {
	if err := r.checkTypes(); err != nil {
		return err
	}
	if r.text("operation") == "" {
		switch {
		case r.fields["object"] == nil && r.fields["oldObject"] == nil:
			return errors.New("request.operation is missing, and so are request.object and request.oldObject")
		case r.fields["object"] == nil:
			r.fields["operation"] = "DELETE"
		case r.fields["oldObject"] == nil:
			r.fields["operation"] = "CREATE"
		default:
			r.fields["operation"] = "UPDATE"
		}
		r.assume("operation")
	}
	if err := r.checkObjects(); err != nil {
		return err
	}
	if err := r.completeKind(resources); err != nil {
		return err
	}
	if r.text("uid") == "" {
		text, err := json.Marshal(r.fields)
		if err != nil {
			return err
		}
		r.fields["uid"] = uuid.NewSHA1(uuid.NameSpaceURL, text).String()
	}
	return nil
}

func (r *reviewRequest) assume(field string) {
	r.assumed = append(r.assumed, fmt.Sprintf("%s %v", field, r.fields[field]))
}

// requestFields are the fields of an AdmissionRequest, with a value of their type.
var requestFields = map[string]any{
	"uid": "", "kind": map[string]any{}, "resource": map[string]any{}, "subResource": "",
	"requestKind": map[string]any{}, "requestResource": map[string]any{}, "requestSubResource": "",
	"name": "", "namespace": "", "operation": "", "userInfo": map[string]any{},
	"object": map[string]any{}, "oldObject": map[string]any{}, "dryRun": false, "options": map[string]any{},
}

// checkTypes refuses fields that have the wrong type, or are misspelled: policies would not find
// them.
func (r *reviewRequest) checkTypes() error {
	var names []string
	for name := range requestFields {
		names = append(names, name)
	}
	for field, value := range r.fields {
		want, known := requestFields[field]
		if !known {
			if near := admission.Nearest(field, names); near != "" {
				return fmt.Errorf("request.%s is not a field of an AdmissionRequest; did you mean %s?", field, near)
			}
			continue // of a later version
		}
		if value == nil {
			continue
		}
		article := map[string]string{"string": "a string", "bool": "true or false"}[fmt.Sprintf("%T", want)]
		if article == "" {
			article = "an object"
		}
		if fmt.Sprintf("%T", value) != fmt.Sprintf("%T", want) {
			return fmt.Errorf("request.%s: must be %s", field, article)
		}
	}
	return nil
}

func (r *reviewRequest) checkObjects() error {
	switch operation := r.text("operation"); {
	case !slices.Contains([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, operation):
		return fmt.Errorf("request.operation: Invalid value %q: must be CREATE, UPDATE, DELETE or CONNECT", operation)
	case (operation == "CREATE" || operation == "UPDATE") && r.fields["object"] == nil:
		return fmt.Errorf("request.object is missing, which a request with operation %s has", operation)
	}
	return nil
}

// completeKind adds the kind, the resource and the namespace.
func (r *reviewRequest) completeKind(resources *Table) error {
	kind, _ := r.fields["kind"].(map[string]any)
	if name, _ := kind["kind"].(string); name == "" {
		of, err := kindOfObject(r.main(), resources)
		if err != nil {
			return err
		}
		kind = map[string]any{"group": of.Group, "version": of.Version, "kind": of.Kind}
		r.fields["kind"] = kind
		r.assumed = append(r.assumed, "kind "+of.GroupKind().String())
	}
	for _, field := range []string{"group", "version"} { // Kubernetes writes both, others not
		if kind[field] == nil {
			kind[field] = ""
		}
	}
	resource, known := resources.Lookup(kindOf(kind))
	target, _ := r.fields["resource"].(map[string]any)
	if name, _ := target["resource"].(string); name == "" {
		if r.text("subResource") != "" {
			return errors.New("request.resource is missing, which a request with a subResource has")
		}
		r.fields["resource"] = map[string]any{"group": resource.Group, "version": resource.Version, "resource": resource.Name}
		r.assumed = append(r.assumed, "resource "+strings.TrimSuffix(resource.Name+"."+resource.Group, "."))
	}
	metadata, _ := r.main()["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	if namespace == "" && resource.Namespaced {
		namespace = r.namespace
	}
	if namespace != "" && r.text("namespace") == "" && (resource.Namespaced || !known) {
		r.fields["namespace"] = namespace
		r.assume("namespace")
	}
	return nil
}

// kindOfObject is the kind that an object names. Without apiVersion, it is one of the core group.
func kindOfObject(object map[string]any, resources *Table) (schema.GroupVersionKind, error) {
	if name, _ := object["kind"].(string); name != "" && object["apiVersion"] == nil {
		if resource, known := resources.ByKind("", name); known {
			return schema.GroupVersionKind{Version: resource.Version, Kind: name}, nil
		}
	}
	found, err := newObject("its object", object)
	if err != nil {
		return found.Kind, fmt.Errorf("request.kind is missing, and %w", err)
	}
	return found.Kind, nil
}

func kindOf(fields map[string]any) schema.GroupVersionKind {
	text := func(field string) string { value, _ := fields[field].(string); return value }
	return schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")}
}

// subject is the object of the request, at the place of the review.
func (r *reviewRequest) subject(review Object) (Object, error) {
	kind, _ := r.fields["kind"].(map[string]any)
	subject := Object{
		Origin: review.Origin, File: review.File, Line: review.Line,
		Kind: kindOf(kind), Name: r.text("name"), Namespace: r.text("namespace"), Subresource: r.text("subResource"), fields: r.main(),
	}
	metadata, _ := subject.fields["metadata"].(map[string]any)
	if subject.Name == "" {
		subject.Name, _ = metadata["name"].(string)
	}
	subject.GenerateName, _ = metadata["generateName"].(string)
	if subject.IsNamespace() {
		subject.Namespace = ""
	}
	if subject.fields == nil {
		subject.fields = map[string]any{}
	}
	var err error
	if subject.Request, err = json.Marshal(r.fields); err != nil {
		return subject, fmt.Errorf("%s: writing the request: %w", review.Origin, err)
	}
	return subject, nil
}
