package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/test/installation"
)

// decision is what a webhook said of an object: the constraints that deny it.
type decision struct {
	Allowed bool
	Denying []string // sorted
	message string
}

func (d decision) equal(other decision) bool {
	return d.Allowed == other.Allowed && slices.Equal(d.Denying, other.Denying)
}

// Where the engines name the constraint that denies, in their messages.
var (
	lintelNames     = regexp.MustCompile(`\[\w+/([\w.-]+) deny\b`)
	gatekeeperNames = regexp.MustCompile(`(?m)^\[([\w.-]+)\] `)
)

func readDecision(answer []byte, names *regexp.Regexp) (decision, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil {
		return decision{}, fmt.Errorf("not the answer of a webhook: %.500s", answer)
	}
	d := decision{Allowed: review.Response.Allowed}
	if d.Allowed {
		return d, nil
	}
	if review.Response.Result != nil {
		d.message = review.Response.Result.Message
	}
	for _, match := range names.FindAllStringSubmatch(d.message, -1) {
		d.Denying = append(d.Denying, match[1])
	}
	slices.Sort(d.Denying)
	d.Denying = slices.Compact(d.Denying)
	if len(d.Denying) == 0 {
		return d, fmt.Errorf("a denial that names no constraint: %s", d.message)
	}
	return d, nil
}

// contender is one of the webhooks that are compared.
type contender struct {
	name string
	*endpoint
	names *regexp.Regexp // nil for one that decides nothing
	late  atomic.Int64   // answers that a deadline has made
}

// outOfTime is part of Lintel's answer if a review was not finished before the API server's
// deadline: on a busy machine that says nothing about the object.
const outOfTime = "within the timeout of the request"

func (c *contender) decide(ctx context.Context, body []byte) (d decision, err error) {
	for range 5 {
		answer, err := c.post(ctx, body)
		if err != nil {
			return decision{}, fmt.Errorf("%s: %w", c.name, err)
		}
		if d, err = readDecision(answer, c.names); err != nil {
			return d, fmt.Errorf("%s: %w", c.name, err)
		}
		if !strings.Contains(d.message, outOfTime) {
			break
		}
	}
	return d, nil
}

// ruleWithOperations is short for what a webhook is registered for.
type ruleWithOperations = admissionregistrationv1.RuleWithOperations

// compareDecisions asks all contenders about every object; a difference is an error.
func compareDecisions(ctx context.Context, corpus [][]byte, contenders []*contender) (denied int, err error) {
	var differences []string
	for _, body := range corpus {
		first, err := contenders[0].decide(ctx, body)
		if err != nil {
			return 0, fmt.Errorf("%w\nthe review: %s", err, body)
		}
		if !first.Allowed {
			denied++
		}
		for _, c := range contenders[1:] {
			d, err := c.decide(ctx, body)
			if err != nil {
				return 0, fmt.Errorf("%w\nthe review: %s", err, body)
			}
			if !d.equal(first) {
				differences = append(differences, fmt.Sprintf("%s denies by %q, %s by %q: %s %s\nthe review: %s",
					contenders[0].name, first.Denying, c.name, d.Denying, first.message, d.message, body))
			}
		}
	}
	if len(differences) > 0 {
		return 0, fmt.Errorf("decisions on %d of %d objects differ:\n%s", len(differences), len(corpus), strings.Join(differences[:min(5, len(differences))], "\n"))
	}
	return denied, nil
}

