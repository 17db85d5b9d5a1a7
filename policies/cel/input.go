package cel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/terms"
)

// input is a request in the types of the API server.
type input struct {
	attributes *admission.VersionedAttributes
	request    *admissionv1.AdmissionRequest
	// namespace is nil for cluster-scoped objects, and if it is not available.
	namespace *corev1.Namespace
	// anonymous reports that no user is known.
	anonymous bool
	// unknown are the values of the request that are not known: see Program.requireKnown.
	unknown []unknownValue
	err     error
}

// inputConversions are the conversions of a request, by whether the objects are completed.
type inputConversions map[bool]*input

// inputOf converts a request, once for all policies. complete is true unless the objects come from
// an API server.
func inputOf(r *definition.CheckRequest, complete bool) *input {
	all := r.Prepared(func() any { return inputConversions{} }).(inputConversions)
	if all[complete] == nil {
		in, err := newInput(r, complete)
		if err != nil {
			in = &input{err: err}
		}
		all[complete] = in
	}
	return all[complete]
}

func newInput(r *definition.CheckRequest, complete bool) (*input, error) {
	review := r.Review
	kind := schema.GroupVersionKind(review.Kind)
	object, err := objectOf(review.New.Value(), kind, complete)
	if err != nil {
		return nil, err
	}
	old, err := objectOf(review.Old.Value(), kind, complete)
	if err != nil {
		return nil, err
	}
	var request struct {
		UserInfo authenticationv1.UserInfo `json:"userInfo"`
		Options  map[string]any            `json:"options"`
	}
	if err := decode(partOf(review.Request(), "userInfo", "options"), &request); err != nil {
		return nil, err
	}
	info := &user.DefaultInfo{Name: request.UserInfo.Username, UID: request.UserInfo.UID, Groups: request.UserInfo.Groups, Extra: map[string][]string{}}
	for key, values := range request.UserInfo.Extra {
		info.Extra[key] = values
	}
	var options runtime.Object
	if request.Options != nil {
		options = &unstructured.Unstructured{Object: request.Options}
	}
	resource := schema.GroupVersionResource(review.Resource)
	record := admission.NewAttributesRecord(object, old, kind, review.Namespace, review.Name, resource, review.SubResource,
		admission.Operation(review.Operation), options, review.DryRun, info)
	in := &input{attributes: &admission.VersionedAttributes{Attributes: record, VersionedKind: kind, VersionedObject: object, VersionedOldObject: old}}
	in.unknown = unknownsIn(review.Request(), nil)
	in.anonymous = review.Username == "" && r.Offline
	in.request = plugincel.CreateAdmissionRequest(record, metav1.GroupVersionResource(review.Resource), metav1.GroupVersionKind(kind))
	if r.Namespace != nil && !review.IsNamespace() && review.Namespace != "" {
		in.namespace = &corev1.Namespace{}
		if err := decode(r.Namespace, in.namespace); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// partOf is an object with some fields of another.
func partOf(object ast.Object, fields ...string) ast.Object {
	part := ast.NewObject()
	for _, field := range fields {
		if value := terms.Lookup(object, field); value != nil {
			part.Insert(ast.StringTerm(field), ast.NewTerm(value))
		}
	}
	return part
}

// decode converts a value to Go types, with integers as the API server has them. Unknown values are
// empty texts.
func decode(value ast.Object, into any) error {
	text, err := terms.Encode(ast.NewTerm(withoutUnknowns(value)))
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	return nil
}

// objectOf returns an object as the API server has it. Objects that do not come from an API server
// lack fields that it always sets, because their Go type has them.
func objectOf(value ast.Object, kind schema.GroupVersionKind, complete bool) (runtime.Object, error) {
	if value == nil {
		return nil, nil
	}
	var fields map[string]any
	if err := decode(value, &fields); err != nil {
		return nil, err
	}
	if complete {
		if typed, err := scheme.Scheme.New(kind); err == nil {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed); err == nil {
				if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
					return nil, fmt.Errorf("reading the object: %w", err)
				}
			}
		}
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// errNoAuthorizer is the answer of the authorizer.
var errNoAuthorizer = errors.New("only an API server can authorize requests")

// noAuthorizer records whether an expression called the authorizer.
type noAuthorizer struct {
	mu     sync.Mutex
	called bool
}

// Authorize implements authorizer.Authorizer.
func (a *noAuthorizer) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.called = true
	return authorizer.DecisionNoOpinion, "", errNoAuthorizer
}

// wasCalled reports whether the authorizer was called since it was created.
func (a *noAuthorizer) wasCalled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.called
}
