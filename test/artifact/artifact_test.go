package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFile: a file is created once for a key, again when its content has changed, and not at
// all when making it fails.
func TestFile(t *testing.T) {
	folder, made := t.TempDir(), 0
	file := func(key string) string {
		t.Helper()
		path, err := fileIn(folder, "jar", key, func(path string) error {
			made++
			return os.WriteFile(path, []byte("content of "+key), 0o600)
		})
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "content of "+key, string(text))
		return path
	}
	first := file("a")
	require.Equal(t, first, file("a"))
	require.Equal(t, 1, made)

	require.NoError(t, os.Truncate(first, 3))
	require.Equal(t, first, file("a"), "a corrupt file is made again")
	require.Equal(t, 2, made)

	second := file("b")
	require.NotEqual(t, first, second)
	require.NoFileExists(t, first, "one of other inputs is not kept")

	_, err := fileIn(folder, "jar", "c", func(path string) error {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		return errors.New("no space left")
	})
	require.ErrorContains(t, err, "making jar: no space left")
	all, err := filepath.Glob(folder + "/*")
	require.NoError(t, err)
	require.Equal(t, []string{second}, all, "nothing unfinished is left")
}
