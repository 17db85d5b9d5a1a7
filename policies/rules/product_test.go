package rules

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

const permitted = head + `package permitted
import rego.v1
deny contains "not permitted" if not input.facts.may`

// TestAssumption: a decision on an assumption counts only if the assumption is confirmed.
func TestAssumption(t *testing.T) {
	t.Parallel()
	type facts struct {
		May bool `json:"may"`
	}
	unanswered := errors.New("no answer")
	for name, c := range map[string]struct {
		confirm func() (any, error)
		denied  bool
		err     error
	}{
		"confirmed":  {confirm: func() (any, error) { return nil, nil }},
		"refuted":    {confirm: func() (any, error) { return facts{}, nil }, denied: true},
		"unanswered": {confirm: func() (any, error) { return nil, unanswered }, err: unanswered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			rules := BuiltIn{
				Snapshot: makeSnapshot(t, permitted),
				Facts: func(context.Context, *admission.Review) (any, error) {
					return &Assumption{Facts: facts{May: true}, Confirm: func() (any, error) {
						calls++
						return c.confirm()
					}}, nil
				},
			}
			review, err := admission.DecodeReview([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE",
				"kind":{"group":"","version":"v1","kind":"Secret"},"resource":{"group":"","version":"v1","resource":"secrets"},"namespace":"ns","name":"s",
				"object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}}}`))
			require.NoError(t, err)
			answer, err := rules.Validating().Validate(t.Context(), review)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, 1, calls)
			if c.err == nil {
				require.Equal(t, c.denied, len(answer.Denials) > 0)
			}
			_, err = rules.Mutating().Mutate(t.Context(), review)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, 2, calls)
		})
	}
}
