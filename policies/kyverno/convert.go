package kyverno

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

//go:embed lib/*.rego
var libraryFiles embed.FS

// Library are the files that all converted policies import, by path.
func Library() (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(libraryFiles, "lib", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := libraryFiles.ReadFile(name)
		files["lib/kyverno/"+path.Base(name)] = string(text)
		return err
	})
	return files, err
}

// Policy is the result of one ClusterPolicy or Policy.
type Policy struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Namespace is that of a Policy.
	Namespace string `json:"namespace,omitempty"`
	// Files are the Rego files by path, empty if the policy is refused.
	Files map[string]string `json:"-"`
	// Rules are the packages by the name of the rule.
	Rules map[string]string `json:"rules,omitempty"`
	// Mutates reports rules that change objects.
	Mutates bool `json:"-"`
	// Refusals are the reasons why the policy is not converted.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Document is the policy itself.
	Document string `json:"-"`
}

// Converted reports whether the policy is converted as a whole.
func (p Policy) Converted() bool { return len(p.Refusals) == 0 }

// Results are what became of the documents of several files.
type Results struct {
	Policies   []Policy
	Exceptions []Exception
	Suites     []Suite
	// Tests are the Rego tests by path.
	Tests map[string]string
}

// Input is a file with documents of Kyverno.
type Input struct {
	File string
	Text []byte
}

// Convert converts the policies, exceptions and tests in files. Documents of other kinds are
// ignored. read reads the files that tests name.
func Convert(inputs []Input, settings ExceptionSettings, read func(string) ([]byte, error)) (Results, error) {
	out := Results{Tests: map[string]string{}}
	type document struct {
		file string
		root field
	}
	var tests, exceptions []document
	for _, input := range inputs {
		roots, err := readDocuments(input)
		if err != nil {
			return out, err
		}
		for _, root := range roots {
			switch {
			case isPolicy(root):
				policy, err := convertPolicy(input.File, root)
				if err != nil {
					return out, fmt.Errorf("%s:%d: %w", input.File, root.line(), err)
				}
				out.Policies = append(out.Policies, policy)
			case isException(root):
				exceptions = append(exceptions, document{input.File, root})
			case isTest(root):
				tests = append(tests, document{input.File, root})
			case isOtherKind(root):
				out.Policies = append(out.Policies, otherKind(input.File, root))
			}
		}
	}
	for _, d := range exceptions {
		out.Exceptions = append(out.Exceptions, convertException(d.file, d.root, out.Policies, settings))
	}
	for _, d := range tests {
		out.Suites = append(out.Suites, convertTest(d.file, d.root, out.Policies, read, out.Tests))
	}
	return out, nil
}

// readDocuments reads the documents of a file. A file that does not name Kyverno may have any
// content, and is not read.
func readDocuments(input Input) (out []field, err error) {
	if !bytes.Contains(input.Text, []byte("kyverno.io/")) {
		return nil, nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(input.Text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", input.File, err)
		}
		if len(document.Content) > 0 {
			out = append(out, unpacked(field{node: document.Content[0]})...)
		}
	}
}

// unpacked returns the objects of a list, such as that of kubectl get, and other objects as they are.
func unpacked(f field) (out []field) {
	if !strings.HasSuffix(f.get("kind").text(), "List") || !f.get("items").isList() {
		return []field{f}
	}
	for _, item := range f.get("items").items() {
		out = append(out, unpacked(field{node: item.node})...)
	}
	return out
}

func isPolicy(f field) bool {
	group, _, _ := strings.Cut(f.get("apiVersion").text(), "/")
	return group == "kyverno.io" && slices.Contains([]string{"ClusterPolicy", "Policy"}, f.get("kind").text())
}

// isOtherKind reports whether an object belongs to Kyverno and is not converted.
func isOtherKind(f field) bool {
	group, _, _ := strings.Cut(f.get("apiVersion").text(), "/")
	return (group == "kyverno.io" || strings.HasSuffix(group, ".kyverno.io")) && group != "cli.kyverno.io" && f.get("kind").exists()
}

