// Package ci tests .ci/run: that it tests the commit that is checked out and nothing else, for
// any content of the work folder that persists between runs.
package ci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// project is a repository with .ci/run and a Makefile that records its environment.
type project struct {
	t *testing.T
	// root is the checkout, cache the user's cache folder, and log what make noted.
	root, cache, log string
}

// makefile notes each call: the commit, and the files of the work folder with their content.
const makefile = `
lint:
	@echo lint >>$(LOG)
test:
	@echo "$$(pwd) $$(ls -A | grep -v '^.git$$' | tr '\n' ' ')content=$$(cat content) $(BUDGET)" >>$(LOG)
	@touch left-behind
	@if [ -e slow ]; then echo started >$(LOG).slow; sleep 3; fi
	@if [ -e broken ]; then echo "a test failed"; exit 1; fi
`

func newProject(t *testing.T) project {
	t.Helper()
	script, err := os.ReadFile("../../.ci/run")
	require.NoError(t, err)
	folder := t.TempDir()
	p := project{t, filepath.Join(folder, "checkout"), filepath.Join(folder, "cache"), filepath.Join(folder, "log")}
	require.NoError(t, os.MkdirAll(p.root, 0o755))
	p.git("init", "-q", "-b", "main")
	p.write(".ci/run", string(script))
	p.write("Makefile", makefile)
	p.write(".gitignore", "left-behind\n")
	p.write("content", "one\n")
	p.commit()
	return p
}

func (p project) write(name, text string) {
	p.t.Helper()
	name = filepath.Join(p.root, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(p.t, os.WriteFile(name, []byte(text), 0o755))
}

func (p project) git(args ...string) string {
	p.t.Helper()
	args = append([]string{"-C", p.root, "-c", "user.name=Test", "-c", "user.email=test@example.com"}, args...)
	output, err := exec.Command("git", args...).CombinedOutput()
	require.NoError(p.t, err, "%v: %s", args, output)
	return strings.TrimSpace(string(output))
}

func (p project) commit() {
	p.t.Helper()
	p.git("add", "--all")
	p.git("commit", "-q", "--allow-empty", "-m", "change")
}

func (p project) work() string { return filepath.Join(p.cache, "lintel", "ci", "work") }

func (p project) command() *exec.Cmd {
	cmd := exec.Command("bash", filepath.Join(p.root, ".ci", "run"))
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+p.cache, "LOG="+p.log, "LINTEL_CI_SPACE=0")
	return cmd
}

// run runs .ci/run, and returns its output and the record of make.
func (p project) run() (printed, noted string, err error) {
	p.t.Helper()
	_ = os.Remove(p.log)
	output, err := p.command().CombinedOutput()
	text, _ := os.ReadFile(p.log)
	return string(output), string(text), err
}

// passes runs .ci/run, which must test the content in a clean work folder.
func (p project) passes(content string) (printed string) {
	p.t.Helper()
	printed, noted, err := p.run()
	require.NoError(p.t, err, printed)
	lines := strings.Split(strings.TrimSpace(noted), "\n")
	require.Len(p.t, lines, 2, "lint and test: %s", printed)
	require.Equal(p.t, "lint", lines[0])
	require.Regexp(p.t, "^"+p.work()+` \.ci \.gitignore Makefile content content=`+content+` \d+s$`, lines[1])
	require.Contains(p.t, printed, "testing "+p.git("rev-parse", "HEAD"))
	return printed
}

func TestOnlyTheCommitIsTested(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("content", "not committed\n")
	p.write("untracked", "")
	p.passes("one")
	info, err := os.Stat(filepath.Join(p.work(), "Makefile"))
	require.NoError(t, err)

	require.NoError(t, os.Remove(filepath.Join(p.root, "untracked")))
	p.write("content", "two\n")
	p.commit()
	require.NotContains(t, p.passes("two"), "creating it again")
	again, err := os.Stat(filepath.Join(p.work(), "Makefile"))
	require.NoError(t, err)
	require.Equal(t, info.ModTime(), again.ModTime(), "Go's cache knows files by their time of change")
}

