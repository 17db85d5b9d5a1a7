package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/suite"
)

// The API server is not kept waiting for tests: what takes longer is left to the gate.
func TestLongTestsAreLeftToTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := func(ctx context.Context, _ engine.Source) (suite.Results, error) {
			<-ctx.Done()
			return suite.Results{}, ctx.Err()
		}
		_, err := soon(forever)(t.Context(), engine.Source{})
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = soon(forever)(ended, engine.Source{})
		require.ErrorIs(t, err, context.Canceled, "who asked is gone")
		failed := func(context.Context, engine.Source) (suite.Results, error) {
			return suite.Results{}, errors.New("no process")
		}
		_, err = soon(failed)(t.Context(), engine.Source{})
		require.ErrorContains(t, err, "no process")
	})
}
