package orloj

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Judgement is what the rules say of an object as if it were created now.
type Judgement struct {
	// Denied has the denials, a line each; empty where it is admitted.
	Denied string
	// Object is the object in JSON with all defaults.
	Object json.RawMessage
}

// Judge asks the rules. text is the object in JSON, and namespace its Namespace.
func (r *Rules) Judge(ctx context.Context, kind string, uid types.UID, text, namespace []byte, mapping Mapping) (Judgement, error) {
	o, err := ReadObject(text, "")
	if err != nil {
		return Judgement{}, err
	}
	o.Kind = kind
	review, err := reviewOf(o, uid, text)
	if err != nil {
		return Judgement{}, err
	}
	facts, err := json.Marshal(Facts{Mapping: mapping, Target: o.Target()})
	if err != nil {
		return Judgement{}, fmt.Errorf("writing the facts for the rules: %w", err)
	}
	snapshot, options := r.For(o), engine.Options{Facts: facts, Namespace: namespace}
	mutation := snapshot.Mutate(ctx, review, options)
	denials := mutation.Denials
	if mutation.Allowed() {
		denials = snapshot.Validate(ctx, mutation.Review, options).Denials
	}
	var words []string
	for _, denial := range denials {
		words = append(words, denial.Words)
	}
	complete, err := mutation.Review.Object()
	return Judgement{Denied: strings.Join(words, "\n"), Object: complete}, err
}

// reviewOf is the request that would create an object.
func reviewOf(o Object, uid types.UID, text []byte) (*engine.Review, error) {
	version := v1.SchemeGroupVersion
	request, err := json.Marshal(admissionv1.AdmissionRequest{
		UID:       uid,
		Kind:      metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: o.Kind},
		Resource:  metav1.GroupVersionResource{Group: version.Group, Version: version.Version, Resource: ResourceOf(o.Kind)},
		Operation: admissionv1.Create, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name,
		Object: runtime.RawExtension{Raw: text},
	})
	if err != nil {
		return nil, fmt.Errorf("writing a request for %s %s: %w", o.Kind, o.Metadata.Name, err)
	}
	return engine.NewReview(request)
}
