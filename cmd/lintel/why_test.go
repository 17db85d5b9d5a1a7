package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/review"
	"github.com/lintel-policy/lintel/policies/engine"
)

const whyPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: web, image: x}]}\n"

func whyFolder(t *testing.T) string {
	t.Helper()
	match := func(match, rest string) string { return "# METADATA\n# custom:\n#   match: {" + match + "}\n" + rest }
	return folder(t, map[string]string{
		"a.rego": match(`kinds: [{group: "", kind: Pod}]`, "package a\ndeny contains \"no\"\nwarn contains \"careful\""),
		"b.rego": match(`kinds: [{group: "", kind: Pod}], namespaces: ["team-*"]`, "package b\ndeny contains \"no\""),
		"c.rego": match(`namespaceSelector: {matchLabels: {a: b}}`, "package c\ndeny contains \"no\""),
		"d.rego": match(`kinds: [{group: "", kind: Pod}]`, "package d\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/d\", \"value\": \"x\"}"),
		"e.rego": match(`kinds: [{group: "", kind: Service}]`, "package e\ndeny contains \"no\"\npatch contains {\"op\": \"add\", \"path\": \"/a\", \"value\": 1}"),
	})
}

func TestWhy(t *testing.T) {
	found := lintel(t, whyPod, "why", "-p", whyFolder(t), "-f", "-")
	require.Equal(t, 1, found.code, found.stderr)
	lines := strings.Split(found.stdout, "\n")
	require.Equal(t, "Pod shop/web: denied by a; 2 policies matched, 1 could not be asked, 2 did not", lines[0])
	for _, want := range []string{
		"\n    a  001  denies\n      deny       no [a deny, a.rego:5, 001@",
		"\n      warn       careful [a warn, a.rego:6, 001@",
		"\n    d  001  changes the object\n      patch      add /metadata/labels/d = \"x\"\n",
		"\n  could not be asked\n    c  001  its namespaceSelector needs the labels of namespace \"shop\"\n",
		"\n    b  001  namespaces  namespace \"shop\" is not one of team-*\n",
		"\n    e  001  kinds       Pod is not one of Service\n",
	} {
		require.Contains(t, found.stdout, want)
	}
	require.Equal(t, 1, strings.Count(found.stdout, "\n    e "), "what holds for all that a policy could be asked is said once")
}

func TestWhyAsJSON(t *testing.T) {
	found := lintel(t, whyPod, "why", "-p", whyFolder(t), "-f", "-", "-o", "json")
	require.Equal(t, 1, found.code, found.stderr)
	require.NotContains(t, found.stdout, "null")
	var report review.WhyReport
	decoder := json.NewDecoder(strings.NewReader(found.stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&report))
	require.Len(t, report.Results, 1)
	result := report.Results[0]
	require.False(t, result.Allowed)
	require.Equal(t, 2, result.Matched)
	require.Equal(t, 2, result.NotMatched)
	require.Len(t, result.Undecided, 1)
	answers := map[string]string{}
	for _, policy := range result.Policies {
		answers[policy.Policy] = string(policy.Answer) + " " + policy.Condition
	}
	require.Equal(t, map[string]string{"a": "asked ", "b": "not matched namespaces", "c": "cannot be asked ", "d": "asked ", "e": "not matched kinds"}, answers)
}

// TestWhyNamesWhatDoesNotHold: of each rule of a policy that has nothing to say.
func TestWhyNamesWhatDoesNotHold(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": "package p\n\ndeny contains \"no\" if {\n\tinput.name == \"web\"\n\tcount([c |\n\t\tsome c in input.request.object.spec.containers\n\t]) > 1\n\tinput.kind\n}\n\nwarn contains \"no\" if input.name == \"other\"\n"})
	found := lintel(t, whyPod, "why", "-p", dir, "-f", "-")
	require.Zero(t, found.code, found.stderr)
	require.Contains(t, found.stdout, "has nothing against it\n      no deny    p.rego:5 does not hold: count([c | …\n      no warn    p.rego:11 does not hold: input.name == \"other\"\n")
	found = lintel(t, whyPod, "why", "-p", dir, "-f", "-", "-o", "json")
	var report review.WhyReport
	require.NoError(t, json.Unmarshal([]byte(found.stdout), &report))
	rules := report.Results[0].Policies[0].Rules
	require.Len(t, rules, 2)
	require.Equal(t, []review.Condition{
		{Text: "input.name == \"web\"", Location: "p.rego:4", Outcome: engine.ConditionHeld},
		{Text: "count([c |\n\t\tsome c in input.request.object.spec.containers\n\t]) > 1", Location: "p.rego:5", Outcome: engine.ConditionDidNotHold},
		{Text: "input.kind", Location: "p.rego:8", Outcome: engine.ConditionNotReached},
	}, rules[0].Conditions)
}

