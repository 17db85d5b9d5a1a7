package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/kinds"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// errMutated is the error of an object that differs from the expected one.
var errMutated = errors.New("the mutated object differs")

// evaluate applies the policies by which the API server changes objects, in as many passes as the API
// server, and evaluates the others for the changed object.
func evaluate(ctx context.Context, snapshot *engine.Snapshot, review *admission.Review, options engine.Options) (*engine.Decision, *admission.Review) {
	passes := &engine.ServerPasses{}
	mutation := snapshot.MutateByServer(ctx, review, options, passes)
	if mutation.Allowed() && passes.NeedsAnother() {
		mutation = snapshot.MutateByServer(ctx, mutation.Review, options, passes)
	}
	if !mutation.Allowed() {
		return &mutation.Decision, review
	}
	return snapshot.Evaluate(ctx, mutation.Review, options), mutation.Review
}

// readMutated reads the expected object of a case.
func (r *runner) readMutated(file string) (any, error) {
	found, err := r.read(file)
	if err != nil {
		return nil, fmt.Errorf("mutated: %w", err)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("mutated: %s holds %d objects; a case expects one", file, len(found))
	}
	return decodeNumbers(found[0].JSON)
}

func decodeNumbers(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return value, nil
}

// maxDifferences is how many differences a message names.
const maxDifferences = 5

// compareMutated compares an object with the expected one.
func (o caseInput) compareMutated(after *admission.Review) error {
	if o.mutated == nil {
		return nil
	}
	text, err := after.Object()
	if err != nil {
		return fmt.Errorf("reading the mutated object: %w", err)
	}
	found, err := decodeNumbers(text)
	if err != nil {
		return err
	}
	var differences []string
	for _, step := range jsonpatch.Difference(found, o.mutated) {
		one := step.Operation()
		text := fmt.Sprintf("%s %s", one.Op, one.Path)
		if one.Op != "remove" {
			text += " = " + string(one.Value)
		}
		differences = append(differences, text)
	}
	if len(differences) == 0 {
		return nil
	}
	if more := len(differences) - maxDifferences; more > 0 {
		differences = append(differences[:maxDifferences], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("%w: to become %s, it lacks: %s", errMutated, o.mutatedFile, strings.Join(differences, "; "))
}

// schemas are those of the CustomResourceDefinitions in the source.
func (r *runner) schemas() definition.CustomSchemas {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, name := range slices.Sorted(maps.Keys(r.source.Files)) {
		if !strings.Contains(r.source.Files[name], "CustomResourceDefinition") {
			continue
		}
		documents, err := manifest.Read(name, []byte(r.source.Files[name]))
		if err != nil {
			continue // the programs that read the file report it
		}
		for _, document := range documents {
			var header struct{ Kind string }
			if json.Unmarshal(document.JSON, &header) != nil || header.Kind != "CustomResourceDefinition" {
				continue
			}
			if one, err := kinds.ReadDefinition(document.JSON); err == nil {
				definitions = append(definitions, one)
			}
		}
	}
	return kinds.New(definitions...).Schema
}
