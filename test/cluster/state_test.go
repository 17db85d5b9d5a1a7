package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"github.com/stretchr/testify/require"
)

func TestStateSurvivesAFile(t *testing.T) {
	dir := stateDir(t.TempDir())
	none, err := dir.load()
	require.NoError(t, err)
	require.Nil(t, none)

	want := &state{
		Phase: phaseReady, Ports: ports{APIServer: 20001}, Without: []string{binaries.Kwok},
		Supervisor: process.Identity{PID: 7, Started: "1"},
		Components: map[string]process.Identity{binaries.Etcd: {PID: 8, Started: "2"}},
		Binaries:   binaries.Set{binaries.Kubectl: "/bin/kubectl", binaries.KwokStages: "/stages"},
	}
	require.NoError(t, dir.save(want))
	got, err := dir.load()
	require.NoError(t, err)
	require.Equal(t, want, got)

	info, err := os.Stat(dir.file())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, report{
		Kubeconfig: dir.path("kubeconfig"), Server: "https://127.0.0.1:20001", StateDir: string(dir), PID: 7,
		Binaries: map[string]string{binaries.Kubectl: "/bin/kubectl"}, CertManager: true,
	}, got.report(dir))
}

func TestParseStateRefusesOtherFiles(t *testing.T) {
	for _, content := range []string{"", "{", "[]", "{}", `{"phase":"upside down"}`} {
		_, err := parseState([]byte(content))
		require.ErrorContains(t, err, "not the state of a cluster", content)
	}
}

func TestClaimRefusesForeignFolders(t *testing.T) {
	dir := stateDir(filepath.Join(t.TempDir(), "new"))
	require.NoError(t, dir.claim())
	require.NoError(t, dir.save(&state{Phase: phaseReady}))
	require.NoError(t, os.WriteFile(dir.path(partialPrefix+"x"), nil, 0o600))
	require.NoError(t, dir.claim(), "what a cluster leaves is not foreign")
	require.NoError(t, dir.clean())
	require.NoFileExists(t, dir.file())
	require.NoFileExists(t, dir.path(partialPrefix+"x"))
	require.DirExists(t, dir.path("logs"))

	require.NoError(t, os.WriteFile(dir.path("thesis.tex"), nil, 0o600))
	require.ErrorContains(t, dir.claim(), "thesis.tex")
	require.ErrorContains(t, stateDir(dir.path("thesis.tex", "x")).claim(), "--state-dir")
}

func TestOnlyTheLockMeansRunning(t *testing.T) {
	dir := stateDir(t.TempDir())
	self, err := process.IdentityOf(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, dir.save(&state{Phase: phaseReady, Supervisor: self}))

	running, err := dir.running()
	require.NoError(t, err)
	require.False(t, running, "a recorded process that lives may be any process")
	_, err = runningState(dir)
	require.ErrorContains(t, err, "has died")

	lock, err := process.TryLock(dir.supervisorLock())
	require.NoError(t, err)
	defer lock.Unlock()
	running, err = dir.running()
	require.NoError(t, err)
	require.True(t, running)
}

func TestLeftoversAreExactProcesses(t *testing.T) {
	self, err := process.IdentityOf(os.Getpid())
	require.NoError(t, err)
	st := &state{Components: map[string]process.Identity{
		"this":   self,
		"reused": {PID: self.PID, Started: "another time"},
		"gone":   {PID: 1 << 30, Started: "1"},
	}}
	require.Equal(t, []process.Identity{self}, st.leftovers())
}
