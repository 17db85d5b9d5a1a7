package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// folderOf is a folder with files of these texts, by their paths in it.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return folder
}

func TestReadFolder(t *testing.T) {
	files := map[string]string{"a.rego": "12345", "below/b.rego": "123", "below/.c.rego": "hidden", ".git/d.rego": "hidden", "e.txt": "not wanted, and long"}
	wanted := func(name string) bool { return filepath.Ext(name) == ".rego" }
	folder := folderOf(t, files)
	require.NoError(t, os.Symlink("a.rego", filepath.Join(folder, "link.rego")))
	got, err := ReadFolder(folder, wanted, 13)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.rego": "12345", "below/b.rego": "123", "link.rego": "12345"}, got)
	_, err = ReadFolder(folderOf(t, files), wanted, 7)
	require.ErrorContains(t, err, "below/b.rego and the files before it are too large together")
	_, err = ReadFolder(filepath.Join(folder, "nowhere"), wanted, 12)
	require.ErrorContains(t, err, "reading the folder")
}

// TestReadFolderStaysWithin: half of a policy is worse than none.
func TestReadFolderStaysWithin(t *testing.T) {
	outside := folderOf(t, map[string]string{"secret.rego": "package secret"})
	for name, c := range map[string]struct{ link, target, want string }{
		"a file outside":   {"a.rego", filepath.Join(outside, "secret.rego"), "a.rego is a link that leaves the folder or leads nowhere"},
		"a folder outside": {"below", outside, "below is a link to a folder, which is not followed"},
		"a folder within":  {"below", "other", "below is a link to a folder, which is not followed"},
		"nowhere":          {"a.rego", "nothing.rego", "a.rego is a link that leaves the folder or leads nowhere"},
	} {
		folder := folderOf(t, map[string]string{"other/b.rego": "package b"})
		require.NoError(t, os.Symlink(c.target, filepath.Join(folder, c.link)))
		_, err := ReadFolder(folder, func(string) bool { return true }, 1000)
		require.ErrorContains(t, err, c.want, name)
	}
}
