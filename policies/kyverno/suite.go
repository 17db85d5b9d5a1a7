package kyverno

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/format"
	yaml "go.yaml.in/yaml/v3"
)

// Suite is the result of one kyverno-test.yaml.
type Suite struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Cases counts the results that are Rego tests.
	Cases int `json:"cases"`
	// Refusals are the results that are not converted.
	Refusals []Refusal `json:"refusals,omitempty"`
}

func isTest(f field) bool {
	group, _, _ := strings.Cut(f.get("apiVersion").text(), "/")
	return (group == "cli.kyverno.io" || !f.get("apiVersion").exists() && f.get("results").isList()) && (f.get("kind").text() == "Test" || !f.get("kind").exists())
}

// testCase is a test of one rule.
type testCase struct {
	name, statement, input string
}

// convertTest converts a test, and adds the Rego to files. read reads a file that the test names.
func convertTest(file string, root field, policies []Policy, read func(string) ([]byte, error), files map[string]string) Suite {
	refused := &refusals{file: file}
	out := Suite{File: file, Line: root.line()}
	for _, key := range []string{"variables", "userinfo", "context", "values"} {
		if root.get(key).exists() {
			refused.add(root.get(key), "test with "+key, "write the input in Rego")
		}
	}
	objects := map[string]map[string]any{}
	for _, item := range root.get("resources").items() {
		text, err := read(filepath.Join(filepath.Dir(file), item.text()))
		if err != nil {
			refused.add(item, "test resource", err.Error())
			continue
		}
		for _, object := range documents(text) {
			metadata, _ := object["metadata"].(map[string]any)
			objects[fmt.Sprint(object["kind"], "/", metadata["name"])] = object
		}
	}
	cases := map[string][]testCase{}
	if len(refused.list) == 0 {
		for _, result := range root.get("results").items() {
			convertResult(refused, result, policies, objects, cases)
		}
	}
	for pkg, list := range cases {
		out.Cases += len(list)
		name, text := renderTests(pkg, list, files)
		files[name] = text
	}
	out.Refusals = refused.list
	return out
}

// documents are the objects of a file.
func documents(text []byte) (out []map[string]any) {
	for _, part := range strings.Split("\n"+string(text), "\n---") {
		var object map[string]any
		if yaml.Unmarshal([]byte(part), &object) == nil && object["kind"] != nil {
			out = append(out, object)
		}
	}
	return out
}

// convertResult adds the cases of one expected result.
func convertResult(refused *refusals, result field, policies []Policy, objects map[string]map[string]any, cases map[string][]testCase) {
	name := result.get("policy").text()
	if _, after, ok := strings.Cut(name, "/"); ok {
		name = after
	}
	index := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == name })
	if index < 0 || !policies[index].Converted() {
		refused.add(result, "test of a policy that is not converted", "convert the policy "+name+" first")
		return
	}
	if policies[index].Mutates {
		refused.add(result, "test of a mutation", "compare the patched object with `lintel check`")
		return
	}
	rule := strings.TrimPrefix(strings.TrimPrefix(result.get("rule").text(), "autogen-cronjob-"), "autogen-")
	pkg, ok := policies[index].Rules[rule]
	if !ok {
		refused.add(result.get("rule"), "test of an unknown rule", "name a rule of the policy "+name)
		return
	}
	statement, verb := "count(policy.deny) == 0", "admitted"
	if result.get("result").text() == "fail" {
		statement, verb = "count(policy.deny) > 0", "denied"
	}
	names := result.get("resources").texts()
	if one := result.get("resource"); one.exists() {
		names = append(names, one.text())
	}
	for _, resource := range names {
		short := path.Base(resource)
		object, ok := objects[result.get("kind").text()+"/"+short]
		if !ok {
			refused.add(result, "test of a missing resource", "add "+resource+" to the files under resources")
			continue
		}
		cases[pkg] = append(cases[pkg], testCase{"test_" + identifier(result.get("kind").text()+"_"+short) + "_is_" + verb, statement, literal(inputOf(object))})
	}
}

// inputOf is the input of the creation of an object.
func inputOf(object map[string]any) map[string]any {
	apiVersion := fmt.Sprint(object["apiVersion"])
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	metadata, _ := object["metadata"].(map[string]any)
	namespace, ok := metadata["namespace"]
	if !ok {
		namespace = "default"
	}
	if object["kind"] == "Namespace" {
		namespace = metadata["name"]
	}
	return map[string]any{
		"name":      metadata["name"],
		"namespace": map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}},
		"request": map[string]any{
			"operation": "CREATE", "name": metadata["name"], "namespace": namespace, "object": object,
			"kind":     map[string]any{"group": group, "version": version, "kind": object["kind"]},
			"userInfo": map[string]any{"username": "tester", "groups": []any{"system:authenticated"}},
		},
	}
}

// renderTests is a file of tests. A package that several files test has one file for each.
func renderTests(pkg string, cases []testCase, files map[string]string) (name, text string) {
	base := strings.ReplaceAll(pkg, ".", "/")
	name = base + "_test.rego"
	suffix := ""
	for i := 2; files[name] != ""; i++ {
		suffix = fmt.Sprintf("_%d", i)
		name = base + suffix + "_test.rego"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package %s%s_test\n\nimport rego.v1\n\nimport data.%s as policy\n\n", pkg, suffix, pkg)
	seen := map[string]int{}
	for _, one := range cases {
		seen[one.name]++
		if n := seen[one.name]; n > 1 {
			one.name = fmt.Sprintf("%s_%d", one.name, n)
		}
		fmt.Fprintf(&b, "%s if {\n\t%s with input as %s\n}\n\n", one.name, one.statement, one.input)
	}
	formatted, err := format.SourceWithOpts(name, []byte(b.String()), format.Opts{})
	if err != nil {
		return name, b.String()
	}
	return name, string(formatted)
}
