package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// phase is how far the cluster has come.
type phase string

const (
	phaseStarting phase = "starting"
	phaseReady    phase = "ready"
	phaseEnded    phase = "ended"
)

// state is everything about one cluster that outlives a command. The
// supervisor is its only writer while it runs.
type state struct {
	Phase phase `json:"phase"`
	// Without are the components that were left out.
	Without []string `json:"without,omitempty"`
	// Reason is the cause of an unexpected end of a cluster.
	Reason     string                      `json:"reason,omitempty"`
	Supervisor process.Identity            `json:"supervisor"`
	Components map[string]process.Identity `json:"components"`
	Owners     []process.Identity          `json:"owners,omitempty"`
	Control    endpoint                    `json:"control"`
	Ports      ports                       `json:"ports"`
	Binaries   binaries.Set                `json:"binaries"`
	// Nodes is kwok or real.
	Nodes string `json:"nodes"`
	// Cgroup is the name of the control group that real Pods are in.
	Cgroup string `json:"cgroup,omitempty"`
}

// Ways to have nodes.
const (
	kwokNodes = "kwok"
	realNodes = "real"
)

// endpoint is where the supervisor takes orders.
type endpoint struct {
	Address string `json:"address"`
	Token   string `json:"token"`
}

// report is the machine-readable answer of up and status; its fields are a
// contract with the tests that call this program.
type report struct {
	Kubeconfig  string            `json:"kubeconfig"`
	Server      string            `json:"server"`
	StateDir    string            `json:"stateDir"`
	PID         int               `json:"pid"`
	Binaries    map[string]string `json:"binaries"`
	CertManager bool              `json:"certManager"`
	Nodes       string            `json:"nodes,omitempty"`
	// Registry is the address of the registry that real nodes can pull from.
	Registry string `json:"registry,omitempty"`
}

func (s *state) report(dir stateDir) report {
	programs := map[string]string{}
	for name, path := range s.Binaries {
		if name != binaries.KwokStages && name != binaries.CertManagerCRDs {
			programs[name] = path
		}
	}
	var registry string
	if s.Nodes == realNodes {
		registry = loopback(s.Ports.Registry)
	}
	return report{
		Kubeconfig:  dir.kubeconfig(),
		Server:      s.Ports.server(),
		StateDir:    string(dir),
		PID:         s.Supervisor.PID,
		Binaries:    programs,
		CertManager: s.has(binaries.CertManager),
		Nodes:       s.Nodes,
		Registry:    registry,
	}
}

// has says whether the cluster was started with a component that can be left out.
func (s *state) has(name string) bool { return !slices.Contains(s.Without, name) }

// leftovers are the processes that should be gone and are not.
func (s *state) leftovers() []process.Identity {
	var left []process.Identity
	for _, id := range s.Components {
		if id.Alive() {
			left = append(left, id)
		}
	}
	return left
}

// stateDir is the folder of one cluster.
type stateDir string

func (d stateDir) path(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}
func (d stateDir) file() string           { return d.path("cluster.json") }
func (d stateDir) kubeconfig() string     { return d.path("kubeconfig") }
func (d stateDir) supervisorLock() string { return d.path("supervisor.lock") }
func (d stateDir) commandLock() string    { return d.path("command.lock") }
func (d stateDir) log(name string) string { return d.path("logs", name+".log") }

// owned are the entries that belong to a cluster; down deletes data and
// nothing else, so a mistyped --state-dir never costs anybody a folder.
var (
	ownedData  = []string{"cluster.json", "kubeconfig", "etcd", "pki", "cache", nodeFolder}
	ownedOther = []string{"logs", "supervisor.lock", "command.lock"}
)

// claim makes the folder ready for use and refuses one with foreign content.
func (d stateDir) claim() error {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading state directory: %w; choose another with --state-dir", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !slices.Contains(ownedData, name) && !slices.Contains(ownedOther, name) && !strings.HasPrefix(name, partialPrefix) {
			return fmt.Errorf("state directory %s holds %q, which is not part of a cluster; choose an empty folder with --state-dir", d, name)
		}
	}
	if err := os.MkdirAll(d.path("logs"), 0o700); err != nil {
		return fmt.Errorf("creating state directory: %w; choose another with --state-dir", err)
	}
	return nil
}

// clean deletes the cluster's data and keeps its logs.
func (d stateDir) clean() error {
	partial, err := filepath.Glob(d.path(partialPrefix + "*"))
	if err != nil {
		return fmt.Errorf("listing unfinished files: %w", err)
	}
	names := slices.Clone(ownedData)
	for _, path := range partial {
		names = append(names, filepath.Base(path))
	}
	for _, name := range names {
		if err := os.RemoveAll(d.path(name)); err != nil {
			return fmt.Errorf("deleting cluster data: %w", err)
		}
	}
	return nil
}

// load returns the recorded state, or nil if there is none.
func (d stateDir) load() (*state, error) {
	content, err := os.ReadFile(d.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading cluster state: %w", err)
	}
	s, err := parseState(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; run down to clear it", d.file(), err)
	}
	return s, nil
}

func parseState(content []byte) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("not the state of a cluster: %w", err)
	}
	if s.Phase != phaseStarting && s.Phase != phaseReady && s.Phase != phaseEnded {
		return nil, fmt.Errorf("not the state of a cluster: unknown phase %q", s.Phase)
	}
	return s, nil
}

// save writes through a rename, so that a reader never sees half a file.
func (d stateDir) save(s *state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding cluster state: %w", err)
	}
	return writePrivate(d.file(), content)
}

// partialPrefix marks files that were not finished when a process was killed.
const partialPrefix = ".partial-"

// writePrivate replaces a file that only its owner may read.
func writePrivate(path string, content []byte) error {
	partial, err := os.CreateTemp(filepath.Dir(path), partialPrefix+"*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() { _ = os.Remove(partial.Name()) }()
	_, err = partial.Write(content)
	if err := errors.Join(err, partial.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(partial.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// running says whether a supervisor holds the folder. Only its lock counts: a
// recorded process id may be anybody's by now.
func (d stateDir) running() (bool, error) {
	lock, err := process.TryLock(d.supervisorLock())
	switch {
	case errors.Is(err, process.ErrLocked):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	lock.Unlock()
	return false, nil
}
