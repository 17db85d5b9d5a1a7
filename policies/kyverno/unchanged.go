package kyverno

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
)

// unchangedKinds are the kinds of policies.kyverno.io that Lintel evaluates as they are.
var unchangedKinds = []string{"ValidatingPolicy", "NamespacedValidatingPolicy", "PolicyException"}

// isUnchanged reports whether an object stays as it is.
func isUnchanged(f field) bool {
	group, _, _ := strings.Cut(f.get("apiVersion").text(), "/")
	return group == "policies.kyverno.io" && slices.Contains(unchangedKinds, f.get("kind").text())
}

// keep returns the policies of a file that stay as they are. An object with a status alone, which a
// test expects, is not a policy.
func keep(input Input, roots []field) (out []Policy, err error) {
	if !slices.ContainsFunc(roots, isUnchanged) {
		return nil, nil
	}
	_, errs := cel.KyvernoDialect(map[string]string{"policy.yaml": string(input.Text)})
	for i, root := range roots {
		if !isUnchanged(root) || !root.get("spec").exists() && root.get("status").exists() {
			continue
		}
		text, err := yaml.Marshal(root.node)
		if err != nil {
			return nil, err
		}
		policy := Policy{
			File: input.File, Line: root.line(), Kind: root.get("kind").text(), Name: root.get("metadata", "name").text(), Namespace: root.get("metadata", "namespace").text(),
			Document: string(text), Unchanged: true,
		}
		for _, one := range errs {
			if one.Line >= root.line() && (i+1 == len(roots) || one.Line < roots[i+1].line()) {
				policy.Refusals = append(policy.Refusals, refusalOf(input.File, one))
			}
		}
		if policy.Converted() {
			policy.Files = map[string]string{strings.ToLower(strings.Join([]string{policy.Kind, policy.Namespace, policy.Name}, "-")) + ".yaml": policy.Document}
		}
		out = append(out, policy)
	}
	return out, nil
}

// refusalOf returns an error of a policy as a refusal.
func refusalOf(file string, err definition.CompileError) Refusal {
	out := Refusal{File: file, Line: err.Line, Construct: err.Message, Hint: "see the location"}
	if _, rest, found := strings.Cut(err.Message, `": `); found {
		if path, message, found := strings.Cut(rest, ": "); found {
			out.Field, out.Construct = path, message
		}
	}
	if construct, hint, found := strings.Cut(out.Construct, " is not supported: "); found {
		out.Construct, out.Hint = construct, hint
	}
	return out
}
