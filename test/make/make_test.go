// Package make tests what the Makefile promises: that a target installs only its own
// requirements, and announces them first.
package make

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a PATH with nothing but a shell's basics and programs that only note how
// they were called.
type machine struct {
	t           *testing.T
	folder, log string
}

func newMachine(t *testing.T, programs map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, folder: t.TempDir()}
	_, err := os.ReadFile("../../Makefile") // so that a change of it invalidates the cached success
	require.NoError(t, err)
	m.log = filepath.Join(m.folder, "log")
	for _, name := range []string{"bash", "sh", "make", "awk", "cat", "dirname"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(m.folder, name)))
	}
	for name, body := range programs {
		script := "#!/bin/bash\necho " + name + ` "$@" >>` + m.log + "\n" + body + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(m.folder, name), []byte(script), 0o755))
	}
	return m
}

// make runs a target, and returns its output, the called programs and whether it succeeded.
func (m *machine) make(arguments ...string) (printed, called string, ok bool) {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), filepath.Join(m.folder, "make"), arguments...)
	command.Dir = "../.."
	command.Env = []string{"PATH=" + m.folder}
	output, err := command.CombinedOutput()
	text, readErr := os.ReadFile(m.log)
	if !os.IsNotExist(readErr) {
		require.NoError(m.t, readErr)
	}
	return string(output), string(text), err == nil
}

func TestRunInstallsNothingThatOnlyTestsNeed(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": "exit 1", "diff": "", "id": "echo 0", "apt-get": ""})
	printed, called, ok := m.make("run")
	require.False(t, ok, "there is nothing to run here")
	require.Contains(t, called, "go build ")
	require.NotContains(t, called, "apt-get")
	require.NotContains(t, printed, "missing:")
}

func TestMissingProgramsAreReportedFirst(t *testing.T) {
	t.Parallel()
	present := map[string]string{"go": "", "git": "", "diff": "", "gcc": "", "id": "echo 1000"}
	m := newMachine(t, present)
	printed, called, ok := m.make("test")
	require.False(t, ok)
	require.Contains(t, printed, "missing: puppetserver (a real Puppet CA, for OpenVox)")
	require.Regexp(t, "install them with: sudo apt-get install .*postgresql.* puppetserver", printed)
	require.NotContains(t, printed, "gcc", "it is there")
	require.NotContains(t, called, "go ", "nothing was started")

	present["id"], present["apt-get"] = "echo 0", ""
	m = newMachine(t, present)
	printed, called, _ = m.make("test")
	require.Regexp(t, "apt-get install --yes .*postgresql.* puppetserver", called)
	require.Less(t, strings.Index(printed, "missing: postgresql"), strings.Index(printed, "installing: "))
}

// TestTheArgumentsReachTheSuites: the choice and the budget are those of the command line,
// and a red run is red.
func TestTheArgumentsReachTheSuites(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"git": "", "diff": "", "gcc": "", "runc": "", "nft": "", "pg_createcluster": "", "puppetserver": "", "puppet": "", "mmdebstrap": "", "puppetdb": "", "id": "echo 0", "go": "exit 1"}
	for target, want := range map[string]string{
		"test BUDGET=60s": "go run ./test/suites --budget=60s", "test SUITE=gator": "go run ./test/suites gator",
		"test-all": "go run ./test/suites --all", "test-long": "go run ./test/suites --long --warn-after=0",
	} {
		m := newMachine(t, programs)
		printed, called, ok := m.make(strings.Fields(target)...)
		require.False(t, ok, printed)
		require.Contains(t, called, want)
		require.Regexp(t, `make test\S*: \d+ s`, printed)
	}
}

// TestStack: Helm gets the release, the namespace and the values.
func TestStack(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{"go": "exit 1"})
	printed, called, ok := m.make("stack", "STACK=a", "STACK_NAMESPACE=b", "STACK_VALUES=c.yaml")
	require.False(t, ok, "there is no Helm here")
	require.Contains(t, called, "go build ")
	require.Contains(t, printed, `--namespace "b" upgrade --install --create-namespace --values "c.yaml" "a" config/chart/openvox-stack`)
	printed, _, _ = m.make("unstack", "STACK=a", "STACK_NAMESPACE=b")
	require.Contains(t, printed, `--namespace "b" uninstall --ignore-not-found "a"`)
}
