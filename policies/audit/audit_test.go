package audit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
)

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"u-1","managedFields":[{"manager":"x"}]},"spec":{"containers":[{"name":"c"}]}}`

var pods = admission.ServedResource{Version: "v1", Kind: "Pod", Name: "pods", Namespaced: true}

// auditorOf compiles the files of one source.
func auditorOf(t *testing.T, files map[string]string, excluded ...string) *audit.Auditor {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Revision: "r1", Files: files}, gatekeeper.Dialect)
	require.NoError(t, err)
	return audit.New(engine.NewSnapshot(admission.BuiltinResources(), set), excluded)
}

// policyText is a policy with METADATA in YAML, one line each.
func policyText(custom []string, rego string) string {
	text := "# METADATA\n# custom:\n"
	for _, line := range custom {
		text += "#   " + line + "\n"
	}
	return text + "package p\nimport rego.v1\n" + rego
}

const matchPods = `match: {kinds: [{group: "", kind: Pod}]}`

func TestOutcomes(t *testing.T) {
	t.Parallel()
	deny := `deny contains {"msg": "no", "field": "spec", "code": 422} if input.request.object.spec.containers`
	for name, c := range map[string]struct {
		custom  []string
		rego    string
		outcome audit.Outcome
		message string
	}{
		"deny":          {[]string{matchPods, "severity: high", "category: Safety"}, deny, audit.Fail, "no"},
		"warn":          {[]string{matchPods, "enforcement: warn"}, deny, audit.Warn, "no"},
		"audit":         {[]string{matchPods, "enforcement: audit"}, deny, audit.Fail, "no"},
		"rule warn":     {[]string{matchPods}, `warn contains "hm" if input.request.object.spec`, audit.Warn, "hm"},
		"audited warn":  {[]string{matchPods, "enforcement: audit"}, `warn contains "hm" if input.request.object.spec`, audit.Warn, "hm"},
		"error":         {[]string{matchPods}, `deny contains "x" if to_number("a") == 1`, audit.Error, "policy p cannot be evaluated: to_number"},
		"managedFields": {[]string{matchPods}, `deny contains "gone" if not input.request.object.metadata.managedFields`, audit.Fail, "gone"},
		"as created":    {[]string{matchPods}, `deny contains input.request.operation if true`, audit.Fail, "CREATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := auditorOf(t, map[string]string{"p.rego": policyText(c.custom, c.rego)}).Evaluate(t.Context(), []byte(pod), pods, engine.Options{})
			require.NoError(t, err)
			require.Len(t, found.Results, 1)
			result := found.Results[0]
			require.Equal(t, c.outcome, result.Outcome)
			require.True(t, strings.HasPrefix(result.Message, c.message), result.Message)
			require.Equal(t, "p", result.Policy)
			require.Equal(t, "enterprise", result.Scope)
			if name == "deny" {
				require.Equal(t, []any{"high", "Safety", "spec", 422, "p.rego:8"}, []any{result.Severity, result.Category, result.Field, result.Code, result.Location.String()})
			}
		})
	}
}

func TestNotAuditable(t *testing.T) {
	t.Parallel()
	template := func(rego string) map[string]string {
		return map[string]string{"t.yaml": `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8st}
