package chart

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/artifact"
)

// firstState is the commit to upgrade from as long as no version is tagged.
const firstState = "557621cd"

// previousState is the last version that was tagged before the commit of a folder, or first.
func previousState(folder, first string) (string, error) {
	shallow, err := git(folder, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return "", fmt.Errorf("the version to upgrade from is read from the Git history, which this folder lacks: run the test in a clone of the repository: %w", err)
	}
	if shallow != "false" {
		return "", errors.New("the version to upgrade from is in the Git history, which this shallow clone lacks: git fetch --unshallow --tags")
	}
	if tag, err := git(folder, "describe", "--tags", "--abbrev=0", "--match=v[0-9]*", "HEAD^"); err == nil {
		first = tag
	}
	state, err := git(folder, "rev-parse", "--verify", "--quiet", first+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("the version to upgrade from, %s, is missing in this clone: git fetch --tags: %w", first, err)
	}
	return state, nil
}

// checkOutPrevious gives a folder with the last version that was tagged before this
// commit.
func checkOutPrevious(t *testing.T) string {
	t.Helper()
	state, err := previousState(".", firstState)
	require.NoError(t, err)
	t.Logf("upgrading from %s", state)
	folder := filepath.Join(t.TempDir(), "previous")
	for _, args := range [][]string{
		{"clone", "--quiet", "--shared", "--no-checkout", filepath.Join("..", ".."), folder},
		{"-C", folder, "checkout", "--quiet", "--detach", state},
	} {
		_, err := git(".", args...)
		require.NoError(t, err)
	}
	return folder
}

// makePrevious writes the image of the version to upgrade from to a folder. It is built once
// for the commit and the program that builds it.
func makePrevious(folder, checkout, scratch string) error {
	key, err := git(checkout, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	for _, source := range []string{"build.go", "image.go", "go.mod"} {
		text, err := os.ReadFile(filepath.Join("../../config/release", source))
		if err != nil {
			return err
		}
		key += "\n" + string(text)
	}
	images, err := artifact.File("lintel-manager-previous.tar", key+runtime.Version(), func(path string) error {
		made := filepath.Join(scratch, "images")
		if err := makeManager(made, checkout, previous); err != nil {
			return err
		}
		return output(".", nil, "tar", "--create", "--file", path, "--directory", made, ".")
	})
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	return output(".", nil, "tar", "--extract", "--file", images, "--directory", folder)
}

// git gives what git prints for a folder.
func git(folder string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// TestPreviousState: the error names the missing part of a checkout.
func TestPreviousState(t *testing.T) {
	repository, none := t.TempDir(), t.TempDir()
	must := func(args ...string) string {
		t.Helper()
		out, err := git(repository, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		require.NoError(t, err)
		return out
	}
	must("init", "--quiet")
	must("commit", "--quiet", "--allow-empty", "--message=First")
	first := must("rev-parse", "HEAD")
	must("commit", "--quiet", "--allow-empty", "--message=Second")
	state, err := previousState(repository, first[:8])
	require.NoError(t, err)
	assert.Equal(t, first, state)
	_, err = previousState(repository, "0123abcd")
	require.ErrorContains(t, err, "the version to upgrade from, 0123abcd, is missing in this clone: git fetch --tags")

	must("tag", "v0.1.0")
	second := must("rev-parse", "HEAD")
	must("commit", "--quiet", "--allow-empty", "--message=Third")
	state, err = previousState(repository, first)
	require.NoError(t, err)
	assert.Equal(t, second, state)

	shallow := filepath.Join(none, "shallow")
	must("clone", "--quiet", "--depth=1", "file://"+repository, shallow)
	_, err = previousState(shallow, first)
	require.ErrorContains(t, err, "git fetch --unshallow --tags")
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(none))
	_, err = previousState(none, first)
	require.ErrorContains(t, err, "which this folder lacks: run the test in a clone of the repository")
}
