package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSettings(t *testing.T) {
	t.Parallel()
	frame := []byte{0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100}
	for n := range frame {
		limit, done := parseSettings(frame[:n])
		require.False(t, done, "%d of its bytes", n)
		require.Zero(t, limit)
	}
	for name, c := range map[string]struct {
		frame []byte
		limit uint32
	}{
		"complete":       {frame, 100},
		"with the next":  {append(frame[:len(frame):len(frame)], 1, 2, 3), 100},
		"no settings":    {[]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}, 0},
		"another frame":  {[]byte("HTTP/1.1 400 Bad Request"), 0},
		"none permitted": {[]byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}, 1},
	} {
		limit, done := parseSettings(c.frame)
		require.True(t, done, name)
		require.Equal(t, c.limit, limit, name)
	}
}