spec:
  crd: {spec: {names: {kind: K8sT}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package k8st
` + "      " + strings.ReplaceAll(rego, "\n", "\n      ") + `
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sT
metadata: {name: c}
spec: {match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}}
`}
	}
	native := func(rego string, custom ...string) map[string]string {
		return map[string]string{"p.rego": policyText(append([]string{matchPods}, custom...), rego)}
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string // empty: auditable
	}{
		"oldObject":            {native(`deny contains "x" if input.request.oldObject.spec`), "p.rego:6: input.request.oldObject.spec"},
		"in a loop":            {native(`deny contains "x" if input.request.oldObject[_] == 1`), "p.rego:6: input.request.oldObject"},
		"old and new":          {native(`deny contains "x" if input.request.object.spec != input.request.oldObject.spec`), "p.rego:6: input.request.oldObject.spec"},
		"old in the message":   {native(`deny contains sprintf("was %v", [input.request.oldObject.metadata.name]) if input.name`), "p.rego:6: input.request.oldObject.metadata.name"},
		"an old variable":      {native("deny contains \"x\" if {\n\told := input.request.oldObject\n\told.spec.replicas > 1\n}"), "p.rego:8: input.request.oldObject.spec.replicas"},
		"an old helper":        {native("changed if input.request.object.spec != input.request.oldObject.spec\ndeny contains \"x\" if changed"), "p.rego:6: input.request.oldObject.spec"},
		"an old function":      {native("changed(r) if r.object.spec != r.oldObject.spec\ndeny contains \"x\" if changed(input.request)"), "p.rego:6: input.request.oldObject.spec"},
		"old in a set":         {native("gone contains k if some k, _ in input.request.oldObject.metadata.labels\ndeny contains k if some k in gone"), "p.rego:6: input.request.oldObject.metadata.labels"},
		"not null":             {native(`deny contains "x" if input.request.oldObject != null`), "p.rego:6: input.request.oldObject"},
		"not equal null":       {native(`deny contains "x" if not input.request.oldObject == null`), "p.rego:6: input.request.oldObject"},
		"not is_null":          {native(`deny contains "x" if not is_null(input.request.oldObject)`), "p.rego:6: input.request.oldObject"},
		"is_object":            {native(`deny contains "x" if is_object(input.request.oldObject)`), "p.rego:6: input.request.oldObject"},
		"no oldObject":         {native(`deny contains "x" if not input.request.oldObject.spec`), ""},
		"null":                 {native(`deny contains "x" if input.request.oldObject == null`), ""},
		"not unchanged":        {native("unchanged if input.request.object.spec == input.request.oldObject.spec\ndeny contains \"x\" if not unchanged"), ""},
		"an alternative":       {native("checked if input.request.operation == \"CREATE\"\nchecked if input.request.object.spec != input.request.oldObject.spec\ndeny contains \"x\" if checked"), ""},
		"a comprehension":      {native(`deny contains "x" if count([c | some c in input.request.oldObject.spec.containers]) == 0`), ""},
		"object.get":           {native(`deny contains "x" if object.get(input.request, ["oldObject", "spec"], {}) == {}`), ""},
		"userInfo":             {native("deny contains \"x\" if {\n\tnot input.request.userInfo.username\n}"), "p.rego:7: input.request.userInfo"},
		"options":              {native(`deny contains "x" if not input.request.options.force`), "p.rego:6: input.request.options"},
		"dryRun":               {native(`deny contains "x" if not input.request.dryRun`), "p.rego:6: input.request.dryRun"},
		"through a variable":   {native("deny contains \"x\" if {\n\tr := input.request\n\tr.oldObject.spec\n}"), "p.rego:8: input.request.oldObject.spec"},
		"through a function":   {native("is_user(r) if not r.userInfo.username\ndeny contains \"x\" if is_user(input.request)"), "p.rego:6: input.request.userInfo"},
		"by object.get":        {native(`deny contains "x" if object.get(input.request, "userInfo", {}) == {}`), "p.rego:6: input.request.userInfo"},
		"any field":            {native("some_field := \"x\"\ndeny contains \"x\" if {\n\tsome f\n\tinput.request[f] == 1\n}"), "p.rego:9: input.request[_]"},
		"another operation":    {native(`deny contains "x" if input.request.operation == "UPDATE"`), "p.rego:6: input.request.operation"},
		"not CREATE":           {native(`deny contains "x" if input.request.operation != "CREATE"`), "p.rego:6: input.request.operation"},
		"one of others":        {native(`deny contains "x" if input.request.operation in ["UPDATE", "DELETE"]`), "p.rego:6: input.request.operation"},
		"in a helper":          {native("gone if input.request.operation == \"DELETE\"\ndeny contains \"x\" if gone"), "p.rego:6: input.request.operation"},
		"match":                {map[string]string{"p.rego": policyText([]string{"match:", "  operations: [UPDATE]"}, `deny contains "x" if input.name`)}, "p.rego:4: custom.match.operations"},
		"template, oldObject":  {template("violation[{\"msg\": \"x\"}] { input.review.oldObject.spec }"), "t.yaml:10: input.review.oldObject.spec"},
		"template, changed":    {template("changed(r) { r.object.spec != r.oldObject.spec }\nviolation[{\"msg\": \"x\"}] { changed(input.review) }"), "t.yaml:10: input.review.oldObject.spec"},
		"template, unchanged":  {template("unchanged { input.review.object.spec == input.review.oldObject.spec }\nviolation[{\"msg\": \"x\"}] { not unchanged }"), ""},
		"template, new object": {template("is_update(r) { r.oldObject.spec }\nviolation[{\"msg\": \"x\"}] { not is_update(input.review) }"), ""},
		"template, userInfo":   {template("violation[{\"msg\": \"x\"}] { not input.review.userInfo.username }"), "t.yaml:10: input.review.userInfo"},
		"template, operation":  {template("violation[{\"msg\": \"x\"}] { input.review.operation == \"DELETE\" }"), "t.yaml:10: input.review.operation"},
		"template, but CREATE": {template("is_update(r) { r.operation == \"UPDATE\" }\nviolation[{\"msg\": \"x\"}] { not is_update(input.review) }"), ""},
		"CREATE":               {native(`deny contains "x" if input.request.operation == "CREATE"`), ""},
		"CREATE or UPDATE":     {native(`deny contains "x" if input.request.operation in ["CREATE", "UPDATE"]`), ""},
		"the object's fields":  {native(`deny contains "x" if not input.request.object.spec.options.dryRun`), ""},
		"in another rule":      {native("other if input.request.oldObject\ndeny contains \"x\" if input.name"), ""},
		"in a patch":           {native("patch contains {\"op\": \"add\", \"path\": \"/metadata/labels/a\", \"value\": \"b\"} if input.request.userInfo.username\ndeny contains \"x\" if input.name"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auditor := auditorOf(t, c.files)
			require.Len(t, auditor.Policies(), 1)
			found, err := auditor.Evaluate(t.Context(), []byte(pod), pods, engine.Options{})
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, auditor.Policies()[0].NotAuditable)
				require.Len(t, found.Results, 1, "it is evaluated")
				return
			}
			require.Len(t, auditor.Policies()[0].NotAuditable, 1)
			require.Equal(t, c.want, auditor.Policies()[0].NotAuditable[0].String())
			require.Empty(t, found.Results, "what depends on the request is not a violation")
		})
	}
}

// The rules of a policy are apart: one that reads the user does not hide the others.
func TestOtherRulesOfAPolicyAreAudited(t *testing.T) {
	t.Parallel()
	auditor := auditorOf(t, map[string]string{"p.rego": policyText([]string{matchPods}, "deny contains \"anonymous\" if not input.request.userInfo.username\ndeny contains \"no team\" if not input.request.object.metadata.labels.team")})
	found, err := auditor.Evaluate(t.Context(), []byte(pod), pods, engine.Options{})
	require.NoError(t, err)
	require.Len(t, found.Results, 1)
	require.Equal(t, "no team", found.Results[0].Message)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	names := func(files map[string]string) (out []string) {
		for _, target := range auditorOf(t, files).Targets() {
			out = append(out, target.Resource.Version+" "+target.Resource.Name)
		}
		return out
	}
	require.Equal(t, []string{"v1 pods"}, names(map[string]string{"p.rego": policyText([]string{matchPods}, `deny contains "x"`)}))
	expanded := names(map[string]string{"p.rego": policyText([]string{`match: {kinds: [{group: "", kind: Pod}], expand: deny}`}, `deny contains "x"`)})
	require.Contains(t, expanded, "v1 deployments")
	require.Contains(t, expanded, "v1 cronjobs")
	require.Equal(t, []string{"v1 horizontalpodautoscalers"}, names(map[string]string{"p.rego": policyText([]string{`match: {kinds: [{group: autoscaling, version: v1, kind: HorizontalPodAutoscaler}]}`}, `deny contains "x"`)}))
	require.Empty(t, names(map[string]string{"p.rego": policyText([]string{`match: {kinds: [{group: "", kind: Pod}], operations: [DELETE]}`}, `deny contains "x"`)}))
	all := names(map[string]string{"p.rego": "package p\nimport rego.v1\ndeny contains \"x\""})
	require.Contains(t, all, "v1 namespaces")
	for _, never := range []string{"v1 events", "v1 leases", "v1 nodes", "v1 tokenreviews"} {
		require.NotContains(t, all, never)
	}
}

// What admission never reviews is never reported either.
func TestExcludedObjects(t *testing.T) {
	t.Parallel()
	auditor := auditorOf(t, map[string]string{"p.rego": "package p\nimport rego.v1\ndeny contains \"x\""}, "kube-system")
	namespaces := admission.ServedResource{Version: "v1", Kind: "Namespace", Name: "namespaces"}
	requests := admission.ServedResource{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest", Name: "certificatesigningrequests"}
	for text, resource := range map[string]admission.ServedResource{
		strings.Replace(pod, "shop", "kube-system", 1):                             pods,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}`: namespaces,
		`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"a"},"spec":{"signerName":"kubernetes.io/kubelet-serving"}}`: requests,
	} {
		found, err := auditor.Evaluate(t.Context(), []byte(text), resource, engine.Options{})
		require.NoError(t, err)
		require.True(t, found.Excluded, text)
	}
	found, err := auditor.Evaluate(t.Context(), []byte(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"a"},"spec":{"signerName":"example.com/x"}}`), requests, engine.Options{})
	require.NoError(t, err)
	require.Len(t, found.Results, 1)
}

func TestUnreadableObjects(t *testing.T) {
	t.Parallel()
	auditor := auditorOf(t, map[string]string{"p.rego": policyText([]string{matchPods}, `deny contains "x"`)})
	for _, text := range []string{"", "[]", `{"kind":`, `{"apiVersion":"v1","kind":"Pod","kind":"Pod"}`} {
		_, err := auditor.Evaluate(t.Context(), []byte(text), pods, engine.Options{})
		require.Error(t, err, text)
	}
}