func TestARedTestIsRed(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.passes("one")
	p.write("broken", "")
	p.commit()
	printed, _, err := p.run()
	require.Error(t, err)
	require.Contains(t, printed, "a test failed")
	require.NotContains(t, printed, "passed in")
}

// TestABudgetThatIsUsedUp: no time left is not the same as no limit.
func TestABudgetThatIsUsedUp(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := p.command()
	cmd.Env = append(cmd.Env, "LINTEL_CI_BUDGET=0")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	noted, err := os.ReadFile(p.log)
	require.NoError(t, err)
	require.Contains(t, string(noted), "content=one 1s\n")
}

func TestHistoryThatWasRewritten(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git("tag", "v1")
	p.write("content", "two\n")
	p.commit()
	p.passes("two")
	p.write("content", "three\n")
	p.git("add", "--all")
	p.git("commit", "-q", "--amend", "-m", "rewritten")
	p.git("branch", "-m", "renamed")
	p.git("tag", "-d", "v1")
	require.NotContains(t, p.passes("three"), "creating it again")
	tags, err := exec.Command("git", "-C", p.work(), "tag").Output()
	require.NoError(t, err)
	require.Empty(t, string(tags), "a tag that is gone would be the state before")
	p.git("checkout", "-q", "--detach", "HEAD^")
	p.passes("one")
}

func TestADamagedWorkFolderIsCreatedAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.passes("one")
	for name, damage := range map[string]func(string) error{
		"a file of the same size and time": func(work string) error {
			// As a fault of the disk, of which Git sees no time of change.
			require.NoError(t, exec.Command("git", "-C", work, "config", "core.trustctime", "false").Run())
			name, then := filepath.Join(work, "content"), time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(name, then, then))
			require.NoError(t, exec.Command("git", "-C", work, "update-index", "--refresh").Run())
			require.NoError(t, os.WriteFile(name, []byte("bad\n"), 0o755))
			require.NoError(t, os.Chtimes(name, then, then))
			status, err := exec.Command("git", "-C", work, "status", "--porcelain").Output()
			require.NoError(t, err)
			require.Empty(t, string(status), "Git sees no change")
			return nil
		},
		"an index that is cut off": func(work string) error { return os.Truncate(filepath.Join(work, ".git", "index"), 20) },
		"no HEAD":                  func(work string) error { return os.Remove(filepath.Join(work, ".git", "HEAD")) },
		"objects that are missing": func(work string) error { return os.RemoveAll(filepath.Join(work, ".git", "objects")) },
		"no .git":                  func(work string) error { return os.RemoveAll(filepath.Join(work, ".git")) },
		"a file in its place": func(work string) error {
			require.NoError(t, os.RemoveAll(work))
			return os.WriteFile(work, []byte("file"), 0o644)
		},
	} {
		require.NoError(t, damage(p.work()), name)
		printed, noted, err := p.run()
		require.NoError(t, err, "%s: %s", name, printed)
		require.Contains(t, noted, "content=one", name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.work(), ".git", "index.lock"), nil, 0o644))
	require.NotContains(t, p.passes("one"), "creating it again", "the lock of a run that was killed")
}

// TestAWorkFolderWithoutGit: Git would take the repository around the cache for the work
// folder's, and delete its content.
func TestAWorkFolderWithoutGit(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	home := p
	home.root = filepath.Dir(p.root)
	home.git("init", "-q")
	home.write("letter", "mine\n")
	home.git("add", "letter")
	home.git("commit", "-q", "-m", "letter")
	home.write("letter", "changed\n")
	commit := home.git("rev-parse", "HEAD")
	require.NoError(t, os.MkdirAll(filepath.Join(p.work(), ".git"), 0o755))
	for range 2 {
		p.passes("one")
		require.Equal(t, commit, home.git("rev-parse", "HEAD"))
		text, err := os.ReadFile(filepath.Join(home.root, "letter"))
		require.NoError(t, err)
		require.Equal(t, "changed\n", string(text))
		require.NoError(t, os.Remove(filepath.Join(p.work(), ".git", "HEAD")))
	}
}

