// Command mutations applies mutators by Gatekeeper's own packages. It reads cases from its
// standard input, one JSON object a line, and writes one result for each until the input ends.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/open-policy-agent/gatekeeper/v3/apis/mutations/unversioned"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/mutation"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/mutators"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Case is an object, its Namespace, the operation, and mutators.
type Case struct {
	Mutators  []json.RawMessage `json:"mutators"`
	Object    json.RawMessage   `json:"object"`
	Namespace json.RawMessage   `json:"namespace"`
	Operation string            `json:"operation"`
}

// Result is the object after mutation, or why there is none. Refused are the indices of the
// mutators that Gatekeeper refuses, and Conflicting reports that locations conflict.
type Result struct {
	Refused     []int           `json:"refused"`
	Conflicting bool            `json:"conflicting"`
	Object      json.RawMessage `json:"object"`
	Error       string          `json:"error"`
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c Case
		var r Result
		if err := json.Unmarshal(line, &c); err != nil {
			r.Error = err.Error()
		} else {
			r = c.run()
		}
		text, err := json.Marshal(r)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func (c Case) run() (r Result) {
	system := mutation.NewSystem(mutation.SystemOpts{})
	for i, text := range c.Mutators {
		mutator, err := read(text)
		if err != nil {
			r.Refused = append(r.Refused, i)
			continue
		}
		if err := system.Upsert(mutator); err != nil {
			r.Conflicting = true
		}
	}
	if r.Conflicting || len(r.Refused) > 0 {
		return r
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(c.Object); err != nil {
		r.Error = err.Error()
		return r
	}
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal(c.Namespace, namespace); err != nil {
		r.Error = err.Error()
		return r
	}
	_, err := system.Mutate(context.Background(), &types.Mutable{
		Object: object, Namespace: namespace, Source: types.SourceTypeOriginal, Operation: admissionv1.Operation(c.Operation),
	})
	if err != nil {
		r.Error = err.Error()
		return r
	}
	if r.Object, err = json.Marshal(object.Object); err != nil {
		r.Error = err.Error()
	}
	return r
}

// read reads a mutator as the API server stores it: without fields that are unknown.
func read(text []byte) (types.Mutator, error) {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	decode := func(into any) error { return json.NewDecoder(bytes.NewReader(text)).Decode(into) }
	switch kind.Kind {
	case "Assign":
		var object unversioned.Assign
		if err := decode(&object); err != nil {
			return nil, err
		}
		return mutators.MutatorForAssign(&object)
	case "AssignImage":
		var object unversioned.AssignImage
		if err := decode(&object); err != nil {
			return nil, err
		}
		return mutators.MutatorForAssignImage(&object)
	case "AssignMetadata":
		var object unversioned.AssignMetadata
		if err := decode(&object); err != nil {
			return nil, err
		}
		return mutators.MutatorForAssignMetadata(&object)
	case "ModifySet":
		var object unversioned.ModifySet
		if err := decode(&object); err != nil {
			return nil, err
		}
		if object.Spec.Parameters.Operation == "" {
			object.Spec.Parameters.Operation = unversioned.MergeOp // by the CustomResourceDefinition
		}
		return mutators.MutatorForModifySet(&object)
	}
	return nil, fmt.Errorf("unknown kind %q", kind.Kind)
}