func TestWhySaysTheSameAsCheck(t *testing.T) {
	arguments := []string{"-p", samples + "policies", "-f", samples + "manifests", "--cluster", samples + "cluster", "-o", "json"}
	checked := lintel(t, "", append([]string{"check"}, arguments...)...)
	explained := lintel(t, "", append([]string{"why"}, arguments...)...)
	require.Equal(t, checked.code, explained.code)
	want := decodeReport(t, checked.stdout)
	var have review.WhyReport
	require.NoError(t, json.Unmarshal([]byte(explained.stdout), &have))
	require.Equal(t, want.Summary, have.Summary)
	require.Len(t, want.Results, 20)
	for i, result := range want.Results {
		require.Equal(t, result.Deny, have.Results[i].Deny)
		require.Equal(t, result.Warn, have.Results[i].Warn)
		require.Equal(t, result.Patch, have.Results[i].Patch)
	}
}

// TestWhyOfAConstraint: the option that applies it to Pod templates is not a separate setting.
func TestWhyOfAConstraint(t *testing.T) {
	dir := folder(t, map[string]string{"names.yaml": namesTemplate + "spec: {match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}}\n"})
	found := lintel(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", "why", "-p", dir, "-f", "-")
	require.Zero(t, found.code, found.stderr)
	require.Contains(t, found.stdout, "Deployment.apps is not one of Pod; an ExpansionTemplate for the kind, in the same source, would make it review the Pod template\n")
}

func TestWhyUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":             {nil, "no policies"},
		"no objects":          {[]string{"-p", "x"}, "no manifests"},
		"both":                {[]string{"--live", "-p", "x", "-f", "y"}, "--live takes policies and objects from the cluster: leave out --policies"},
		"object of no one's":  {[]string{"-p", "x", "pod/web"}, `"pod/web" is an object of a cluster: give --live`},
		"a format of check's": {[]string{"-p", "x", "-f", "y", "-o", "sarif"}, "--output sarif is not text or json"},
		"kubeconfig":          {[]string{"-p", "x", "-f", "y", "--kubeconfig", "z"}, "--kubeconfig is about a cluster: give --live, too"},
	} {
		t.Run(name, func(t *testing.T) {
			found := lintel(t, "", append([]string{"why"}, c.args...)...)
			require.Equal(t, 2, found.code)
			require.Contains(t, found.stderr, c.want)
		})
	}
}

// TestWhyOfASigningRequest: the rules for signing are evaluated in the cluster, and a request for a
// certificate is never reported as admitted here.
func TestWhyOfASigningRequest(t *testing.T) {
	const request = "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: web}\nspec: {signerName: certificateauthorities.openvox.voxpupuli.org/puppet.main, request: aGVsbG8=, usages: [client auth]}\n"
	for name, args := range map[string][]string{
		"without policies": {"why", "-f", "-"},
		"with policies":    {"why", "-p", folder(t, map[string]string{"b.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\npackage b\ndeny contains \"no\""}), "-f", "-"},
	} {
		found := lintel(t, request, args...)
		require.Equal(t, 2, found.code, name)
		require.Contains(t, found.stdout, "CertificateSigningRequest web: undecided", name)
		require.Contains(t, found.stdout, "SigningPolicies of its CertificateAuthority are evaluated in the cluster only", name)
	}
	found := lintel(t, "apiVersion: openzro.io/v1\nkind: OZGroup\nmetadata: {name: g, namespace: net}\nspec: {name: g}\n", "why", "-f", "-")
	require.Equal(t, 2, found.code)
	require.Contains(t, found.stderr, "`lintel check` evaluates them")
}