// TestTheEnvironmentDecidesNothing: variables and settings of the user that would make make
// skip commands or ignore errors, or Git change checked-out files.
func TestTheEnvironmentDecidesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	require.NoError(t, os.Symlink("content", filepath.Join(p.root, "link")))
	p.write("broken", "")
	p.commit()
	settings := filepath.Join(filepath.Dir(p.root), "gitconfig")
	require.NoError(t, os.MkdirAll(settings+".d/git", 0o755))
	require.NoError(t, os.WriteFile(settings+".d/git/attributes", []byte("* filter=smudge\n"), 0o644))
	hook := filepath.Join(settings+".d", "post-checkout")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	require.NoError(t, os.WriteFile(settings, []byte(`[core]
	autocrlf = true
	symlinks = false
	hooksPath = `+filepath.Dir(hook)+`
[filter "smudge"]
	smudge = sed s/one/smudged/
	clean = sed s/smudged/one/
`), 0o644))
	run := func() (printed, noted string, err error) {
		_ = os.Remove(p.log)
		cmd := p.command()
		cmd.Env = append(cmd.Env, "MAKEFLAGS=-i", "GNUMAKEFLAGS=-n", "SUITE=gator", "BUDGET=7h", "CDPATH=/usr", "GIT_DIR=/nowhere", "GIT_NAMESPACE=n",
			"GIT_CONFIG_GLOBAL="+settings, "XDG_CONFIG_HOME="+settings+".d")
		output, err := cmd.CombinedOutput()
		text, _ := os.ReadFile(p.log)
		return string(output), string(text), err
	}
	printed, noted, err := run()
	require.Error(t, err, printed)
	require.Contains(t, printed, "a test failed")
	require.Contains(t, noted, "content=one")
	require.NotContains(t, noted, "7h")
	target, err := os.Readlink(filepath.Join(p.work(), "link"))
	require.NoError(t, err)
	require.Equal(t, "content", target)
	text, err := os.ReadFile(filepath.Join(p.work(), "content"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(text))

	require.NoError(t, os.Remove(filepath.Join(p.root, "broken")))
	p.commit()
	printed, _, err = run()
	require.NoError(t, err, printed)
	require.NotContains(t, printed, "creating it again")
}

// TestACheckoutThatCannotBeRead leaves the work folder, and with it the record, as it was.
func TestACheckoutThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.passes("one")
	require.NoError(t, os.WriteFile(filepath.Join(p.work(), ".git", "record"), nil, 0o644))
	p.write("content", "two\n")
	p.commit()
	blob := p.git("rev-parse", "HEAD:content")
	require.NoError(t, os.Remove(filepath.Join(p.root, ".git", "objects", blob[:2], blob[2:])))
	printed, noted, err := p.run()
	require.Error(t, err)
	require.Empty(t, noted)
	require.Contains(t, printed, "cannot be checked out")
	require.FileExists(t, filepath.Join(p.work(), ".git", "record"))
}

// TestTestsThatChangeTheirFiles: what passed was not the commit.
func TestTestsThatChangeTheirFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("Makefile", makefile+"\t@echo three >content\n")
	p.commit()
	printed, _, err := p.run()
	require.Error(t, err)
	require.Contains(t, printed, "content: needs update")
	require.Contains(t, printed, "have changed these files")
}

