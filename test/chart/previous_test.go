package chart

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// firstState is the commit to upgrade from as long as no version is tagged.
const firstState = "557621cd"

// checkOutPrevious gives a folder with the last version that was tagged before this
// commit.
func checkOutPrevious(t *testing.T) string {
	t.Helper()
	require.Equal(t, "false", git(t, "rev-parse", "--is-shallow-repository"),
		"the version to upgrade from is in the history, which this clone lacks: git fetch --unshallow --tags")
	state := firstState
	describe := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match=v[0-9]*", "HEAD^")
	if tag, err := describe.Output(); err == nil {
		state = strings.TrimSpace(string(tag))
	}
	t.Logf("upgrading from %s", state)
	folder := filepath.Join(t.TempDir(), "previous")
	git(t, "clone", "--quiet", "--shared", "--no-checkout", git(t, "rev-parse", "--show-toplevel"), folder)
	git(t, "-C", folder, "checkout", "--quiet", "--detach", state)
	return folder
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", append([]string{"git"}, args...)...))
}
