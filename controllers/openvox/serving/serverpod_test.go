package serving

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// TestOwnFiles: the CA's server owns its files, no matter which user created them.
func TestOwnFiles(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("other users can only be tested as root")
	}
	const user, group = 1000660000, 1001
	folder := filepath.Join(t.TempDir(), "ca")
	run := func() (string, error) {
		cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(ownScript, layout.CAFolder, folder))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: group}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for dir := folder; dir != os.TempDir(); dir = filepath.Dir(dir) {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // another user enters it
	}
	files := []string{"serial", "ca key.pem", ".hidden", "signed/a.pem", "setup-ssl/private_keys/a.pem"}
	for _, file := range append(files, "signed/b.pem.lintel-owner") {
		path := filepath.Join(folder, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		for own := path; own != filepath.Dir(folder); own = filepath.Dir(own) {
			require.NoError(t, os.Chown(own, 1001, group))
			mode := os.FileMode(0o660)
			if own != path {
				mode = 0o770
			}
			require.NoError(t, os.Chmod(own, mode))
		}
	}
	for _, dir := range []string{"lost+found", ".snapshot"} { // of the file system
		require.NoError(t, os.Mkdir(filepath.Join(folder, dir), 0o700))
	}
	for range 2 {
		out, err := run()
		require.NoError(t, err, out)
		for _, file := range files {
			info, err := os.Stat(filepath.Join(folder, file))
			require.NoError(t, err)
			require.EqualValues(t, user, info.Sys().(*syscall.Stat_t).Uid, file)
			require.Equal(t, "-rw-rw----", info.Mode().String(), file)
			text, err := os.ReadFile(filepath.Join(folder, file))
			require.NoError(t, err)
			require.Equal(t, file, string(text))
		}
	}
	require.NoFileExists(t, filepath.Join(folder, "signed/b.pem.lintel-owner"), "one that was interrupted")

	require.NoError(t, os.Chmod(filepath.Join(folder, "signed"), 0o700)) //nolint:gosec // a folder
	out, err := run()
	require.Error(t, err)
	require.Contains(t, out, fmt.Sprintf("user %d cannot replace %s/signed: if it belongs to another user, set the same spec.securityContext.fsGroup", user, folder))
}
