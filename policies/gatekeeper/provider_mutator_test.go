package gatekeeper

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/terms"
)

// TestExternalDataOfMutators: a mutator sets the text of a Provider for the value that it replaces, or
// for the user, and leaves its own results alone.
func TestExternalDataOfMutators(t *testing.T) {
	t.Parallel()
	mutator := func(more string) string {
		return "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.hostname, parameters: {assign: {externalData: {provider: images" + more + "}}}}\n"
	}
	for name, c := range map[string]struct {
		mutator, data string
		hostname      any
		want          string // the field afterwards
		failure       string
	}{
		"a key":                   {mutator(""), `{"a": "1"}`, "a", "1", ""},
		"its own result":          {mutator(""), `{"a": "1"}`, "1", "1", ""},
		"a missing key":           {mutator(""), `{"a": "1"}`, "z", "", `DataSource images has no key "z"`},
		"ignored":                 {mutator(", failurePolicy: Ignore"), `{"a": "1"}`, "z", "z", ""},
		"a default":               {mutator(", failurePolicy: UseDefault, default: d"), `{"a": "1"}`, "z", "d", ""},
		"no value":                {mutator(""), `{"": "1"}`, nil, "1", ""},
		"no value, and no key":    {mutator(""), `{"a": "1"}`, nil, "", `DataSource images has no key ""`},
		"a value that is no text": {mutator(""), `{"a": "1"}`, true, "", "hostname is a boolean, and the key of external data is a string"},
		"data that is no text":    {mutator(""), `{"a": 1}`, "a", "", `the value of key "a" is not a string`},
		"a list":                  {mutator(""), `["a"]`, "a", "", "the data of DataSource images is not an object"},
		"no data":                 {mutator(""), "", "a", "", "DataSource images has no data"},
		"no data, and a default":  {mutator(", failurePolicy: UseDefault, default: d"), "", "a", "d", ""},
		"the user":                {mutator(", dataSource: Username"), `{"alice": "red"}`, "a", "red", ""},
		"a user without a key":    {mutator(", dataSource: Username"), `{"bob": "red"}`, "red", "", `DataSource images has no key "alice"`},
		"an ignored user":         {mutator(", dataSource: Username, failurePolicy: Ignore"), `{"bob": "red"}`, "a", "alice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := mustCompile(t, map[string]string{"p.yaml": provider, "m.yaml": c.mutator})
			require.Equal(t, []string{"images"}, set.External())
			snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
			if c.data != "" {
				data, err := external.New("images", "r", c.data)
				require.NoError(t, err)
				snapshot = snapshot.WithExternal(external.Set{"images": data})
			}
			pod := makePod("shop", "web", nil)
			if c.hostname != nil {
				pod["spec"] = jsonObject{"hostname": c.hostname}
			}
			review, err := admission.NewReview(asJSON(t, request("CREATE", pod, nil)))
			require.NoError(t, err)
			mutation := snapshot.Mutate(t.Context(), review, engine.Options{})
			if c.failure != "" {
				require.Len(t, mutation.Denials, 1)
				require.Contains(t, mutation.Denials[0].Words, c.failure)
				return
			}
			require.Empty(t, mutation.Denials)
			require.Contains(t, terms.Lookup(mutation.Review.New.Value(), "spec").String(), `"hostname": "`+c.want+`"`)
			again := snapshot.Mutate(t.Context(), mutation.Review, engine.Options{})
			require.Empty(t, again.Denials)
			require.Empty(t, again.Patch, "the result does not change when mutators are applied again")
		})
	}
	_, err := compile(t, map[string]string{"p.yaml": strings.Replace(provider, "images", "others", 1), "m.yaml": mutator("")})
	require.ErrorContains(t, err, `the source has no Provider "images"`)
}
