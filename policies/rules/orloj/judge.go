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

// late are limits that the machine reaches and not the object: the answer is another one
// when it has less to do.
var late = map[string]bool{"timeout": true, "watchdog": true}

// Judge asks the rules. An error means that no answer was found. text is the object in JSON, and namespace its Namespace.
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
	if err := ctx.Err(); err != nil {
		return Judgement{}, fmt.Errorf("asking the rules of Orloj about %s %s: %w", kind, o.Metadata.Name, err)
	}
	complete, err := mutation.Review.Object()
	if err != nil {
		return Judgement{}, err
	}
	return judged(kind, o, complete, denials)
}

// judged is the answer, unless it is an error.
func judged(kind string, o Object, complete json.RawMessage, denials []engine.Finding) (Judgement, error) {
	var words []string
	for _, denial := range denials {
		if late[denial.Limit] {
			return Judgement{}, fmt.Errorf("asking the rules of Orloj about %s %s: %s", kind, o.Metadata.Name, denial.Words)
		}
		words = append(words, denial.Words)
	}
	return Judgement{Denied: strings.Join(words, "\n"), Object: complete}, nil
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
