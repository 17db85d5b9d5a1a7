package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
)

// Exception is the result of one PolicyException of Kyverno.
type Exception struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name"`
	// Objects are the PolicyExceptions of Lintel: one for each rule and filter.
	Objects []v1alpha1.PolicyException `json:"-"`
	// Refusals are the reasons why the exception is not converted.
	Refusals []Refusal `json:"refusals,omitempty"`
}

// ExceptionSettings are what Kyverno's exceptions do not have.
type ExceptionSettings struct {
	// Source is the name of the PolicySource with the converted policies.
	Source string
	// Expires is when the exceptions end.
	Expires time.Time
}

// Path is the path of the file for the objects.
func (e Exception) Path() string {
	return "exceptions/" + short(notFileName.ReplaceAllString(e.Name, "-")) + ".yaml"
}

var notFileName = regexp.MustCompile(`[^A-Za-z0-9.-]+|^\.+`)

func isException(f field) bool {
	group, _, _ := strings.Cut(f.get("apiVersion").text(), "/")
	return group == "kyverno.io" && f.get("kind").text() == "PolicyException"
}

// convertException converts an exception from rules of converted policies.
func convertException(file string, root field, policies []Policy, settings ExceptionSettings) Exception {
	out := Exception{File: file, Line: root.line(), Name: root.get("metadata", "name").text()}
	refused := &refusals{file: file}
	spec := root.get("spec")
	refused.onlyKeys(spec, "exceptions", "match", "background")
	var selected []v1alpha1.ExceptionMatch
	refused.onlyKeys(spec.get("match"), "any", "all")
	if all := spec.get("match", "all"); all.exists() && len(all.items()) > 1 {
		refused.add(all, "match.all in a PolicyException", "merge the filters into one")
	}
	for _, filter := range slices.Concat(spec.get("match", "any").items(), spec.get("match", "all").items()) {
		selected = append(selected, exceptionMatch(refused, filter))
	}
	for _, from := range spec.get("exceptions").items() {
		refused.onlyKeys(from, "policyName", "ruleNames")
		for _, pkg := range exceptedPackages(refused, from, policies) {
			for _, match := range selected {
				out.Objects = append(out.Objects, v1alpha1.PolicyException{
					TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "PolicyException"},
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", out.Name, len(out.Objects))},
					Spec: v1alpha1.PolicyExceptionSpec{
						Source: settings.Source, Policy: pkg, Match: match,
						Reason:    "converted from the PolicyException " + out.Name + " of Kyverno",
						ExpiresAt: metav1.NewTime(settings.Expires),
					},
				})
			}
		}
	}
	if out.Refusals = refused.list; len(refused.list) > 0 {
		out.Objects = nil
	}
	return out
}

// exceptedPackages are the packages of the rules that an exception names.
func exceptedPackages(refused *refusals, from field, policies []Policy) (out []string) {
	name := from.get("policyName").text()
	if _, after, ok := strings.Cut(name, "/"); ok {
		name = after
	}
	index := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == name && p.Converted() })
	if index < 0 {
		refused.add(from.get("policyName"), "exception from a policy that is not converted", "convert the policy "+name+" in the same run")
		return nil
	}
	for _, wanted := range from.get("ruleNames").items() {
		text := strings.TrimPrefix(strings.TrimPrefix(wanted.text(), "autogen-cronjob-"), "autogen-")
		found := false
		for rule, pkg := range policies[index].Rules {
			if text == rule || text == "*" {
				found = true
				if !slices.Contains(out, pkg) {
					out = append(out, pkg)
				}
			}
		}
		if !found {
			refused.add(wanted, "exception from an unknown rule", "name a rule of the policy "+name)
		}
	}
	slices.Sort(out)
	return out
}

// exceptionMatch converts one filter.
func exceptionMatch(refused *refusals, f field) (out v1alpha1.ExceptionMatch) {
	refused.onlyKeys(f, "resources")
	resources := f.get("resources")
	refused.onlyKeys(resources, "kinds", "names", "namespaces", "operations")
	for _, item := range slices.Concat(resources.get("names").items(), resources.get("namespaces").items()) {
		if strings.Contains(item.text(), "?") {
			refused.add(item, "wildcard ? in a PolicyException", "use *")
		}
	}
	if operations := resources.get("operations"); operations.exists() {
		refused.add(operations, "operations in a PolicyException", "exceptions apply to all operations")
	}
	out.Names, out.Namespaces = resources.get("names").texts(), resources.get("namespaces").texts()
	for _, kind := range resources.get("kinds").items() {
		k := parseKind(kind.text())
		if k.subresource != "" || strings.ContainsAny(k.kind, "*?") {
			refused.add(kind, "kind in a PolicyException", "name a kind without wildcards and subresources")
		}
		if k.group == "*" {
			k.group = builtinGroup(admission.BuiltinResourcesWith(), k.kind)
		}
		if k.group == "*" {
			refused.add(kind, "kind without a group in a PolicyException", "write <group>/<version>/"+k.kind)
		}
		out.Kinds = append(out.Kinds, v1alpha1.ExceptionKind{Group: k.group, Kind: k.kind})
	}
	return out
}
