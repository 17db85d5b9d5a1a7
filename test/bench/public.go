package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	dialect "github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/manifest"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// publicLibrary are the templates and sample constraints of a checkout of
// gatekeeper-library, of which this repository holds nothing.
type publicLibrary struct {
	library // the constraints are about whatever their match says
	samples []string
}

// readPublicLibrary reads the folder library of a checkout. Of samples that have one
// kind and name, the last one counts, as where kubectl applies the folder.
func readPublicLibrary(folder string) (*publicLibrary, error) {
	l := &publicLibrary{library: library{templates: map[string]string{}}}
	root := filepath.Join(folder, "library")
	templates, err := filepath.Glob(filepath.Join(root, "*", "*", "template.yaml"))
	if err != nil {
		return nil, err
	}
	if len(templates) == 0 {
		return nil, fmt.Errorf("--library %s: there is no library/*/*/template.yaml below it; %s", folder, needsLibrary)
	}
	for _, path := range templates {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		l.templates[filepath.ToSlash(name)] = string(text)
		samples, err := filepath.Glob(filepath.Join(filepath.Dir(path), "samples", "*", "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, sample := range samples {
			if err := l.addSample(filepath.ToSlash(name), sample); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// addSample takes the constraints of a file of samples.
func (l *publicLibrary) addSample(template, path string) error {
	l.samples = append(l.samples, path)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	documents, err := manifest.Read(path, text)
	if err != nil {
		return err
	}
	for _, d := range documents {
		var object unstructured.Unstructured
		if err := json.Unmarshal(d.JSON, &object.Object); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		if !strings.HasPrefix(object.GetAPIVersion(), "constraints.gatekeeper.sh/") {
			continue
		}
		c, err := sampleConstraint(template, object)
		if err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		l.constraints = slices.DeleteFunc(l.constraints, func(other constraint) bool { return other.id() == c.id() })
		l.constraints = append(l.constraints, c)
	}
	return nil
}

// sampleConstraint refuses what would be lost, because both engines are given match and
// parameters alone.
func sampleConstraint(template string, object unstructured.Unstructured) (constraint, error) {
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	c := constraint{template: template, kind: object.GetKind(), name: object.GetName()}
	c.match, _, _ = unstructured.NestedMap(spec, "match")
	c.parameters, _, _ = unstructured.NestedMap(spec, "parameters")
	for field, value := range spec {
		if field != "match" && field != "parameters" && (field != "enforcementAction" || value != "deny") {
			return c, fmt.Errorf("constraint %s: spec.%s is not one that is compared", c.id(), field)
		}
	}
	return c, nil
}

// choice are the constraints that are about the objects of some reviews, and by id those
// that deny one, cannot be evaluated for one, or need other objects of the cluster: those
// do not count as matching, because what they take depends on the cluster.
type choice struct {
	matching                  []constraint
	denying, failing, reading map[string]bool
}

// admitting are those that deny none.
func (c choice) admitting() []constraint {
	return slices.DeleteFunc(slices.Clone(c.matching), func(each constraint) bool { return c.denying[each.id()] || c.failing[each.id()] })
}

// choose asks the engine which of the constraints are about each of the reviews, and
// what they say.
func (l *library) choose(ctx context.Context, bodies ...[]byte) (choice, error) {
	found := choice{denying: map[string]bool{}, failing: map[string]bool{}, reading: map[string]bool{}}
	snapshot, err := l.snapshot()
	if err != nil {
		return found, err
	}
	asked := map[string]int{}
	for _, body := range bodies {
		explanations, err := explain(ctx, snapshot, body)
		if err != nil {
			return found, err
		}
		for _, e := range explanations {
			switch e.Answer {
			case engine.AnswerNotMatched:
				continue
			case engine.AnswerCannotBeAsked:
				found.reading[e.Policy.Package] = true
				continue
			}
			asked[e.Policy.Package]++
			for _, denial := range e.Decision.Denials {
				if denial.Error {
					found.failing[e.Policy.Package] = true
				} else {
					found.denying[e.Policy.Package] = true
				}
			}
		}
	}
	for _, c := range l.constraints {
		if asked[c.id()] == len(bodies) {
			found.matching = append(found.matching, c)
		} else if asked[c.id()] > 0 {
			return found, fmt.Errorf("constraint %s is about some of the Pods that are sent, and not about others", c.id())
		}
	}
	if len(found.matching) == 0 {
		return found, errors.New("no constraint of the library is about the Pods that are sent")
	}
	return found, nil
}

// decidable are the reviews for which every constraint can be evaluated: where one cannot
// be, Gatekeeper names no constraint at all.
func (l *library) decidable(ctx context.Context, bodies [][]byte) (kept [][]byte, err error) {
	snapshot, err := l.snapshot()
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		explanations, err := explain(ctx, snapshot, body)
		if err != nil {
			return nil, err
		}
		fails := slices.ContainsFunc(explanations, func(e engine.Explanation) bool {
			return slices.ContainsFunc(e.Decision.Denials, func(f engine.Finding) bool { return f.Error })
		})
		if !fails {
			kept = append(kept, body)
		}
	}
	return kept, nil
}

// snapshot is the library as the engine serves it.
func (l *library) snapshot() (*engine.Snapshot, error) {
	files, err := l.files(l.constraints)
	if err != nil {
		return nil, err
	}
	set, err := policyset.Compile(definition.Source{Name: "library", Files: files}, dialect.Dialect)
	if err != nil {
		return nil, err
	}
	return engine.NewSnapshot(admission.BuiltinResources(), set), nil
}

// explain asks again where a policy has missed its deadline, which is by the clock.
func explain(ctx context.Context, snapshot *engine.Snapshot, body []byte) ([]engine.Explanation, error) {
	var review struct {
		Request json.RawMessage `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	r, err := admission.NewReview(review.Request)
	if err != nil {
		return nil, err
	}
	for range 5 {
		explanations := snapshot.Explain(ctx, r, engine.Options{Cluster: clusterdata.Empty()})
		if !late(explanations) {
			return explanations, nil
		}
	}
	return nil, errors.New("a policy missed its deadline five times: this machine is too busy to measure")
}

func late(explanations []engine.Explanation) bool {
	return slices.ContainsFunc(explanations, func(e engine.Explanation) bool {
		return slices.ContainsFunc(e.Decision.Denials, func(f engine.Finding) bool { return strings.Contains(f.Words, outOfTime) })
	})
}

// ofPublic are the streams of the part, of a marked review of a Pod that says much: of a
// Pod that says little, and of that one, both in the namespace that some samples are for.
func ofPublic(create string) (denied, admitted *workload, err error) {
	strict := strings.ReplaceAll(create, strconv.Quote(namespaceLintel), strconv.Quote("default"))
	short, err := bare(strict)
	return stream(false, short), stream(true, strict), err
}

// bare takes out of a marked review what a Pod need not say: what is left is a Pod as it
// is first written, which a strict library denies for many reasons.
func bare(create string) (string, error) {
	var review map[string]any
	if err := json.Unmarshal([]byte(create), &review); err != nil {
		return "", fmt.Errorf("reading a recorded review: %w", err)
	}
	spec, found, err := unstructured.NestedMap(review, "request", "object", "spec")
	if err != nil || !found {
		return "", fmt.Errorf("a recorded review has no spec of a Pod: %.300s", create)
	}
	delete(spec, "securityContext")
	delete(spec, "automountServiceAccountToken")
	containers, _ := spec["containers"].([]any)
	for _, item := range containers {
		container, _ := item.(map[string]any)
		for _, field := range []string{"securityContext", "resources", "livenessProbe", "readinessProbe"} {
			delete(container, field)
		}
	}
	if err := unstructured.SetNestedMap(review, spec, "request", "object", "spec"); err != nil {
		return "", err
	}
	text, err := json.Marshal(review)
	return string(text), err
}