// corpus are the objects on which decisions are compared: the Pods in the given files, and the
// variations of a Pod in which one value after the other is removed or changed.
func corpus(create []byte, files []string) ([][]byte, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(create, &review); err != nil {
		return nil, err
	}
	var bodies [][]byte
	for _, file := range files {
		body, err := reviewOfFile(&review, len(bodies), file)
		if err != nil {
			return nil, err
		}
		if body != nil {
			bodies = append(bodies, body)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(review.Request.Object.Raw, &object); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(object, "metadata", "managedFields")
	for _, changed := range variations(object) {
		body, err := reviewOf(&review, len(bodies), changed, nil, nil)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// sampleSuites are the files of the suites of config/samples/gatekeeper.
func sampleSuites() ([]string, error) {
	suites, err := filepath.Glob(filepath.Join(installation.Root(), "config/samples/gatekeeper/*/suite.yaml"))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, suite := range suites {
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(suite), "*.yaml"))
		if err != nil {
			return nil, err
		}
		files = append(files, beside...)
	}
	return files, nil
}

// reviewOfFile is a review of the Pod of a file, the other fields as in like, and nil
// where a file is about no Pod.
func reviewOfFile(like *admissionv1.AdmissionReview, n int, file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "\n---") {
		return nil, nil // several objects of the cluster
	}
	var object map[string]any
	if err := readYAML(file, &object); err != nil {
		return nil, err
	}
	switch object["kind"] {
	case "Pod":
		return reviewOf(like, n, object, nil, nil)
	case "AdmissionReview":
		request, _ := object["request"].(map[string]any)
		kind, _, _ := unstructured.NestedString(request, "kind", "kind")
		next, _ := request["object"].(map[string]any)
		if kind != "Pod" || next == nil {
			return nil, nil
		}
		old, _ := request["oldObject"].(map[string]any)
		return reviewOf(like, n, next, old, request)
	}
	return nil, nil
}

// reviewOf is a review of a Pod in the namespace of like. request, if any, says who
// does what.
func reviewOf(like *admissionv1.AdmissionReview, n int, object, old, request map[string]any) ([]byte, error) {
	review := like.DeepCopy()
	r := review.Request
	r.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	if operation, _, _ := unstructured.NestedString(request, "operation"); operation != "" {
		r.Operation = admissionv1.Operation(operation)
	}
	if user, _, _ := unstructured.NestedString(request, "userInfo", "username"); user != "" {
		r.UserInfo.Username = user
	}
	for _, each := range []map[string]any{object, old} {
		if each == nil {
			continue
		}
		if err := unstructured.SetNestedField(each, r.Namespace, "metadata", "namespace"); err != nil {
			return nil, err
		}
	}
	r.Name, _, _ = unstructured.NestedString(object, "metadata", "name")
	var err error
	if r.Object.Raw, err = json.Marshal(object); err != nil {
		return nil, err
	}
	r.OldObject = runtime.RawExtension{}
	if old != nil {
		if r.OldObject.Raw, err = json.Marshal(old); err != nil {
			return nil, err
		}
	}
	return json.Marshal(review)
}

// variations are copies of an object, each with one value less, or another one.
func variations(object map[string]any) []map[string]any {
	var all []map[string]any
	add := func(change func(root map[string]any)) {
		copied := runtime.DeepCopyJSON(object)
		change(copied)
		all = append(all, copied)
	}
	for _, path := range paths(object, nil) {
		if path[0] == "kind" || path[0] == "apiVersion" || (path[0] == "metadata" && len(path) == 1) || slices.Equal(path, []any{"metadata", "name"}) {
			continue
		}
		add(func(root map[string]any) { replaceAt(root, path, func(any) (any, bool) { return nil, false }) })
		if _, leaf := other(get(object, path)); leaf {
			add(func(root map[string]any) {
				replaceAt(root, path, func(value any) (any, bool) { value, _ = other(value); return value, true })
			})
		}
	}
	return all
}

// other is another value of the same type.
func other(value any) (changed any, leaf bool) {
	switch value := value.(type) {
	case string:
		return "other.example.com/" + value + ":latest", true
	case bool:
		return !value, true
	case int64:
		return value + 100000, true
	case float64:
		return value + 100000, true
	}
	return value, false
}

// paths are the places of all values below the root, in a fixed order.
func paths(value any, prefix []any) [][]any {
	var all [][]any
	down := func(key, item any) {
		path := append(slices.Clone(prefix), key)
		all = append(append(all, path), paths(item, path)...)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			down(key, value[key])
		}
	case []any:
		for i, item := range value {
			down(i, item)
		}
	}
	return all
}

func get(value any, path []any) any {
	for _, key := range path {
		switch key := key.(type) {
		case string:
			value = value.(map[string]any)[key]
		case int:
			value = value.([]any)[key]
		}
	}
	return value
}

// replaceAt replaces the value at a path, or removes it from its map. Items of a list stay, as empty
// strings.
func replaceAt(root map[string]any, path []any, change func(any) (any, bool)) {
	parent, last := get(root, path[:len(path)-1]), path[len(path)-1]
	switch parent := parent.(type) {
	case map[string]any:
		if value, keep := change(parent[last.(string)]); keep {
			parent[last.(string)] = value
		} else {
			delete(parent, last.(string))
		}
	case []any:
		if value, keep := change(parent[last.(int)]); keep {
			parent[last.(int)] = value
		} else if text, isText := parent[last.(int)].(string); isText {
			parent[last.(int)] = text[:0]
		}
	}
}
