package gatekeeper

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
)

const provider = "apiVersion: externaldata.gatekeeper.sh/v1beta1\nkind: Provider\nmetadata: {name: images}\nspec: {url: https://images.example.com, timeout: 1, caBundle: ''}\n"

// callsProvider reports the response to a request that the parameters may contain.
const callsProvider = `package x

violation[{"msg": msg}] {
  response := external_data({"provider": "images", "keys": input.parameters.keys})
  msg := json.marshal(response)
}`

// withData evaluates a Pod by a template with a constraint, with the data of DataSource images.
func withData(t *testing.T, rego, parameters, data string, options engine.Options) *engine.Decision {
	t.Helper()
	set := mustCompile(t, map[string]string{
		"p.yaml": provider, "t.yaml": strings.Replace(makeTemplate("X", rego), "        kind: X\n", "        kind: X\n      validation: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n", 1),
		"c.yaml": makeConstraint("X", "a", "{match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}, parameters: "+parameters+"}"),
	})
	require.Equal(t, []string{"images"}, set.External())
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	if data != "" {
		one, err := external.New("images", "r", data)
		require.NoError(t, err)
		snapshot = snapshot.WithExternal(external.Set{"images": one})
	}
	review, err := admission.NewReview(asJSON(t, request("CREATE", makePod("shop", "web", nil), nil)))
	require.NoError(t, err)
	return snapshot.Validate(t.Context(), review, options)
}

// TestExternalData: templates call a Provider as in Gatekeeper, and get the data of the DataSource
// with its name, in the form of Gatekeeper's responses.
func TestExternalData(t *testing.T) {
	t.Parallel()
	const computed = `package x

violation[{"msg": msg}] {
  msg := json.marshal(external_data(input.parameters))
}`
	const inLibrary = `package x

violation[{"msg": msg}] {
  keys := [key | key := input.parameters.keys[_]]
  responses := external_data({"keys": keys, "provider": "images"}).responses
  msg := json.marshal(responses)
}`
	for name, c := range map[string]struct{ rego, parameters, data, want string }{
		"keys":                  {callsProvider, `{keys: [a, b]}`, `{"a": "1", "b": {"c": [true]}}`, `{"errors":[],"responses":[["a","1"],["b",{"c":[true]}]],"status_code":200,"system_error":""}`},
		"false and null":        {callsProvider, `{keys: [a, b]}`, `{"a": false, "b": null}`, `{"errors":[],"responses":[["a",false],["b",null]],"status_code":200,"system_error":""}`},
		"a key twice":           {callsProvider, `{keys: [a, a]}`, `{"a": "1"}`, `{"errors":[],"responses":[["a","1"],["a","1"]],"status_code":200,"system_error":""}`},
		"a missing key":         {callsProvider, `{keys: [a, z]}`, `{"a": "1"}`, `{"errors":[["z","DataSource images has no key \"z\""]],"responses":[["a","1"]],"status_code":200,"system_error":""}`},
		"no keys":               {callsProvider, `{keys: []}`, `{"a": "1"}`, `{"errors":[],"responses":[],"status_code":200,"system_error":""}`},
		"a list":                {callsProvider, `{keys: [a]}`, `["a"]`, `{"errors":[],"responses":[],"status_code":500,"system_error":"Provider images: the source has no such Provider, or the data of its DataSource is not an object"}`},
		"a key of another type": {callsProvider, `{keys: [1]}`, `{"a": "1"}`, ""},
		"a computed provider":   {computed, `{provider: images, keys: [a]}`, `{"a": "1"}`, `{"errors":[],"responses":[["a","1"]],"status_code":200,"system_error":""}`},
		"another provider":      {computed, `{provider: others, keys: [a]}`, `{"a": "1"}`, `{"errors":[],"responses":[],"status_code":500,"system_error":"Provider others: the source has no such Provider, or the data of its DataSource is not an object"}`},
		"part of a response":    {inLibrary, `{keys: [a]}`, `{"a": "1"}`, `[["a","1"]]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := withData(t, c.rego, c.parameters, c.data, engine.Options{})
			if c.want == "" {
				require.Empty(t, decision.Denials, "as in Gatekeeper, a failed function is undefined")
				return
			}
			require.Equal(t, []string{c.want}, words(decision.Denials))
		})
	}
}

// TestExternalDataThatIsMissing: the failure policy applies, as for every policy without its data.
func TestExternalDataThatIsMissing(t *testing.T) {
	t.Parallel()
	decision := withData(t, callsProvider, "{keys: [a]}", "", engine.Options{})
	require.Len(t, decision.Denials, 1)
	require.Contains(t, decision.Denials[0].Words, "cannot be evaluated")
	require.Contains(t, decision.Denials[0].Words, "images")
	decision = withData(t, callsProvider, "{keys: [a]}", "", engine.Options{Offline: true})
	require.Contains(t, decision.Undecided[0].Reason, "--external images=FILE")
}

// TestProvidersOfATemplateChange: the template reads the Providers of the source as it is now, also
// if its own text is unchanged.
func TestProvidersOfATemplateChange(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"p.yaml": provider, "t.yaml": makeTemplate("X", strings.Replace(callsProvider, `{"provider": "images", "keys": input.parameters.keys}`, "input.parameters", 1)),
		"c.yaml": makeConstraint("X", "a", "{}"),
	}
	require.Equal(t, []string{"images"}, mustCompile(t, files).External())
	files["q.yaml"] = strings.Replace(provider, "images", "others", 1)
	require.Equal(t, []string{"images", "others"}, mustCompile(t, files).External())
	delete(files, "p.yaml")
	require.Equal(t, []string{"others"}, mustCompile(t, files).External())
}
