package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kyverno"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/request"
)

// maxVariations bounds the generated objects of one policy.
const maxVariations = 40

// Comparison is the result of evaluating a policy and its Rego with the same objects.
type Comparison struct {
	Policy string `json:"policy"`
	File   string `json:"file"`
	// Objects are the objects that both evaluated, and Denied those that some rule denies.
	Objects int `json:"objects"`
	Denied  int `json:"denied"`
	// Requests are the numbers of objects by the kind of request, such as create or delete.
	Requests map[string]int `json:"requests,omitempty"`
	// Differences are objects about which the two disagree.
	Differences []Difference `json:"differences,omitempty"`
	// Failed are objects that Kyverno cannot change, with its errors. They are not compared.
	Failed []string `json:"failed,omitempty"`
	// NotCompared is the reason why objects are not compared. The Rego is compiled.
	NotCompared string `json:"notCompared,omitempty"`
	// Error is the reason why there is no comparison.
	Error string `json:"error,omitempty"`
}

// Difference is an object about which Kyverno and Lintel disagree.
type Difference struct {
	// Request is the kind of request, such as create or delete.
	Request string         `json:"request"`
	Rule    string         `json:"rule"`
	Object  map[string]any `json:"object"`
	Kyverno string         `json:"kyverno"`
	Lintel  string         `json:"lintel"`
}

// comparer runs the comparison of policies.
type comparer struct {
	program string
	library map[string]string
}

// compare evaluates a policy with the objects in its folder and variations of them.
func (c *comparer) compare(ctx context.Context, policy kyverno.Policy) Comparison {
	out := Comparison{Policy: policy.Name, File: policy.File}
	if err := c.evaluate(ctx, policy, &out); err != nil {
		out.Error = err.Error()
	}
	return out
}

func (c *comparer) evaluate(ctx context.Context, policy kyverno.Policy, out *Comparison) error {
	if readsCluster(policy) {
		out.NotCompared = "it reads objects of the cluster"
		_, _, err := c.snapshot(policy)
		return err
	}
	objects, err := testObjects(policy)
	if err != nil {
		return err
	}
	var document map[string]any
	if err := yaml.Unmarshal([]byte(policy.Document), &document); err != nil {
		return err
	}
	texts := textsOf(document["spec"])
	if policy.Unchanged && namesWorkloads(policy.Document) {
		document["spec"] = map[string]any{"kinds": []any{"Pod"}}
	}
	objects = append(objects, samples(document)...)
	all := variations(objects, texts, maxVariations)
	unique := map[string]map[string]any{}
	for _, object := range all {
		compact(object)
		if !repeatsNames(object) {
			unique[keyOf(object)] = object
		}
	}
	if policy.Unchanged {
		return c.evaluateUnchanged(ctx, policy, unique, out)
	}
	for _, requests := range scenariosFor(policy, document, unique) {
		evaluateOne := c.evaluateValidation
		if policy.Mutates {
			evaluateOne = c.evaluateMutation
		}
		before := out.Objects
		if err := evaluateOne(ctx, policy, requests, requests.chosen(unique), out); err != nil {
			return fmt.Errorf("%s: %w", requests.name, err)
		}
		if out.Requests == nil {
			out.Requests = map[string]int{}
		}
		out.Requests[requests.name] += out.Objects - before
	}
	return nil
}

// evaluateValidation compares what the rules of a policy deny.
func (c *comparer) evaluateValidation(ctx context.Context, policy kyverno.Policy, requests scenario, objects map[string]map[string]any, out *Comparison) error {
	theirs, err := c.kyverno(ctx, policy, requests, objects)
	if err != nil {
		return err
	}
	ours, err := c.lintel(ctx, policy, requests, objects)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(mapKeys(objects)) {
		out.Objects++
		denied := false
		for rule := range policy.Rules {
			verdict := theirs[key][rule]
			isDenied, message := verdict == "fail" || verdict == "error" || verdict == "warn", ours[key][rule]
			denied = denied || isDenied
			if isDenied != (message != "") {
				out.Differences = append(out.Differences, Difference{requests.name, rule, objects[key], verdict, message})
			}
		}
		if denied {
			out.Denied++
		}
	}
	return nil
}

// kyverno returns the results of Kyverno by object and rule.
func (c *comparer) kyverno(ctx context.Context, policy kyverno.Policy, requests scenario, objects map[string]map[string]any) (map[string]map[string]string, error) {
	folder, err := workFolder(policy, requests, objects)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	stdout, runErr := c.apply(ctx, filepath.Join(folder, policyFile), filepath.Join(folder, objectFile), "--policy-report", "--output-format", "json")
	var report struct {
		Results []struct {
			Rule, Result string
			Resources    []struct{ Kind, Namespace, Name string }
		}
	}
	output := stdout
	if start := bytes.Index(output, []byte(`{"kind"`)); start >= 0 {
		output = output[start:]
	}
	if err := json.NewDecoder(bytes.NewReader(output)).Decode(&report); err != nil {
		if runErr == nil {
			return nil, nil
		}
		return nil, runErr
	}
	out := map[string]map[string]string{}
	names := namespaceless(objects)
	for _, result := range report.Results {
		for _, resource := range result.Resources {
			key := resource.Kind + " " + resource.Namespace + "/" + resource.Name
			if _, ok := objects[key]; !ok {
				key = names[resource.Kind+" "+resource.Name]
			}
			if out[key] == nil {
				out[key] = map[string]string{}
			}
			rule := strings.TrimPrefix(strings.TrimPrefix(result.Rule, "autogen-cronjob-"), "autogen-")
			for name := range policy.Rules {
				if rule == name || strings.HasPrefix(name, rule) && len(result.Rule) == 63 {
					out[key][name] = result.Result
				}
			}
		}
	}
	return out, nil
}

