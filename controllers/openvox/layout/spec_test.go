package layout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

func TestDuration(t *testing.T) {
	for text, want := range map[v1alpha1.Duration]time.Duration{
		"": time.Minute, "90": 90 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "2h": 2 * time.Hour, "90d": 90 * 24 * time.Hour, "5y": 5 * 365 * 24 * time.Hour,
	} {
		got, err := Duration(text, time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []v1alpha1.Duration{"1h30m", "-1s", "x", "s", "999999999y"} {
		_, err := Duration(text, time.Minute)
		require.Error(t, err, text)
	}
}
