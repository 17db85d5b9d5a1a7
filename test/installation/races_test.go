package installation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARaceIsFound(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, FindRaces(folder))
	for name, text := range map[string]string{
		"quiet.1": "",
		"a.1":     "==================\nWARNING: DATA RACE\nWrite at 0x00c0\n",
		"b.22":    "WARNING: DATA RACE\nRead at 0x00c0\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	require.EqualError(t, FindRaces(folder), "a.1 reports a data race:\nWARNING: DATA RACE\nWrite at 0x00c0\n\nb.22 reports a data race:\nWARNING: DATA RACE\nRead at 0x00c0\n")
	require.Error(t, FindRaces(filepath.Join(folder, "missing")))
}
