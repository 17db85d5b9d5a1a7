package openzro

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// TestAFailedWithdrawalIsReported, and not the problem that made the withdrawal necessary.
func TestAFailedWithdrawalIsReported(t *testing.T) {
	failed := &management.Error{Cause: management.Unavailable}
	notGranted := stalled(v1.ReasonNotGranted, "no grant")
	require.Equal(t, v1.ReasonAPIError, problemOf(firstOf(failed, notGranted), credentials{}).reason)
	require.Equal(t, v1.ReasonNotGranted, problemOf(firstOf(nil, notGranted), credentials{}).reason)
	require.NoError(t, firstOf(nil, nil))
}
