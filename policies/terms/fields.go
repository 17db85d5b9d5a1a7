package terms

import (
	"reflect"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// fieldTerms are the keys of which most reviews consist, ready as terms: decoding then
// allocates nothing for them. The table is fixed, so that no request can fill it; a
// key that is missing is only slower.
var fieldTerms = newFieldTerms()

// newFieldTerms has the fields of AdmissionReview, Pod, Deployment, Service, Namespace and
// ConfigMap, with all that they contain.
func newFieldTerms() map[string]*ast.Term {
	terms, seen := map[string]*ast.Term{".": ast.StringTerm(".")}, map[reflect.Type]bool{}
	for _, object := range []any{admissionv1.AdmissionReview{}, corev1.Pod{}, appsv1.Deployment{}, corev1.Service{}, corev1.Namespace{}, corev1.ConfigMap{}} {
		addFields(terms, seen, reflect.TypeOf(object))
	}
	return terms
}

// addFields adds the JSON names of the fields of a type, and of the types in it.
func addFields(terms map[string]*ast.Term, seen map[reflect.Type]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		addFields(terms, seen, t.Elem())
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			field := t.Field(i)
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
				terms[name] = ast.StringTerm(name)
				terms["f:"+name] = ast.StringTerm("f:" + name) // in managedFields
			}
			addFields(terms, seen, field.Type)
		}
	}
}
