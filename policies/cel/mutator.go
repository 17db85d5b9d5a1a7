package cel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/terms"
)

// mutator is a MutatingAdmissionPolicy.
type mutator struct{ *policy }

// Invocations implements definition.ServerMutator.
func (m mutator) Invocations(request *definition.CheckRequest) (list []definition.Invocation, findings []definition.CheckFinding) {
	in := inputOf(request, true)
	if in.attributes.GetOperation() == admission.Delete {
		return nil, nil // the API server invokes no mutation
	}
	bound, _, _ := m.boundTo(in)
	for _, b := range bound {
		found, err := m.params.collect(b.settings.ParamRef, in.attributes.GetNamespace())
		if err != nil && !m.program.spec.IgnoreErrors {
			findings = append(findings, definition.CheckFinding{
				Words: fmt.Sprintf("failed to configure binding: %v", err), Location: locationIn(b.Object, []any{"spec", "paramRef"}),
				Code: http.StatusForbidden, Details: map[string]any{"binding": b.Name}, Effects: []definition.Enforcement{definition.EnforceDeny},
			})
		}
		for _, param := range found {
			list = append(list, invocation{m.policy, b, param})
		}
	}
	return list, findings
}

// invocation is a policy with a binding and a params object.
type invocation struct {
	*policy
	binding *binding
	param   runtime.Object
}

// Key implements definition.Invocation.
func (i invocation) Key() string {
	key := []string{i.Name, i.binding.Name}
	if object, ok := i.param.(*unstructured.Unstructured); ok {
		key = append(key, object.GetNamespace(), object.GetName())
	}
	return fmt.Sprintf("%q", key)
}

// IsReinvocable implements definition.Invocation.
func (i invocation) IsReinvocable() bool {
	return i.mutation.ReinvocationPolicy == v1.IfNeededReinvocationPolicy
}

// Invoke implements definition.Invocation.
func (i invocation) Invoke(ctx context.Context, request *definition.CheckRequest, onlyConditions bool) (result definition.InvocationResult) {
	in := inputOf(request, true)
	if in.err != nil {
		result.Undecided = in.err.Error()
		return result
	}
	typed, err := in.typed()
	if err != nil {
		result.Undecided = err.Error()
		return result
	}
	out := i.program.mutate(ctx, typed, i.param, i.typesFor(request), onlyConditions)
	result.Steps, result.Undecided = out.cost, out.undecided
	result.Skipped, result.Applied, result.Aborts = out.skipped, out.applied, out.aborts
	for _, d := range out.decisions {
		finding := d.finding(i.Object, i.binding)
		finding.Code, finding.Effects = http.StatusForbidden, []definition.Enforcement{definition.EnforceDeny}
		if d.code != 0 {
			finding.Code = d.code
		}
		result.Findings = append(result.Findings, finding)
	}
	if request.Explain && out.unmatched >= 0 {
		result.Outcomes = i.program.explain(i.Object, in, i.param, out.outcome)
	}
	if out.applied {
		if result.Object, err = changedObject(request, typed.attributes.VersionedObject, out.object); err != nil {
			result.Undecided = err.Error()
		}
	}
	return result
}

// typed returns the input with an object in its Go type, if it has one: patches of such objects
// must fit the type.
func (in *input) typed() (*input, error) {
	object, ok := in.attributes.VersionedObject.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	typed, err := scheme.Scheme.New(in.attributes.VersionedKind)
	if err != nil {
		return in, nil // a custom resource
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("the object does not have the type of its kind: %w", err)
	}
	other, attributes := *in, *in.attributes
	attributes.VersionedObject = typed
	other.attributes = &attributes
	return &other, nil
}

// changedObject returns the object of a request with the changes of a mutation: nil without any.
// before and after have the fields of their Go type; fields that the object lacks, and that did not
// change, are left out.
func changedObject(request *definition.CheckRequest, before, after runtime.Object) (map[string]any, error) {
	var documents [3]any
	text, err := terms.Encode(ast.NewTerm(request.Review.New.Value()))
	if err != nil {
		return nil, fmt.Errorf("writing the object: %w", err)
	}
	if documents[0], err = decodeNumbers(text); err != nil {
		return nil, err
	}
	for i, object := range []runtime.Object{before, after} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("reading the mutated object: %w", err)
		}
		if text, err = json.Marshal(fields); err != nil {
			return nil, fmt.Errorf("writing the mutated object: %w", err)
		}
		if documents[i+1], err = decodeNumbers(text); err != nil {
			return nil, err
		}
	}
	if reflect.DeepEqual(documents[1], documents[2]) {
		return nil, nil
	}
	changed, _ := transfer(documents[0], documents[1], documents[2]).(map[string]any)
	return changed, nil
}

func decodeNumbers(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading the mutated object: %w", err)
	}
	return value, nil
}

// transfer makes the change between before and after in own, which lacks some fields of before.
func transfer(own, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return own
	}
	switch after := after.(type) {
	case map[string]any:
		old, isMap := before.(map[string]any)
		if !isMap {
			return after
		}
		return transferFields(own, old, after)
	case []any:
		old, isList := before.([]any)
		has, hasList := own.([]any)
		if !isList || !hasList || len(has) != len(old) {
			return after
		}
		return transferElements(has, old, after)
	}
	return after
}

func transferFields(own any, before, after map[string]any) map[string]any {
	out := map[string]any{}
	has, _ := own.(map[string]any)
	for key, value := range has {
		if _, known := before[key]; !known || after[key] != nil {
			out[key] = value
		}
	}
	for key, value := range after {
		was, known := before[key]
		switch {
		case !known:
			out[key] = value
		case !reflect.DeepEqual(was, value):
			out[key] = transfer(has[key], was, value)
		}
	}
	return out
}

// transferElements pairs equal elements first, and then those with the same index.
func transferElements(own, before, after []any) []any {
	out := make([]any, len(after))
	for i, value := range after {
		out[i] = value
		paired := i < len(before)
		if paired {
			out[i] = transfer(own[i], before[i], value)
		}
		for j, was := range before {
			if reflect.DeepEqual(was, value) && (!paired || !reflect.DeepEqual(before[i], value)) {
				out[i] = own[j]
				break
			}
		}
	}
	return out
}