// namespaceless are the keys of objects without a namespace by kind and name: Kyverno reports a
// default namespace for them.
func namespaceless(objects map[string]map[string]any) map[string]string {
	out := map[string]string{}
	for key, object := range objects {
		name, namespace := nameOf(object)
		if namespace == "" {
			out[fmt.Sprint(object["kind"])+" "+name] = key
		}
	}
	return out
}

const policyFile, objectFile = "policy.yaml", "objects.yaml"

// workFolder writes a policy and objects into a folder for Kyverno.
func workFolder(policy kyverno.Policy, requests scenario, objects map[string]map[string]any) (folder string, err error) {
	var text bytes.Buffer
	for _, object := range objects {
		one, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	if folder, err = os.MkdirTemp("", "lintel-convert-"); err != nil {
		return "", err
	}
	if err := requests.write(folder, policy, objects); err != nil {
		return folder, err
	}
	if err := os.WriteFile(filepath.Join(folder, policyFile), []byte(policy.Document), 0o600); err != nil {
		return folder, err
	}
	return folder, os.WriteFile(filepath.Join(folder, objectFile), text.Bytes(), 0o600)
}

// apply runs `kyverno apply`. It exits with 1 if a policy fails, too.
func (c *comparer) apply(ctx context.Context, policy, objects string, flags ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, c.program, append([]string{"apply", policy, "--resource", objects, "--userinfo", filepath.Join(filepath.Dir(policy), userFile), "--values-file", filepath.Join(filepath.Dir(policy), valuesFile)}, flags...)...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("kyverno apply: %w: %s%s", err, firstLine(stdout.Bytes()), firstLine(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// lintel returns the messages of the converted policy by object and rule.
func (c *comparer) lintel(ctx context.Context, policy kyverno.Policy, requests scenario, objects map[string]map[string]any) (map[string]map[string]string, error) {
	snapshot, resources, err := c.snapshot(policy)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for key, object := range objects {
		review, err := requests.review(key, object, resources)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		options, err := optionsFor(review)
		if err != nil {
			return nil, err
		}
		decision := snapshot.Validate(ctx, review, options)
		if len(decision.Undecided) > 0 {
			return nil, fmt.Errorf("%s is undecided: %s", key, decision.Undecided[0].Reason)
		}
		out[key] = map[string]string{}
		for _, finding := range slices.Concat(decision.Denials, decision.Warnings) {
			for rule, pkg := range policy.Rules {
				if pkg == finding.Policy {
					if finding.Error {
						return nil, fmt.Errorf("%s: rule %s: %s", key, rule, finding.Words)
					}
					out[key][rule] = finding.Words
				}
			}
		}
	}
	return out, nil
}

// snapshot compiles a converted policy. All findings deny.
func (c *comparer) snapshot(policy kyverno.Policy) (*engine.Snapshot, *admission.Resources, error) {
	files := maps.Clone(c.library)
	for name, text := range policy.Files {
		files[name] = strings.NewReplacer("\n#   enforcement: audit\n", "\n#   enforcement: deny\n", "\n#   enforcement: warn\n", "\n#   enforcement: deny\n").Replace(text)
	}
	set, err := policyset.Compile(definition.Source{Name: "converted", Files: files})
	if err != nil {
		return nil, nil, fmt.Errorf("compiling the Rego: %w", err)
	}
	resources := admission.BuiltinResourcesWith()
	return engine.NewSnapshot(resources, set), resources, nil
}

// optionsFor are those of an evaluation in a namespace without labels.
func optionsFor(review *admission.Review) (engine.Options, error) {
	out := engine.Options{Offline: true}
	if review.Namespace == "" {
		return out, nil
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": review.Namespace}})
	if err == nil {
		out.Namespace, err = engine.ReadNamespace(text)
	}
	return out, err
}

// review is the review of a request about an object.
func (s scenario) review(key string, object map[string]any, resources *admission.Resources) (*admission.Review, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var old json.RawMessage
	switch s.operation {
	case "UPDATE":
		if old, err = json.Marshal(s.before(key, object)); err != nil {
			return nil, err
		}
	case "DELETE":
		text, old = nil, text
	}
	kind := kindOf(object)
	resource, known := resources.ByKind(kind.Group, kind.Kind)
	if !known {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		resource = admission.ServedResource{Group: kind.Group, Kind: kind.Kind, Name: plural.Resource, Namespaced: true}
	}
	resource.Version = kind.Version
	name, namespace := nameOf(object)
	if resource.Namespaced && namespace == "" {
		namespace = "default"
	}
	return request.New(request.Subject{Object: text, Old: old, Kind: kind, Requested: kind, Resource: resource, Name: name, Namespace: namespace},
		request.Attributes{Operation: s.operation, User: s.user})
}