// otherKind refuses an object of another kind by its name.
func otherKind(file string, root field) Policy {
	refused := &refusals{file: file}
	kind := root.get("kind").text()
	refused.add(root.get("kind"), "kind "+kind, "only ClusterPolicy, Policy and PolicyException of kyverno.io, and tests, are converted")
	return Policy{
		File: file, Line: root.line(), Kind: kind, Name: root.get("metadata", "name").text(), Namespace: root.get("metadata", "namespace").text(),
		Refusals: refused.list,
	}
}

// specKeys are the settings of a policy that need no Rego, or that are read.
var specKeys = []string{"rules", "validationFailureAction", "validationFailureActionOverrides", "background", "failurePolicy", "webhookTimeoutSeconds",
	"schemaValidation", "admission", "emitWarning", "applyRules", "generateExisting", "mutateExistingOnPolicyUpdate", "useServerSideApply", "webhookConfiguration", "generateExistingOnPolicyUpdate"}

// convertPolicy converts all rules of a policy, or refuses it as a whole.
func convertPolicy(file string, root field) (Policy, error) {
	text, err := yaml.Marshal(root.node)
	if err != nil {
		return Policy{}, err
	}
	out := Policy{
		File: file, Line: root.line(), Kind: root.get("kind").text(), Name: root.get("metadata", "name").text(), Namespace: root.get("metadata", "namespace").text(),
		Files: map[string]string{}, Rules: map[string]string{}, Document: string(text),
	}
	refused := &refusals{file: file}
	spec := root.get("spec")
	refused.onlyKeys(spec, specKeys...)
	if version := root.get("apiVersion").text(); version != "kyverno.io/v1" && version != "kyverno.io/v2beta1" {
		refused.add(root.get("apiVersion"), "apiVersion "+version, "use kyverno.io/v1")
	}
	for _, key := range []string{"webhookConfiguration", "applyRules"} {
		if value := spec.get(key); value.exists() && value.text() != "All" {
			refused.add(value, "spec."+key, "add the conditions to the rules")
		}
	}
	if len(spec.get("rules").items()) == 0 {
		refused.add(spec, "no rules", "the policy decides nothing")
	}
	controllers := controllersOf(root)
	for _, f := range spec.get("rules").items() {
		r := newRule(refused, root, f, controllers)
		r.translate()
		out.Mutates = out.Mutates || f.get("mutate").exists()
		if _, taken := out.Rules[r.name()]; taken {
			refused.add(f.get("name"), "two rules of the name "+r.name(), "rename one")
		}
		pkg := out.packageOf(r.name())
		rego, err := r.render(pkg, r.enforcement())
		if err != nil && len(refused.list) == 0 {
			return out, err
		}
		out.Files[fileOf(pkg)] = rego
		out.Rules[r.name()] = pkg
	}
	if out.Refusals = refused.list; len(refused.list) > 0 {
		out.Files, out.Rules = nil, nil
	}
	return out, nil
}

// packageOf is the package of another rule of the policy, which no other rule has. Its file does not
// have the name of a file of tests.
func (p *Policy) packageOf(rule string) string {
	folder, name := identifier(p.Name), identifier(rule)
	if folder == "lib" { // of the Rego library
		folder = "policy_lib"
	}
	if strings.HasSuffix(name, "_test") {
		name += "_rule"
	}
	pkg := folder + "." + name
	for i := 2; p.Files[fileOf(pkg)] != ""; i++ {
		pkg = fmt.Sprintf("%s.%s_%d", folder, name, i)
	}
	return pkg
}

func fileOf(pkg string) string { return strings.ReplaceAll(pkg, ".", "/") + ".rego" }

func newRule(refused *refusals, policy, f field, controllers []string) *rule {
	e := &expressions{refusals: refused, module: &module{name: f.get("name").text(), defined: map[string]string{}, names: map[string]bool{"pod": true, "finding": true, "overridden": true, "patch": true, "pod_path": true, "reviewed": true, "deny": true, "msg": true, "element": true}}, variables: map[string]string{}}
	return &rule{expressions: e, field: f, policy: policy, controllers: controllers}
}
