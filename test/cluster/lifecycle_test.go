package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait on a cluster that runs.
const patience = 2 * time.Minute

// program is the real one, built once for all tests.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withProgram(m.Run))
}

func withProgram(run func() int) int {
	if testing.Short() {
		return run()
	}
	folder, err := os.MkdirTemp("", "lintel-cluster-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program = filepath.Join(folder, "cluster")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v: %s", err, out)
		return 1
	}
	return run()
}

// harness runs the real program on a state directory of its own.
type harness struct {
	t     *testing.T
	dir   stateDir
	cache string // kubectl's
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	h := &harness{t: t, dir: stateDir(filepath.Join(t.TempDir(), "state")), cache: t.TempDir()}
	t.Cleanup(func() {
		out, err := exec.Command(program, "down", "--state-dir", string(h.dir)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return h
}

func (h *harness) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, append(args, "--state-dir", string(h.dir))...)
	// The configuration of the test run is not tested.
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "KUBEBUILDER_ASSETS=")
	return cmd
}

// run returns standard output and fails the test if the program fails.
func (h *harness) run(args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(h.t, cmd.Run(), "%v: %s", args, &stderr)
	return stdout.String()
}

func (h *harness) up(args ...string) report {
	h.t.Helper()
	var r report
	out := h.run(append([]string{"up", "-o", "json"}, args...)...)
	require.NoError(h.t, json.Unmarshal([]byte(out), &r), "standard output is the answer alone: %s", out)
	return r
}

// processes returns what belongs to the cluster, supervisor included.
func (h *harness) processes() []process.Identity {
	h.t.Helper()
	st, err := h.dir.load()
	require.NoError(h.t, err)
	require.NotNil(h.t, st)
	ids := []process.Identity{st.Supervisor}
	for _, id := range st.Components {
		ids = append(ids, id)
	}
	require.GreaterOrEqual(h.t, len(ids), 3, "a supervisor, etcd and an API server at least")
	return ids
}

func (h *harness) requireGone(ids []process.Identity) {
	h.t.Helper()
	for _, id := range ids {
		require.True(h.t, id.WaitGone(patience), "process %d still runs", id.PID)
	}
}

// kubectl runs one command against the cluster.
func (h *harness) kubectl(r report, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	k := kubectl{path: r.Binaries[binaries.Kubectl], kubeconfig: r.Kubeconfig, cache: h.cache}
	return k.run(ctx, stdin, args...)
}

func (h *harness) must(r report, stdin string, args ...string) string {
	h.t.Helper()
	out, err := h.kubectl(r, stdin, args...)
	require.NoError(h.t, err)
	return out
}

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
`

const issuance = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: root, namespace: default}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: default}
spec: {secretName: serving-tls, dnsNames: [localhost], issuerRef: {name: root}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: probe, annotations: {cert-manager.io/inject-ca-from: default/serving}}
webhooks:
- name: probe.lintel.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:9/"}
`

