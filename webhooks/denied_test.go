package webhooks

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// Only denials by policies are passed on, and not the answers of the failure policy.
func TestDeniedReviewsArePassedOn(t *testing.T) {
	t.Parallel()
	const path = "/validate/fail"
	for name, test := range map[string]struct {
		decision engine.Decision
		want     int
	}{
		"denied":  {engine.Decision{Denials: []engine.Finding{finding("no")}}, 1},
		"allowed": {engine.Decision{Warnings: []engine.Finding{finding("no")}}, 0},
	} {
		var heard []string
		f := newFixture(t, says(test.decision), func(o *HandlerOptions) {
			o.Denied = func(review *admission.Review, texts []string) {
				require.Equal(t, "u-1", review.UID)
				heard = append(heard, texts...)
			}
		})
		f.ask(t, path, podRequest)
		require.Len(t, heard, test.want, name)
	}
	f := newFixture(t, says(engine.Decision{}), func(o *HandlerOptions) {
		o.Namespaces = namespacesFunc(func(string) ([]byte, error) { return nil, errors.New("down") })
		o.Denied = func(*admission.Review, []string) { t.Error("no policy has denied it") }
	})
	require.False(t, f.ask(t, path, podRequest).Allowed)
}
