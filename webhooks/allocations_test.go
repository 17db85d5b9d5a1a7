//go:build !race

package webhooks

import (
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// TestAllocations holds what an answer costs, that of the test's own request and response
// with it. The numbers are exact: lower one that has become too high, and think before
// raising one.
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // pooled objects stay in the pool
	review := podCreation(t)
	for _, c := range []struct {
		name     string
		snapshot *engine.Snapshot
		path     string
		want     float64
	}{
		{"no policy matches", compiled(t, definition.Fail, teamLabel), "/validate/fail", 137},
		{"samples, validate", sampleSnapshot(t), "/validate/fail", 902},
		{"samples, mutate", sampleSnapshot(t), "/mutate/fail", 530},
	} {
		t.Run(c.name, func(t *testing.T) {
			handler := benchHandler(t, c.snapshot)
			ask := func() {
				request := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(review))
				request.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, request)
				requireAdmitted(t, recorder.Body.String())
			}
			ask()
			require.Equal(t, c.want, testing.AllocsPerRun(200, ask))
		})
	}
}