func TestClusterFromUpToDown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r := h.twoUps()
	require.True(t, r.CertManager)
	info, err := os.Stat(r.Kubeconfig)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// No waiting: up promises that a Pod can be created straight after.
	h.must(r, "", "run", "first", "--image=example.com/first:1")
	h.must(r, workload, "apply", "-f", "-")
	h.must(r, "", "rollout", "status", "deployment/web", "--timeout=90s")

	require.Equal(t, r, h.up(), "a second up answers with what runs")
	require.Contains(t, h.run("status"), r.Server)

	cmd := h.command("up", "--use-existing-kubeconfig", "-o", "json")
	cmd.Env = append(cmd.Env, "KUBECONFIG="+r.Kubeconfig)
	out, err := cmd.Output()
	require.NoError(t, err)
	var found report
	require.NoError(t, json.Unmarshal(out, &found))
	require.Equal(t, r.Server, found.Server)
	require.True(t, found.CertManager)
	require.Zero(t, found.PID, "nothing was started")

	h.must(r, issuance, "apply", "-f", "-")
	h.must(r, "", "wait", "--for=condition=Ready", "certificate/serving", "--timeout=90s")
	require.Equal(t, "kubernetes.io/tls", h.must(r, "", "get", "secret", "serving-tls", "-o", "jsonpath={.type}"))
	authority := h.must(r, "", "get", "secret", "serving-tls", "-o", `jsonpath={.data.ca\.crt}`)
	require.Eventually(t, func() bool {
		out, err := h.kubectl(r, "", "get", "validatingwebhookconfiguration", "probe",
			"-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
		return err == nil && out == authority
	}, patience, 200*time.Millisecond, "the CA of the certificate is injected")
	decoded, err := base64.StdEncoding.DecodeString(authority)
	require.NoError(t, err)
	require.Contains(t, string(decoded), "BEGIN CERTIFICATE")

	before := h.processes()
	h.run("restart", binaries.Etcd, binaries.APIServer)
	require.Equal(t, "3", h.must(r, "", "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"),
		"data and port survive a restart")
	h.must(r, strings.ReplaceAll(workload, "web", "after"), "apply", "-f", "-")
	h.must(r, "", "rollout", "status", "deployment/after", "--timeout=120s")
	h.run("stop", binaries.Scheduler)
	require.Contains(t, h.run("status"), "stopped [kube-scheduler]")
	h.run("start")

	after := h.processes()
	h.run("down")
	h.requireGone(append(before, after...))
	require.NoDirExists(t, h.dir.path("etcd"))
	require.Error(t, h.command("status").Run(), "status says that nothing runs")
	h.run("down")
}

// twoUps runs up twice at the same time, and returns the one cluster that both answer with.
func (h *harness) twoUps() report {
	h.t.Helper()
	outputs := make(chan string, 2)
	for range 2 {
		cmd := h.command("up", "-o", "json")
		go func() {
			out, err := cmd.Output()
			if err != nil {
				out = []byte(err.Error())
			}
			outputs <- string(out)
		}()
	}
	first := <-outputs
	require.Equal(h.t, first, <-outputs)
	var r report
	require.NoError(h.t, json.Unmarshal([]byte(first), &r), first)
	return r
}

// leastOf is what supervising takes: etcd and the API server.
var leastOf = []string{"up", "-o", "json", "--without", "kube-controller-manager,kube-scheduler,kwok,cert-manager"}

func TestNothingOutlivesItsReason(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	// Programs that were built elsewhere are used as they are.
	built := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(h.run("build", "-o", "json")), &built))
	assets := t.TempDir()
	for _, name := range []string{binaries.Etcd, binaries.APIServer, binaries.Kubectl} {
		require.NoError(t, os.Symlink(built[name], filepath.Join(assets, name)))
	}
	cmd := h.command(leastOf...)
	cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+assets)
	out, err := cmd.Output()
	require.NoError(t, err)
	var first report
	require.NoError(t, json.Unmarshal(out, &first))
	require.Equal(t, map[string]string{
		binaries.Etcd: filepath.Join(assets, binaries.Etcd), binaries.APIServer: filepath.Join(assets, binaries.APIServer),
		binaries.Kubectl: filepath.Join(assets, binaries.Kubectl),
	}, first.Binaries)

	said, err := h.command("up").CombinedOutput()
	require.Error(t, err, "a cluster without cert-manager is not what was asked for")
	require.Contains(t, string(said), "runs without kube-controller-manager,kube-scheduler,kwok,cert-manager; run down first")

	// A crash of the supervisor.
	ids := h.processes()
	require.NoError(t, syscall.Kill(first.PID, syscall.SIGKILL))
	h.requireGone(ids)
	require.Error(t, h.command("status").Run())

	// The death of a component, of a cluster that clears what the crash left.
	var second report
	require.NoError(t, json.Unmarshal([]byte(h.run(leastOf...)), &second))
	require.NotEqual(t, first.PID, second.PID)
	require.Equal(t, built[binaries.Etcd], second.Binaries[binaries.Etcd])
	st, err := h.dir.load()
	require.NoError(t, err)
	ids = h.processes()
	require.NoError(t, st.Components[binaries.APIServer].Signal(syscall.SIGKILL))
	h.requireGone(ids)
	said, err = h.command("status").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "kube-apiserver ended by itself: signal: killed")
	require.Contains(t, string(said), h.dir.log(binaries.APIServer))
	h.run("down")
}

