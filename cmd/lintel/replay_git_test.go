package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/gitserver"
)

// TestReplayOfGitRevisions is not parallel: REVISION:FOLDER depends on the current folder.
func TestReplayOfGitRevisions(t *testing.T) {
	folder := t.TempDir()
	repository, err := gitserver.NewRepository(t.Context(), folder, "rules")
	require.NoError(t, err)
	lenient := strings.Replace(replayPolicy, `endswith(c.image, ":latest")`, `endswith(c.image, ":none")`, 1)
	first, err := repository.Push(t.Context(), map[string]string{"team/policies/images.rego": lenient, "team/notes.txt": "notes"})
	require.NoError(t, err)
	_, err = repository.Push(t.Context(), map[string]string{"team/policies/images.rego": replayPolicy})
	require.NoError(t, err)
	_, err = repository.Git(t.Context(), "tag", "v1", first)
	require.NoError(t, err)
	_, err = repository.Git(t.Context(), "push", "--quiet", "origin", "v1")
	require.NoError(t, err)
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	remote, onDisk := "git+"+server.URL+"/rules.git", "git+file://"+filepath.ToSlash(repository.Bare)
	lines := replayLines(t, replayRecord("1", "web:latest"))

	t.Chdir(filepath.Join(repository.Work, "team"))
	for _, test := range []struct{ against, baseline, want string }{
		{"HEAD:team/policies", "HEAD~1:team/policies", "1 newly denied"},
		{"HEAD~1:./policies", "HEAD:./policies", "1 newly admitted"},
		{first + ":team/policies", "v1:team/policies", "1 the same"},
		{"policies", "v1:team/policies", "1 newly denied"},
		{"HEAD:", "v1:", "1 newly denied"},
		{remote + "?ref=main&path=team/policies", remote + "?ref=v1&path=team/policies", "1 newly denied"},
		{remote + "?path=team/policies", remote + "?ref=" + first + "&path=team/policies", "1 newly denied"},
		{remote, remote + "?ref=v1", "1 newly denied"},
		{onDisk + "?ref=main", onDisk + "?ref=v1", "1 newly denied"},
	} {
		result := lintel(t, lines, replayArgs("--against", test.against, "--baseline", test.baseline, "--name", "team", "--max-new-denials", "9", "-")...)
		require.Equal(t, exitAllowed, result.code, test.against+": "+result.stderr)
		require.Contains(t, result.stdout, test.want, test.against)
	}
	sarif := lintel(t, lines, replayArgs("--against", "HEAD:team/policies", "--baseline", "v1:team/policies", "-o", "sarif", "-")...)
	require.Contains(t, sarif.stdout, `"uri": "policies/images.rego"`, "a location that the user can open")

	for against, want := range map[string]string{
		"HEAD~9:team/policies":              "reading HEAD~9:team/policies: the repository has no revision HEAD~9",
		"HEAD:none":                         "has no folder none",
		"HEAD:../../outside":                "is outside of the repository",
		remote + "?ref=none":                "the repository has no branch or tag none",
		remote + "?ref=v1&path=none":        "has no folder none",
		remote + "?reference=v1":            `parameter "reference": valid are ref and path, each once`,
		remote + "?ref=a&ref=b":             `parameter "ref": valid are ref and path, each once`,
		"git+https://me:secret@host/r":      "contains credentials",
		"git+ftp://host/r":                  `the scheme "ftp"`,
		"missing":                           "no such file or directory",
		onDisk + "?ref=" + first[:39] + "0": "the repository has no",
	} {
		result := lintel(t, lines, replayArgs("--against", against, "-")...)
		require.Equal(t, exitError, result.code, against)
		require.Contains(t, result.stderr, want, against)
		require.NotContains(t, result.stderr, "secret")
	}

	require.NoError(t, os.Mkdir("HEAD:policies", 0o700))
	result := lintel(t, lines, replayArgs("--against", "HEAD:policies", "-")...)
	require.Contains(t, result.stderr, "there is no .rego file", "a folder of that name comes first")
}
