package orloj

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/test/reviews"
)

// change is what becomes of a good object: values by paths such as spec.limits.timeout;
// nil takes away.
type change map[string]any

// goodSpecs are admitted.
var goodSpecs = map[string]string{
	"Agent":         `{"model_ref":"m","prompt":"p"}`,
	"AgentPolicy":   `{}`,
	"AgentSystem":   `{"agents":["a"],"graph":{"a":{"edges":[{"to":"b"}]},"b":{}}}`,
	"McpServer":     `{"transport":"stdio","command":"c"}`,
	"Memory":        `{}`,
	"ModelEndpoint": `{"default_model":"m"}`,
	"Secret":        `{"data":{"k":"aGVsbG8="}}`,
	"Tool":          `{}`,
}

// makeObject is a valid object with a change.
func makeObject(t *testing.T, kind string, c change) map[string]any {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"orloj.dev/v1","kind":%q,"metadata":{"name":"o","namespace":"own"},"spec":%s}`, kind, goodSpecs[kind])
	var o map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &o))
	for path, value := range c {
		at := o
		steps := strings.Split(path, ">")
		for _, step := range steps[:len(steps)-1] {
			inner, ok := at[step].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[step] = inner
			}
			at = inner
		}
		if value == nil {
			delete(at, steps[len(steps)-1])
			continue
		}
		at[steps[len(steps)-1]] = value
	}
	return o
}

func review(t *testing.T, o map[string]any) *admission.Review {
	t.Helper()
	kind := o["kind"].(string)
	name, _ := o["metadata"].(map[string]any)["name"].(string)
	return reviews.MakeCreation(v1.SchemeGroupVersion.WithKind(kind), ResourceOf(kind), o).Named("own", name).Obj(t)
}

func options(t *testing.T, o map[string]any, facts Facts, annotations map[string]string) engine.Options {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	read, err := ReadObject(text, "own")
	require.NoError(t, err)
	facts.Target = read.Target()
	known, err := engine.ReadFacts(facts)
	require.NoError(t, err)
	namespace, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "own", "annotations": annotations}})
	require.NoError(t, err)
	readNamespace, err := engine.ReadNamespace(namespace)
	require.NoError(t, err)
	return engine.Options{Facts: known, Namespace: readNamespace}
}

// denials are the words by which the rules deny an object after mutation.
func denials(t *testing.T, rules *Rules, o map[string]any, facts Facts, annotations map[string]string) []string {
	t.Helper()
	with := options(t, o, facts, annotations)
	mutation := rules.Snapshot.Mutate(t.Context(), review(t, o), with)
	require.Empty(t, mutation.Denials)
	words := []string{}
	for _, denial := range rules.Snapshot.Validate(t.Context(), mutation.Review, with).Denials {
		require.False(t, denial.Error, denial.Words)
		require.True(t, strings.HasPrefix(denial.Words, denial.Field+":"), "%s has its field %s in front", denial.Words, denial.Field)
		words = append(words, denial.Words)
	}
	slices.Sort(words)
	return words
}

func newRules(t *testing.T) *Rules {
	t.Helper()
	rules, err := New()
	require.NoError(t, err)
	return rules
}

func TestGoodObjectsAreAdmitted(t *testing.T) {
	rules := newRules(t)
	for kind := range goodSpecs {
		require.Empty(t, denials(t, rules, makeObject(t, kind, nil), Facts{Mapping: Restricted}, nil), kind)
	}
}

// TestEachRuleOfAFieldIsEnforced breaks every rule once, each with the path of the field.
func TestEachRuleOfAFieldIsEnforced(t *testing.T) {
	rules := newRules(t)
	deep := map[string]any{"type": "object"}
	for range 10 {
		deep = map[string]any{"type": "object", "properties": deep}
	}
	graph := func(node any) change { return change{"spec>graph": map[string]any{"a": node}} }
	condition := func(c map[string]any) change {
		return graph(map[string]any{"edges": []any{map[string]any{"to": "b", "condition": c}}})
	}
	for kind, cases := range map[string][]struct {
		change change
		denied string
	}{
		"Agent": {
			{change{"spec>model_ref": " "}, "spec.model_ref: a value is needed: it names the ModelEndpoint that answers"},
			{change{"spec>model": "gpt"}, "spec.model: it is not for manifests; name a ModelEndpoint in spec.model_ref"},
			{change{"spec>prompt": nil}, "spec.prompt: a value is needed"},
			{change{"spec>memory": map[string]any{"ref": "m", "allow": []any{"memory.read", "eat"}}}, `spec.memory.allow[1]: "eat" is not one of ingest, list, read, search, write`},
			{change{"spec>memory": map[string]any{"allow": []any{"read"}}}, "spec.memory.ref: a value is needed: spec.memory.allow needs it"},
			{change{"spec>execution>profile": "fast"}, `spec.execution.profile: "fast" is not one of contract, dynamic`},
			{change{"spec>execution>profile": "Contract"}, "spec.execution.tool_sequence: a value is needed, since spec.execution.profile is contract"},
			{change{"spec>execution>duplicate_tool_call_policy": "x"}, `spec.execution.duplicate_tool_call_policy: "x" is not one of deny, short_circuit`},
			{change{"spec>execution>on_contract_violation": "x"}, `spec.execution.on_contract_violation: "x" is not one of non_retryable_error, observe`},
			{change{"spec>execution>tool_use_behavior": "x"}, `spec.execution.tool_use_behavior: "x" is not one of run_llm_again, stop_on_first_tool`},
			{change{"spec>execution>output_schema": map[string]any{"properties": map[string]any{}}}, `spec.execution.output_schema: its root has no "type"`},
			{change{"spec>execution>output_schema": map[string]any{"type": strings.Repeat("x", 65536)}}, "spec.execution.output_schema: it has more than 65536 bytes"},
			{change{"spec>execution>output_schema": deep}, "spec.execution.output_schema: it is nested more than 10 deep"},
			{change{"spec>limits>timeout": "soon"}, `spec.limits.timeout: "soon" is not a duration such as 30s or 1m30s`},
			{change{"spec>limits>timeout": "3000000h"}, `spec.limits.timeout: "3000000h" is longer than durations can be, 2562047h`},
		},
		"AgentSystem": {
			{change{"spec>a2a>auth": "x"}, `spec.a2a.auth: "x" is not one of bearer, public`},
			{graph(map[string]any{"join": map[string]any{"mode": "x"}}), `spec.graph.a.join.mode: "x" is not one of quorum, wait_for_all`},
			{graph(map[string]any{"delegate_join": map[string]any{"on_failure": "x"}}), `spec.graph.a.delegate_join.on_failure: "x" is not one of continue_partial, deadletter, skip`},
			{graph(map[string]any{"join": map[string]any{"quorum_percent": 101}}), "spec.graph.a.join.quorum_percent: 101 is not between 0 and 100"},
			{graph(map[string]any{"join": map[string]any{"quorum_percent": -1}}), "spec.graph.a.join.quorum_percent: -1 is not between 0 and 100"},
			{graph(map[string]any{"delegates": []any{map[string]any{"to": "a"}}}), "spec.graph.a.delegates[0].to: a node cannot delegate to itself"},
			{graph(map[string]any{"review": map[string]any{}}), "spec.graph.a.review.checkpoint_id: a value is needed"},
			{graph(map[string]any{"review": map[string]any{"checkpoint_id": "c", "ttl": "x"}}), `spec.graph.a.review.ttl: "x" is not a duration such as 30s or 1m30s`},
			{change{"spec>completion_review": map[string]any{"checkpoint_id": "C "}, "spec>graph>a>review": map[string]any{"checkpoint_id": "c"}},
				`spec.graph.a.review.checkpoint_id: "c" is at spec.completion_review.checkpoint_id already; each has one of its own`},
			{condition(map[string]any{"output_matches": "("}), `spec.graph.a.edges[0].condition.output_matches: "(" is not a regular expression`},
			{condition(map[string]any{"output_matches": strings.Repeat("x", 513)}), "spec.graph.a.edges[0].condition.output_matches: the pattern is longer than 512 characters"},
			{condition(map[string]any{"equals": "x"}), "spec.graph.a.edges[0].condition.output_json_path: a value is needed: equals compares the value at this path"},
			{condition(map[string]any{"equals": "x", "output_json_path": "route"}), `spec.graph.a.edges[0].condition.output_json_path: "route" does not start with $.`},
			{condition(map[string]any{"output_json_path": "$.route"}), "spec.graph.a.edges[0].condition: output_json_path finds a value, and none of contains, equals, greater_than, less_than, not_equals compares it"},
			{condition(map[string]any{"output_json_path": "$.n", "greater_than": "many"}), `spec.graph.a.edges[0].condition.greater_than: "many" is not a number`},
			{condition(map[string]any{"default": true, "output_contains": "x"}), "spec.graph.a.edges[0].condition: default stands alone, and here is output_contains, too"},
			{graph(map[string]any{"delegates": []any{
				map[string]any{"to": "b", "condition": map[string]any{"default": true}}, map[string]any{"to": "c", "condition": map[string]any{"default": true}},
			}}), "spec.graph.a.delegates: there are 2 default edges, and one may be"},
		},
		"Tool": {
			{change{"spec>type": "fax"}, `spec.type: "fax" is not one of a2a, cli, external, grpc, http, mcp, queue, wasm, webhook-callback`},
			{change{"spec>risk_level": "x"}, `spec.risk_level: "x" is not one of critical, high, low, medium`},
			{change{"spec>operation_classes": []any{"read", "eat"}}, `spec.operation_classes[1]: "eat" is not one of admin, delete, read, write`},
			{change{"spec>runtime>timeout": "x"}, `spec.runtime.timeout: "x" is not a duration such as 30s or 1m30s`},
			{change{"spec>runtime>isolation_mode": "x"}, `spec.runtime.isolation_mode: "x" is not one of container, kubernetes, none, sandboxed, wasm`},
			{change{"spec>runtime>retry>backoff": "5"}, `spec.runtime.retry.backoff: "5" is not a duration such as 30s or 1m30s`},
			{change{"spec>runtime>retry>max_backoff": "x"}, `spec.runtime.retry.max_backoff: "x" is not a duration such as 30s or 1m30s`},
			{change{"spec>runtime>retry>jitter": "x"}, `spec.runtime.retry.jitter: "x" is not one of equal, full, none`},
			{change{"spec>type": "mcp", "spec>mcp_tool_name": "t"}, "spec.mcp_server_ref: a value is needed, since spec.type is mcp"},
			{change{"spec>type": "mcp", "spec>mcp_server_ref": "s"}, "spec.mcp_tool_name: a value is needed, since spec.type is mcp"},
			{change{"spec>type": "cli", "spec>cli>image": "i"}, "spec.cli.command: a value is needed, since spec.type is cli"},
			{change{"spec>type": "cli", "spec>cli>command": "c"}, "spec.cli.image: a value is needed, unless spec.runtime.isolation_mode is none"},
			{change{"spec>cli>image_pull_secret": "s"}, "spec.cli.image: a value is needed: spec.cli.image_pull_secret is used to pull it"},
			{change{"spec>cli>output": "x"}, `spec.cli.output: "x" is not one of both, stderr, stdout`},
			{change{"spec>cli>env_from": []any{map[string]any{"secretRef": "s"}}}, "spec.cli.env_from[0].name: a value is needed"},
			{change{"spec>cli>env_from": []any{map[string]any{"name": "n"}}}, "spec.cli.env_from[0].secretRef: a value is needed"},
			{change{"spec>type": "cli", "spec>cli>command": "c", "spec>cli>image": "i", "spec>auth>secretRef": "s"}, "spec.auth: tools of type cli have none; use spec.cli.env_from"},
			{change{"spec>type": "wasm", "spec>wasm>enable_wasi": true}, "spec.wasm.module: a value is needed, since spec.type is wasm"},
			{change{"spec>type": "wasm", "spec>wasm>module": "m"}, "spec.wasm.enable_wasi: a value is needed: true or false"},
			{change{"spec>type": "a2a"}, "spec.a2a.agent_url: a value is needed, since spec.type is a2a"},
			{change{"spec>auth>profile": "x", "spec>auth>secretRef": "s"}, `spec.auth.profile: "x" is not one of api_key_header, basic, bearer, oauth2_client_credentials`},
			{change{"spec>auth>profile": "basic"}, "spec.auth.secretRef: a value is needed, since spec.auth.profile is set"},
			{change{"spec>auth>profile": "api_key_header", "spec>auth>secretRef": "s"}, "spec.auth.headerName: a value is needed, since spec.auth.profile is api_key_header"},
			{change{"spec>auth>profile": "oauth2_client_credentials", "spec>auth>secretRef": "s"}, "spec.auth.tokenURL: a value is needed, since spec.auth.profile is oauth2_client_credentials"},
		},
		"McpServer": {
			{change{"spec>transport": nil}, "spec.transport: a value is needed: stdio or http"},
			{change{"spec>transport": "fax"}, `spec.transport: "fax" is not one of http, stdio`},
			{change{"spec>command": nil}, "spec.command: a value is needed (or spec.image), since spec.transport is stdio"},
			{change{"spec>transport": "http"}, "spec.endpoint: a value is needed, since spec.transport is http"},
			{change{"spec>transport": "http", "spec>endpoint": "e", "spec>image": "i"}, "spec.image: it is for spec.transport stdio alone"},
			{change{"spec>image_pull_secret": "s"}, "spec.image: a value is needed: spec.image_pull_secret is used to pull it"},
			{change{"spec>env": []any{map[string]any{"value": "v"}}}, "spec.env[0].name: a value is needed"},
			{change{"spec>image": "i", "spec>env": []any{map[string]any{"name": "n", "mountPath": "p"}}}, `spec.env[0].mountPath: "p" does not start with /`},
			{change{"spec>env": []any{map[string]any{"name": "n", "mountPath": "/p"}}}, "spec.image: a value is needed: spec.env[0].mountPath is a path in it"},
			{change{"spec>idle_timeout": "x"}, `spec.idle_timeout: "x" is not a duration such as 30s or 1m30s`},
			{change{"spec>reconnect>backoff": "x"}, `spec.reconnect.backoff: "x" is not a duration such as 30s or 1m30s`},
			{change{"spec>default_tool_runtime>isolation_mode": "x"}, `spec.default_tool_runtime.isolation_mode: "x" is not one of container, kubernetes, none, sandboxed, wasm`},
		},
		"ModelEndpoint": {{change{"spec>default_model": nil}, "spec.default_model: a value is needed"}},
		"AgentPolicy":   {{change{"spec>apply_mode": "x"}, `spec.apply_mode: "x" is not one of global, scoped`}},
		"Secret": {
			{change{"spec>data>k": "hällo"}, "spec.data.k: it is not base64; use spec.stringData for plain text"},
			{change{"spec>data>k": " "}, "spec.data.k: it is empty"},
			{change{"spec>stringData>k": ""}, "spec.stringData.k: it is empty"},
			{change{"spec>stringData> ": "x"}, "spec.stringData: a key is empty"},
		},
		// Of any kind. Defect O16: Kubernetes takes names and lengths that the store does not hold.
		"Memory": {
			{change{"metadata>name": "Status"}, `metadata.name: "Status" is a path of orlojd's API; take another name`},
			{change{"metadata>name": strings.Repeat("n", 250)}, fmt.Sprintf("metadata.name: the key own/%s has 254 characters, and the store holds 253; take a shorter name", strings.Repeat("n", 250))},
			{change{"metadata>annotations>orloj.dev/target-namespace": "a/b"}, `metadata.annotations[orloj.dev/target-namespace]: "a/b" is not a namespace; letters, digits, -, _ and . make one`},
			{change{"metadata>annotations>orloj.dev/target-namespace": ""}, `metadata.annotations[orloj.dev/target-namespace]: "" is not a namespace; letters, digits, -, _ and . make one`},
			{change{"metadata>annotations>orloj.dev/target-namespace": "x'; rm -rf ~; '"}, `metadata.annotations[orloj.dev/target-namespace]: "x'; rm -rf ~; '" is not a namespace; letters, digits, -, _ and . make one`},
			{change{"metadata>labels>orloj.dev/mcp-server": "s"}, "metadata.labels[orloj.dev/mcp-server]: orlojd marks the Tools by it that it makes from McpServers; take it out"},
			{change{"metadata>annotations>orloj.dev/deletion-policy": "keep"}, `metadata.annotations[orloj.dev/deletion-policy]: "keep" is not one of Delete, Retain`},
		},
	} {
		for _, c := range cases {
			require.Contains(t, denials(t, rules, makeObject(t, kind, c.change), Facts{Mapping: Restricted}, nil), c.denied, "%s %v", kind, c.change)
		}
	}
}

