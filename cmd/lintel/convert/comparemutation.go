package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/kyverno"
)

// evaluateMutation compares the objects that a policy changes.
func (c *comparer) evaluateMutation(ctx context.Context, policy kyverno.Policy, requests scenario, objects map[string]map[string]any, out *Comparison) error {
	if requests.operation == "DELETE" {
		return nil // mutations change no object that is deleted
	}
	objects = maps.Clone(objects)
	theirs, err := c.mutatedByKyverno(ctx, policy, requests, objects)
	if err != nil && requests.name != "create" { // of one object: creations show of which
		out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", requests.name, err))
		return nil
	}
	if err != nil { // of one object, for which it writes none
		theirs = map[string]map[string]any{}
		for key, object := range objects {
			one, err := c.mutatedByKyverno(ctx, policy, requests, map[string]map[string]any{key: object})
			if err != nil {
				out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", key, err))
				delete(objects, key)
				continue
			}
			maps.Copy(theirs, one)
		}
	}
	snapshot, resources, err := c.snapshot(policy)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(mapKeys(objects)) {
		review, err := requests.review(key, objects[key], resources)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		options, err := optionsFor(review)
		if err != nil {
			return err
		}
		mutation := snapshot.Mutate(ctx, review, options)
		if len(mutation.Undecided) > 0 {
			return fmt.Errorf("%s is undecided: %s", key, mutation.Undecided[0].Reason)
		}
		if !mutation.Allowed() {
			return fmt.Errorf("%s: %s", key, mutation.Denials[0].Words)
		}
		text, err := mutation.Review.Object()
		if err != nil {
			return err
		}
		var changed map[string]any
		if err := json.Unmarshal(text, &changed); err != nil {
			return err
		}
		expected, ok := theirs[key]
		if !ok {
			expected = normal(objects[key])
		}
		out.Objects++
		if len(mutation.Patch) > 0 {
			out.Denied++
		}
		if !reflect.DeepEqual(inOrder(withoutNamespace(expected)), inOrder(withoutNamespace(changed))) {
			out.Differences = append(out.Differences, Difference{requests.name, "", objects[key], asText(expected), asText(changed)})
		}
	}
	return nil
}

// mutatedByKyverno are the objects that Kyverno writes, by key.
func (c *comparer) mutatedByKyverno(ctx context.Context, policy kyverno.Policy, requests scenario, objects map[string]map[string]any) (map[string]map[string]any, error) {
	folder, err := workFolder(policy, requests, objects)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	written := filepath.Join(folder, "mutated.yaml")
	_, runErr := c.apply(ctx, filepath.Join(folder, policyFile), filepath.Join(folder, objectFile), "--output", written)
	if runErr != nil {
		return nil, runErr
	}
	text, err := os.ReadFile(written)
	if errors.Is(err, fs.ErrNotExist) { // it changes no object
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, out := namespaceless(objects), map[string]map[string]any{}
	for _, part := range strings.Split("\n"+string(text), "\n---") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			return nil, err
		}
		if len(object) == 0 {
			continue
		}
		key := keyOf(object)
		if _, ok := objects[key]; !ok {
			name, _ := nameOf(object)
			key = names[fmt.Sprint(object["kind"])+" "+name]
		}
		out[key] = normal(object)
	}
	return out, nil
}

// normal is an object as JSON has it.
func normal(object map[string]any) (out map[string]any) {
	if json.Unmarshal([]byte(asText(object)), &out) != nil {
		return nil
	}
	return out
}

func asText(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Sprint(object)
	}
	return string(text)
}

// withoutNamespace leaves out the namespace that both add to objects without one.
func withoutNamespace(object map[string]any) map[string]any {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "namespace")
	}
	return object
}

// inOrder sorts lists whose elements have names, because Kyverno moves the elements that it changes
// to the front, and Lintel leaves them in their place.
func inOrder(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range typed {
			out[key] = inOrder(one)
		}
		return out
	case []any:
		out := make([]any, len(typed))
		named := true
		for i, one := range typed {
			out[i] = inOrder(one)
			named = named && keyOfElement(one) != ""
		}
		if named {
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(keyOfElement(a), keyOfElement(b)) })
		}
		return out
	}
	return value
}

// keyOfElement is the name or the mount path of an element.
func keyOfElement(value any) string {
	tree, _ := value.(map[string]any)
	for _, key := range []string{"mountPath", "name"} {
		if text, ok := tree[key].(string); ok {
			return text
		}
	}
	return ""
}
