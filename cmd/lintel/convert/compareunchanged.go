package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kyverno"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// answer is the verdict about an object, with its message.
type answer struct{ result, message string }

const (
	resultAllow = "allow"
	resultFail  = "fail"
	resultError = "error"
)

// replacedMessages begin messages of Kyverno in place of which Lintel names the expression: of a
// validation without a message, and with a messageExpression that fails.
var replacedMessages = []string{"CEL expression validation failed at index", "failed to evaluate message expression", "failed to convert message expression"}

// isReplaced reports whether Lintel has another message.
func isReplaced(message string) bool {
	return slices.ContainsFunc(replacedMessages, func(start string) bool { return strings.HasPrefix(message, start) })
}

// evaluateUnchanged compares verdicts and messages of a policy that both evaluate as it is. The
// messages of errors are not compared.
func (c *comparer) evaluateUnchanged(ctx context.Context, policy kyverno.Policy, objects map[string]map[string]any, out *Comparison) error {
	if policy.Kind == "PolicyException" {
		return nil
	}
	theirs, err := c.appliedByKyverno(ctx, policy, objects)
	if err != nil {
		return err
	}
	set, err := policyset.Compile(definition.Source{Name: "unchanged", Files: policy.Files}, cel.KyvernoDialect)
	if err != nil {
		return fmt.Errorf("compiling the policy: %w", err)
	}
	resources := admission.BuiltinResourcesWith()
	snapshot := engine.NewSnapshot(resources, set)
	for _, key := range slices.Sorted(mapKeys(objects)) {
		ours, err := decide(ctx, snapshot, resources, objects[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		expected, ok := theirs[key]
		if !ok {
			expected.result = resultAllow
		}
		out.Objects++
		if expected.result != resultAllow {
			out.Denied++
		}
		equal := ours.result == expected.result
		if equal && ours.result == resultFail && !isReplaced(expected.message) {
			equal = strings.TrimSpace(ours.message) == strings.TrimSpace(expected.message)
		}
		if !equal {
			out.Differences = append(out.Differences, Difference{creation.name, "", objects[key], expected.result + ": " + expected.message, ours.result + ": " + ours.message})
		}
	}
	return nil
}

// namesWorkloads reports whether a policy may be about Pods or workloads.
func namesWorkloads(document string) bool {
	return strings.Contains(document, "pods") || strings.Contains(document, "deployments") || strings.Contains(document, "*")
}

// decide returns the answer of Lintel about the creation of an object.
func decide(ctx context.Context, snapshot *engine.Snapshot, resources *admission.Resources, object map[string]any) (answer, error) {
	review, err := creation.review("", object, resources)
	if err != nil {
		return answer{}, err
	}
	options := engine.Options{Offline: true}
	if review.Namespace != "" {
		text, err := json.Marshal(namespaceObject(review.Namespace))
		if err != nil {
			return answer{}, err
		}
		if options.Namespace, err = engine.ReadNamespace(text); err != nil {
			return answer{}, err
		}
	}
	decision := snapshot.Validate(ctx, review, options)
	if len(decision.Undecided) > 0 {
		return answer{}, fmt.Errorf("undecided: %s", decision.Undecided[0].Reason)
	}
	findings := slices.Concat(decision.Denials, decision.Warnings, decision.Audits)
	switch {
	case len(findings) == 0:
		return answer{result: resultAllow}, nil
	case findings[0].Error:
		return answer{resultError, findings[0].Words}, nil
	}
	return answer{resultFail, findings[0].Words}, nil
}

// namespaceObject is a Namespace that both know, with the label that every Namespace has.
func namespaceObject(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": map[string]any{"kubernetes.io/metadata.name": name}}}
}

// appliedByKyverno returns the answers of Kyverno by object.
func (c *comparer) appliedByKyverno(ctx context.Context, policy kyverno.Policy, objects map[string]map[string]any) (map[string]answer, error) {
	folder, err := workFolder(policy, creation, objects)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := writeNamespaces(filepath.Join(folder, valuesFile), objects); err != nil {
		return nil, err
	}
	stdout, runErr := c.apply(ctx, filepath.Join(folder, policyFile), filepath.Join(folder, objectFile), "--policy-report", "--output-format", "json")
	var report struct {
		Results []struct {
			Result, Message string
			Resources       []struct{ Kind, Namespace, Name string }
		}
	}
	start := bytes.Index(stdout, []byte(`{"kind"`))
	if start < 0 {
		return nil, runErr // no policy matches an object
	}
	if err := json.NewDecoder(bytes.NewReader(stdout[start:])).Decode(&report); err != nil {
		return nil, fmt.Errorf("reading the report of kyverno apply: %w", err)
	}
	out, names := map[string]answer{}, namespaceless(objects)
	for _, one := range report.Results {
		result := resultAllow
		switch one.Result {
		case "fail", "warn":
			result = resultFail
		case "error":
			result = resultError
		}
		for _, resource := range one.Resources {
			key := resource.Kind + " " + resource.Namespace + "/" + resource.Name
			if _, ok := objects[key]; !ok {
				key = names[resource.Kind+" "+resource.Name]
			}
			out[key] = answer{result, one.Message}
		}
	}
	return out, nil
}

// writeNamespaces writes the Namespaces of the objects for Kyverno, in place of its values.
func writeNamespaces(file string, objects map[string]map[string]any) error {
	var namespaces []any
	known := map[string]bool{}
	for _, object := range objects {
		_, namespace := nameOf(object)
		if namespace == "" {
			namespace = "default"
		}
		if !known[namespace] {
			known[namespace] = true
			namespaces = append(namespaces, namespaceObject(namespace))
		}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": map[string]any{"name": "values"}, "namespaces": namespaces})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