// TestALockThatIsNeverReleased: a server that a test has left behind.
func TestALockThatIsNeverReleased(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("Makefile", makefile+"\t@setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $$! >$(LOG).pid\n")
	p.commit()
	p.passes("one")
	pid, err := os.ReadFile(p.log + ".pid")
	require.NoError(t, err)
	number, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(number, syscall.SIGKILL) })
	cmd := p.command()
	cmd.Env = append(cmd.Env, "LINTEL_CI_WAIT=1")
	output, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), fmt.Sprintf("the other run has not ended within 1 s: end %d sleep 60", number))
}

func TestTwoRunsAtATime(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("slow", "")
	p.commit()
	outputs := make(chan string, 2)
	for range 2 {
		go func() {
			output, err := p.command().CombinedOutput()
			outputs <- fmt.Sprintf("%s%v", output, err)
		}()
	}
	both := <-outputs + <-outputs
	require.Equal(t, 2, strings.Count(both, "passed in"), both)
	require.Equal(t, 1, strings.Count(both, "waiting for it to end"), both)
}

// TestAKilledRun: what a killed run has started goes on for a while, and the next run
// waits for it.
func TestAKilledRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("slow", "")
	p.commit()
	first := p.command()
	require.NoError(t, first.Start())
	require.Eventually(t, func() bool {
		_, err := os.Stat(p.log + ".slow")
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	printed, _, err := p.run()
	require.NoError(t, err, printed)
	require.Contains(t, printed, "waiting for it to end")
}

func TestAShallowClone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("content", "two\n")
	p.commit()
	shallow := p
	shallow.root = filepath.Join(t.TempDir(), "shallow")
	p.git("clone", "-q", "--depth=1", "file://"+p.root, shallow.root)
	require.NotContains(t, shallow.passes("two"), "creating it again")
	require.NotContains(t, p.passes("two"), "creating it again")
	history, err := exec.Command("git", "-C", p.work(), "rev-list", "--count", "HEAD").Output()
	require.NoError(t, err)
	require.Equal(t, "2\n", string(history), "the whole history is there again")
}

func TestWithoutGitTheTestsRunInPlace(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	require.NoError(t, os.RemoveAll(filepath.Join(p.root, ".git")))
	printed, noted, err := p.run()
	require.NoError(t, err, printed)
	require.Contains(t, printed, "is not a Git checkout")
	require.Contains(t, noted, p.root+" ")
}

func TestWhatCannotWorkIsAClearMessage(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	run := func(variables ...string) string {
		cmd := p.command()
		cmd.Env = append(cmd.Env, variables...)
		output, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.NoFileExists(t, p.log, "nothing ran: %s", output)
		return string(output)
	}
	require.Regexp(t, `\d+ GiB are free in .*, but a run may need 99999999 GiB: free some, or set XDG_CACHE_HOME`, run("LINTEL_CI_SPACE=99999999"))
	require.Contains(t, run("XDG_CACHE_HOME=", "HOME="), "set HOME or XDG_CACHE_HOME")
	require.Contains(t, run("XDG_CACHE_HOME=cache"), "is not an absolute path")
	for _, number := range []string{"1h", "1.5", "-5", "abc", "$(touch x)"} {
		require.Contains(t, run("LINTEL_CI_BUDGET="+number), "LINTEL_CI_BUDGET is '"+number+"', but must be a whole number")
		require.Contains(t, run("LINTEL_CI_SPACE="+number), "LINTEL_CI_SPACE is '"+number+"', but must be a whole number")
	}
	lock := filepath.Join(p.cache, "lintel", "ci", "lock")
	require.NoError(t, os.RemoveAll(lock))
	require.NoError(t, os.Mkdir(lock, 0o755))
	require.Contains(t, run(), "is a folder, but must be a file")
	require.NoError(t, os.Remove(lock))
	require.NoError(t, os.WriteFile(filepath.Join(p.root, ".git", "HEAD"), []byte("ref: refs/heads/missing\n"), 0o644))
	require.Contains(t, run(), "the commit of "+p.root+" is unknown")
}
