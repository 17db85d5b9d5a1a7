package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/require"
)

// Either all results of a run have suppressions or none has.
func TestSuppressionsOfARun(t *testing.T) {
	t.Parallel()
	denied := Finding{Rule: "p/deny", Exit: Denied, Message: "no <a>", Object: "Pod shop/a", At: Place{File: "a.yaml", Line: 3}}
	exempt := denied
	exempt.Object, exempt.Suppression = "Pod shop/b", "exempt by PolicyException friday"
	for name, c := range map[string]struct {
		findings []Finding
		want     []any
	}{
		"none":   {[]Finding{denied, denied}, []any{nil, nil}},
		"one":    {[]Finding{denied, exempt}, []any{[]any{}, []any{map[string]any{"kind": "external", "status": "accepted", "justification": exempt.Suppression}}}},
		"no run": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			require.NoError(t, WriteSARIF(&out, c.findings))
			log, err := sarif.FromString(out.String())
			require.NoError(t, err)
			require.NoError(t, log.Validate(), "the schema of SARIF 2.1.0")
			var content struct {
				Runs []struct {
					Results []map[string]any `json:"results"`
				} `json:"runs"`
			}
			require.NoError(t, json.Unmarshal([]byte(out.String()), &content))
			var found []any
			for _, result := range content.Runs[0].Results {
				found = append(found, result["suppressions"])
				require.Equal(t, "no <a>", result["message"].(map[string]any)["text"])
			}
			require.Equal(t, c.want, found)
		})
	}
}
