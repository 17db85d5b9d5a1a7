package orloj

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// stored is the spec that is stored of a spec in JSON, defaults included.
func stored(t *testing.T, kind, spec string) string {
	t.Helper()
	compiled, err := rules.New()
	require.NoError(t, err)
	all := allKinds()
	object := all[indexOf(all, kind)].object()
	require.NoError(t, json.Unmarshal([]byte(`{"kind":"`+kind+`","metadata":{"name":"a","namespace":"n","uid":"u"},"spec":`+spec+`}`), object))
	verdict, err := compiled.Evaluate(t.Context(), object, []byte(`{"metadata":{"name":"n"}}`), rules.Restricted)
	require.NoError(t, err)
	require.Empty(t, verdict.Denials)
	made, err := row(kind, &v1.Agent{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"}}, verdict.Object)
	require.NoError(t, err)
	out, err := json.Marshal(made.Spec)
	require.NoError(t, err)
	return string(out)
}

func indexOf(all []kind, name string) int {
	return slices.IndexFunc(all, func(k kind) bool { return k.Kind == name })
}

// TestSpecsAreStoredAsOrlojdWritesThem: it reads them without looking at their form.
func TestSpecsAreStoredAsOrlojdWritesThem(t *testing.T) {
	for name, c := range map[string]struct{ kind, spec, want string }{
		"agent": {
			"Agent", `{"model_ref":" m ","prompt":" p ","tools":["b","a","b"],"allowed_tools":["x"," X",""],"roles":["r","R"],"fallback_model_refs":["f"," f "],
				"memory":{"ref":" notes ","allow":["memory.Read","read","write"]},
				"execution":{"profile":" Contract ","tool_sequence":["s","S"],"required_output_markers":["m","M","m"]},"limits":{"max_steps":0,"timeout":"1m"}}`,
			`{"model_ref":"m","prompt":" p ","tools":["b","a","b"],"allowed_tools":["x"],"roles":["r"],"fallback_model_refs":["f"],
				"memory":{"ref":"notes","allow":["read","write"]},
				"execution":{"profile":"contract","tool_sequence":["s"],"required_output_markers":["m","M"],"duplicate_tool_call_policy":"short_circuit","on_contract_violation":"non_retryable_error","tool_use_behavior":"run_llm_again"},
				"limits":{"max_steps":10,"timeout":"1m"}}`,
		},
		"agent system": {
			"AgentSystem", `{"graph":{"a":{"next":" b ","edges":[{"to":" b "},{"to":" "},{"to":"c","condition":{"output_contains":" x "}}],"join":{"mode":"Quorum"}}},"a2a":{"auth":"Public"}}`,
			`{"graph":{"a":{"next":"b","edges":[{"to":"b"},{"to":"c","condition":{"output_contains":"x"}}],"join":{"mode":"quorum"}}},"a2a":{"auth":"public"}}`,
		},
		"tool": {
			"Tool", `{"type":"HTTP","risk_level":"High","capabilities":["a"," A "],"operation_classes":["Read","read",""],"auth":{"profile":"Bearer","secretRef":" s ","scopes":["x",""," y "]}}`,
			`{"type":"http","risk_level":"high","capabilities":["a"],"operation_classes":["read"],"auth":{"profile":"bearer","secretRef":"s","scopes":["x","y"]},
				"runtime":{"timeout":"30s","isolation_mode":"sandboxed","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`,
		},
		"tool without anything": {
			"Tool", `{}`,
			`{"type":"http","risk_level":"low","operation_classes":["read"],"auth":{},"runtime":{"timeout":"30s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`,
		},
		"server": {
			"McpServer", `{"transport":"Stdio","command":" c ","env":[{"name":" n ","value":" v "}],"tool_filter":{"include":["a",""]}}`,
			`{"transport":"stdio","command":"c","env":[{"name":"n","value":"v"}],"tool_filter":{"include":["a"]},"auth":{},"reconnect":{"max_attempts":3,"backoff":"2s"},"idle_timeout":"0"}`,
		},
		"endpoint": {
			"ModelEndpoint", `{"provider":" OpenAI ","default_model":" m ","options":{" Temperature ":" 0 "," ":"x"}}`,
			`{"provider":"openai","default_model":"m","options":{"temperature":"0"},"auth":{},"base_url":"https://api.openai.com/v1","allowPrivate":false}`,
		},
		"memory":       {"Memory", `{"type":" t "}`, `{"type":" t ","auth":{}}`},
		"agent policy": {"AgentPolicy", `{"apply_mode":"Global","max_tokens_per_run":5}`, `{"apply_mode":"global","max_tokens_per_run":5}`},
		"secret":       {"Secret", `{"data":{"a":"aGVsbG8=","b":"eA=="},"stringData":{" b ":"plain","c":"more"}}`, `{"data":{"a":"aGVsbG8=","b":"cGxhaW4=","c":"bW9yZQ=="}}`},
		"no secret":    {"Secret", `{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) { require.JSONEq(t, c.want, stored(t, c.kind, c.spec)) })
	}
}

// Defect O8: annotations in which tools keep the object carry the values of Secrets.
func TestAnnotationsOfRows(t *testing.T) {
	object := &v1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "s", Namespace: "gitops", UID: "u", Labels: map[string]string{"l": "v"},
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"k":"secret"}}`,
			"objectset.rio.cattle.io/applied":                  "x", "kapp.k14s.io/original": "x",
			"lintel.dev/owner-uid": "somebody else", "orloj.dev/target-namespace": " production ", "mine": "yes",
		},
	}}
	made, err := row("Secret", object, []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, "production/s", made.Key())
	require.Equal(t, "gitops", made.SourceNamespace)
	require.Equal(t, "u", made.Owner)
	require.Equal(t, map[string]string{"l": "v"}, made.Labels)
	require.Equal(t, map[string]string{"orloj.dev/target-namespace": " production ", "mine": "yes"}, made.Annotations)
	_, err = row("Secret", object, []byte(`{`))
	require.Error(t, err)
}

func TestEveryKindHasItsForm(t *testing.T) {
	for _, k := range allKinds() {
		_, known := allForms[k.Kind]
		require.True(t, known, k.Kind)
		require.NotEmpty(t, k.Name, "a table")
		require.Implements(t, (*client.ObjectList)(nil), k.list())
		require.NotNil(t, k.object())
		require.NotEmpty(t, rules.ResourceOf(k.Kind))
	}
	require.Len(t, allForms, len(allKinds()))
}