func TestDefaults(t *testing.T) {
	rules := newRules(t)
	for name, c := range map[string]struct {
		kind   string
		change change
		want   string
	}{
		"agent":              {"Agent", nil, `{"model_ref":"m","prompt":"p","limits":{"max_steps":10},"execution":{"profile":"dynamic","duplicate_tool_call_policy":"short_circuit","on_contract_violation":"non_retryable_error","tool_use_behavior":"run_llm_again"}}`},
		"agent's own":        {"Agent", change{"spec>limits>max_steps": -1, "spec>execution>profile": "dynamic"}, `{"model_ref":"m","prompt":"p","limits":{"max_steps":10},"execution":{"profile":"dynamic","duplicate_tool_call_policy":"short_circuit","on_contract_violation":"non_retryable_error","tool_use_behavior":"run_llm_again"}}`},
		"reviews":            {"AgentSystem", change{"spec": map[string]any{"graph": map[string]any{"a": map[string]any{"review": map[string]any{"checkpoint_id": "c"}}, "b": map[string]any{}}, "completion_review": map[string]any{"checkpoint_id": "d", "ttl": "1m"}}}, `{"graph":{"a":{"review":{"checkpoint_id":"c","ttl":"10m","allow_request_changes":true,"max_review_cycles":3}},"b":{}},"completion_review":{"checkpoint_id":"d","ttl":"1m","allow_request_changes":true,"max_review_cycles":3}}`},
		"tool":               {"Tool", nil, `{"type":"http","risk_level":"low","operation_classes":["read"],"runtime":{"timeout":"30s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`},
		"risky tool":         {"Tool", change{"spec>risk_level": "High", "spec>auth>secretRef": "s", "spec>operation_classes": []any{}}, `{"type":"http","risk_level":"High","operation_classes":["write"],"auth":{"secretRef":"s","profile":"bearer"},"runtime":{"timeout":"30s","isolation_mode":"sandboxed","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`},
		"program":            {"Tool", change{"spec>type": "cli", "spec>cli>command": "c", "spec>runtime>retry>max_attempts": 0}, `{"type":"cli","cli":{"command":"c","output":"stdout","network":"bridge"},"risk_level":"low","operation_classes":["read"],"runtime":{"timeout":"30s","isolation_mode":"container","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`},
		"wasm":               {"Tool", change{"spec>type": "wasm", "spec>wasm>module": "m", "spec>wasm>enable_wasi": false, "spec>wasm>fuel": 0}, `{"type":"wasm","wasm":{"module":"m","enable_wasi":false,"entrypoint":"run","max_memory_bytes":67108864,"fuel":1000000},"risk_level":"low","operation_classes":["read"],"runtime":{"timeout":"30s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`},
		"server":             {"McpServer", change{"spec>reconnect>max_attempts": 0}, `{"transport":"stdio","command":"c","reconnect":{"max_attempts":3,"backoff":"2s"},"idle_timeout":"0"}`},
		"endpoint":           {"ModelEndpoint", nil, `{"default_model":"m","provider":"openai","base_url":"https://api.openai.com/v1","allowPrivate":false}`},
		"anthropic":          {"ModelEndpoint", change{"spec>provider": "Anthropic"}, `{"default_model":"m","provider":"Anthropic","base_url":"https://api.anthropic.com/v1","allowPrivate":false}`},
		"ollama":             {"ModelEndpoint", change{"spec>provider": "ollama"}, `{"default_model":"m","provider":"ollama","base_url":"http://127.0.0.1:11434","allowPrivate":true}`},
		"another":            {"ModelEndpoint", change{"spec>provider": "x"}, `{"default_model":"m","provider":"x","allowPrivate":false}`},
		"agent policy":       {"AgentPolicy", nil, `{"apply_mode":"scoped"}`},
		"memory has none":    {"Memory", nil, `{}`},
		"blank tool":         {"Tool", change{"spec>type": " ", "spec>risk_level": "", "spec>operation_classes": []any{" "}, "spec>runtime>timeout": " ", "spec>runtime>retry>jitter": "", "spec>auth>secretRef": "s", "spec>auth>profile": " "}, `{"type":"http","risk_level":"low","operation_classes":["read"],"auth":{"secretRef":"s","profile":"bearer"},"runtime":{"timeout":"30s","isolation_mode":"none","retry":{"max_attempts":1,"backoff":"0s","max_backoff":"30s","jitter":"none"}}}`},
		"blank endpoint":     {"ModelEndpoint", change{"spec>provider": " ", "spec>base_url": ""}, `{"default_model":"m","provider":"openai","base_url":"https://api.openai.com/v1","allowPrivate":false}`},
		"blank profile":      {"Agent", change{"spec>execution>profile": " "}, `{"model_ref":"m","prompt":"p","limits":{"max_steps":10},"execution":{"profile":"dynamic","duplicate_tool_call_policy":"short_circuit","on_contract_violation":"non_retryable_error","tool_use_behavior":"run_llm_again"}}`},
		"blank server":       {"McpServer", change{"spec>reconnect>backoff": " ", "spec>idle_timeout": ""}, `{"transport":"stdio","command":"c","reconnect":{"max_attempts":3,"backoff":"2s"},"idle_timeout":"0"}`},
		"blank mode":         {"AgentPolicy", change{"spec>apply_mode": " "}, `{"apply_mode":"scoped"}`},
		"a blank review":     {"AgentSystem", change{"spec": map[string]any{"graph": map[string]any{"a/~b": map[string]any{"review": map[string]any{"checkpoint_id": "c", "ttl": " "}}}}}, `{"graph":{"a/~b":{"review":{"checkpoint_id":"c","ttl":"10m","allow_request_changes":true,"max_review_cycles":3}}}}`},
		"secrets are as are": {"Secret", nil, `{"data":{"k":"aGVsbG8="}}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := makeObject(t, c.kind, c.change)
			mutation := rules.Snapshot.Mutate(t.Context(), review(t, o), options(t, o, Facts{Mapping: Restricted}, nil))
			require.Empty(t, mutation.Denials)
			text, err := mutation.Review.Object()
			require.NoError(t, err)
			var got struct{ Spec json.RawMessage }
			require.NoError(t, json.Unmarshal(text, &got))
			require.JSONEq(t, c.want, string(got.Spec))
		})
	}
}

// Defect O9: a user who may create an object in any namespace may write into all Orloj
// namespaces.
func TestMapping(t *testing.T) {
	rules := newRules(t)
	allowed := func(list string) map[string]string {
		return map[string]string{"orloj.dev/allowed-target-namespaces": list}
	}
	refused := func(command string) string {
		return `metadata.annotations[orloj.dev/target-namespace]: objects of namespace "own" may not be stored in Orloj's namespace "production"; an administrator allows it by: kubectl annotate --overwrite namespace own 'orloj.dev/allowed-target-namespaces=` + command + `'`
	}
	for name, c := range map[string]struct {
		target      string
		mapping     Mapping
		annotations map[string]string
		denied      string
	}{
		"its own":                {target: "own", mapping: Restricted},
		"its own in spaces":      {target: " own ", mapping: Restricted},
		"not allowed":            {target: "production", mapping: Restricted, denied: refused("production")},
		"others are allowed":     {target: "production", mapping: Restricted, annotations: allowed("a, b-*"), denied: refused("a,b-*,production")},
		"what is no name goes":   {target: "production", mapping: Restricted, annotations: allowed("a,x';id;',[p"), denied: refused("a,production")},
		"allowed":                {target: "production", mapping: Restricted, annotations: allowed("staging, production")},
		"allowed by glob":        {target: "team.prod-1", mapping: Restricted, annotations: allowed("team*prod-?")},
		"a glob is no substring": {target: "production", mapping: Restricted, annotations: allowed("prod"), denied: refused("prod,production")},
		"open":                   {target: "production", mapping: Open},
	} {
		t.Run(name, func(t *testing.T) {
			o := makeObject(t, "Agent", change{"metadata>annotations>orloj.dev/target-namespace": c.target})
			got := denials(t, rules, o, Facts{Mapping: c.mapping}, c.annotations)
			if c.denied == "" {
				require.Empty(t, got)
				return
			}
			require.Equal(t, []string{c.denied}, got)
		})
	}
}

func TestTheOwnerOfAKeyIsNamed(t *testing.T) {
	facts := Facts{Mapping: Restricted, Taken: &Reference{"Agent", "gitops", "o"}}
	require.Equal(t, []string{"metadata.name: the store key own/o belongs to Agent gitops/o; give this object another name or orloj.dev/target-namespace, or delete that one"},
		denials(t, newRules(t), makeObject(t, "Agent", nil), facts, nil))
}

func TestPlaintextIsForbidden(t *testing.T) {
	forbid := map[string]string{"orloj.dev/plaintext-secrets": "forbidden"}
	rules := newRules(t)
	require.Equal(t, []string{`spec.data: namespace "own" forbids values in manifests (orloj.dev/plaintext-secrets); keep them in a Secret of Kubernetes, and name it in secretRef`},
		denials(t, rules, makeObject(t, "Secret", nil), Facts{Mapping: Restricted}, forbid))
	require.Empty(t, denials(t, rules, makeObject(t, "Secret", change{"spec": map[string]any{}}), Facts{Mapping: Restricted}, forbid))
	require.Empty(t, denials(t, rules, makeObject(t, "Secret", nil), Facts{Mapping: Restricted}, map[string]string{"orloj.dev/plaintext-secrets": "allowed"}))
}

// TestOfflineTheNamespaceIsAskedForWhereItMatters: without it, most objects are decided.
func TestOfflineTheNamespaceIsAskedForWhereItMatters(t *testing.T) {
	rules := newRules(t)
	undecided := func(o map[string]any) int {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		read, err := ReadObject(text, "own")
		require.NoError(t, err)
		with := options(t, o, Facts{Mapping: Restricted}, nil)
		with.Namespace, with.Offline = engine.Namespace{}, true
		return len(rules.For(read).Validate(t.Context(), review(t, o), with).Undecided)
	}
	for kind := range goodSpecs {
		want := 0
		if kind == "Secret" {
			want = 1
		}
		require.Equal(t, want, undecided(makeObject(t, kind, nil)), kind)
	}
	require.Equal(t, 1, undecided(makeObject(t, "Agent", change{"metadata>annotations>orloj.dev/target-namespace": "x"})))
}

// TestEvaluate: rules.Ask has the tests of errors.
func TestEvaluate(t *testing.T) {
	rules := newRules(t)
	text, err := json.Marshal(makeObject(t, "Agent", nil))
	require.NoError(t, err)
	agent := &v1.Agent{}
	require.NoError(t, json.Unmarshal(text, agent))
	agent.SetUID("u")
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = rules.Evaluate(late, agent, []byte(`{}`), Restricted)
	require.ErrorIs(t, err, context.Canceled)
	verdict, err := rules.Evaluate(t.Context(), agent, []byte(`{}`), Restricted)
	require.NoError(t, err)
	require.False(t, verdict.Denied())
}

func TestKinds(t *testing.T) {
	require.Len(t, Resources(), len(goodSpecs))
	for _, kind := range slices.Collect(maps.Keys(goodSpecs)) {
		require.Contains(t, Resources(), ResourceOf(kind))
	}
	_, err := ParseMapping("closed")
	require.EqualError(t, err, `"closed" is not one of Restricted, Open`)
	mapping, err := ParseMapping("open")
	require.NoError(t, err)
	require.Equal(t, Open, mapping)
}
