package v1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExpiry(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "30d": 720 * time.Hour, "1h30m": 90 * time.Minute, "007s": 7 * time.Second, "106751d": 106751 * 24 * time.Hour} {
		got, err := OZSetupKeySpec{ExpiresIn: text}.Expiry()
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"30": "is not a duration such as 30d, 12h or 1h30m", "1.5h": "is not a duration", "d": "is not a duration", "-1h": "is not a duration",
		"106752d": "is longer than durations can be, 106751d", "99999999999999999999s": "is longer than durations can be", "106751d24h": "is longer than durations can be",
	} {
		_, err := OZSetupKeySpec{ExpiresIn: text}.Expiry()
		require.ErrorContains(t, err, "spec.expiresIn: \""+text+"\" "+says)
	}
}
