package kyverno

import (
	"slices"
	"strings"
)

// controllersOf are the kinds of workloads that Kyverno adds to the rules of a policy about Pods.
func controllersOf(policy field) []string {
	needed := false
	for _, rule := range policy.get("spec", "rules").items() {
		if rule.get("generate").exists() || rule.get("mutate", "patchesJson6902").exists() {
			return nil
		}
		for _, each := range rule.get("mutate", "foreach").items() {
			if each.get("patchesJson6902").exists() {
				return nil
			}
		}
		for _, block := range []string{"match", "exclude"} {
			f := rule.get(block)
			for _, one := range slices.Concat([]field{f}, f.get("any").items(), f.get("all").items()) {
				resources := one.get("resources")
				kinds := resources.get("kinds").texts()
				if resources.get("name").exists() || resources.get("names").exists() || resources.get("selector").exists() ||
					resources.get("annotations").exists() || len(kinds) > 1 && containsPod(kinds) {
					return nil
				}
				if block == "match" || block == "exclude" {
					needed = needed || slices.ContainsFunc(kinds, func(k string) bool { return k == "Pod" || slices.Contains(workloads, k) })
				}
			}
		}
	}
	if !needed {
		return nil
	}
	setting, ok := "", false
	for _, e := range policy.get("metadata", "annotations").entries() {
		if e.key == "pod-policies.kyverno.io/autogen-controllers" {
			setting, ok = e.value.text(), true
		}
	}
	switch {
	case !ok || strings.Contains(setting, "all"):
		return workloads
	case setting == "none" || setting == "":
		return nil
	}
	var out []string
	for _, kind := range strings.Split(setting, ",") {
		if slices.Contains(workloads, kind) {
			out = append(out, kind)
		}
	}
	return out
}

func containsPod(kinds []string) bool {
	return slices.ContainsFunc(kinds, func(k string) bool { return parseKind(k).kind == "Pod" })
}