// TestFewComponents is what make run starts: without a controller manager, Pods are
// created all the same, and certificates are issued.
func TestFewComponents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r := h.up("--without", "kube-controller-manager,kube-scheduler,kwok")
	require.True(t, r.CertManager)
	require.NotContains(t, r.Binaries, binaries.Scheduler)
	require.NotContains(t, h.run("status"), "stopped", "what was left out is not missing")
	h.must(r, "", "create", "namespace", "other")
	h.must(r, "", "run", "first", "--image=example.com/first:1", "--namespace=other")
	h.must(r, issuance, "apply", "-f", "-")
	h.must(r, "", "wait", "--for=condition=Ready", "certificate/serving", "--timeout=90s")

	// It ends with its state directory.
	ids := h.processes()
	require.NoError(t, os.RemoveAll(string(h.dir)))
	h.requireGone(ids)
}

func TestNothingOutlivesAnUpThatEnds(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"an interrupt": syscall.SIGINT, "a crash": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			cmd := h.command(leastOf...)
			progress, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			awaitLine(t, progress, "starting kube-apiserver")
			require.Eventually(t, func() bool {
				st, err := h.dir.load()
				return err == nil && st != nil && len(st.Components) == 2
			}, patience, 20*time.Millisecond)
			ids := h.processes()
			require.NoError(t, cmd.Process.Signal(signal))
			require.Error(t, cmd.Wait())
			h.requireGone(ids)
			require.Eventually(t, func() bool {
				_, err := os.Stat(h.dir.file())
				return os.IsNotExist(err)
			}, patience, 50*time.Millisecond, "and its state is cleared")
		})
	}
}

func TestFailureToStartShowsTheLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	assets := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'etcd Version: 3.6.8'; exit; }\necho 'no space left on device' >&2\nexit 3\n"
	require.NoError(t, os.WriteFile(filepath.Join(assets, binaries.Etcd), []byte(script), 0o755))
	cmd := h.command(leastOf...)
	cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+assets)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "etcd ended by itself: exit status 3")
	require.Contains(t, string(out), "no space left on device")
	require.Contains(t, string(out), h.dir.log(binaries.Etcd))
}

// TestTakenPortsAreReplaced: two clusters that start at the same time may choose one port.
func TestTakenPortsAreReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	assets, starts := t.TempDir(), filepath.Join(t.TempDir(), "starts")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'etcd Version: 3.6.8'; exit; }\necho \"$@\" >>" + starts + "\necho 'listen tcp 127.0.0.1:1: bind: address already in use' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(assets, binaries.Etcd), []byte(script), 0o755))
	up := func(args ...string) []string {
		require.NoError(t, os.RemoveAll(starts))
		cmd := h.command(append(leastOf, args...)...)
		cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+assets)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "address already in use")
		text, err := os.ReadFile(starts)
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	tried := up()
	require.Len(t, tried, portAttempts)
	require.NotEqual(t, tried[0], tried[1], "the ports are others")
	require.Len(t, up("--api-port=29998"), 1, "the given port stays")
}

// awaitLine reads until a line holds text and keeps draining afterwards, so
// that the writer never blocks.
func awaitLine(t *testing.T, from io.Reader, text string) {
	t.Helper()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			go func() { _, _ = io.Copy(io.Discard, from) }()
			return
		}
	}
	t.Fatalf("the output ended without %q", text)
}
