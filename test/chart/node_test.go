package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lintel-policy/lintel/test/installation"
)

const (
	managerImage = "localhost/lintel-manager"
	// present and previous are the versions of the images, of this checkout and of the
	// state before it.
	present  = "v0.0.2-present"
	previous = "v0.0.1-previous"
)

// node is a cluster whose Pods run.
type node struct {
	kubeconfig, stateDir, helmPath string
	binaries                       map[string]string
	client                         kubernetes.Interface
	// races is the folder where managers report data races.
	races string
}

func startNode(t *testing.T) node {
	t.Helper()
	return startCluster(t, "--nodes=real")
}

// startCluster starts one, by further flags.
func startCluster(t *testing.T, flags ...string) node {
	t.Helper()
	n := node{stateDir: filepath.Join(t.TempDir(), "cluster"), helmPath: filepath.Join(t.TempDir(), "helm"), races: raceFolder(t)}
	run(t, ".", "go", "build", "-o", n.helmPath, "helm.sh/helm/v4/cmd/helm")
	var answer struct {
		Kubeconfig string
		Binaries   map[string]string
	}
	up := run(t, "../cluster", append([]string{"go", "run", ".", "up", "--state-dir", n.stateDir, "--owner-pid", fmt.Sprint(os.Getpid()), "-o", "json"}, flags...)...)
	require.NoError(t, json.Unmarshal([]byte(up), &answer))
	t.Cleanup(func() { run(t, "../cluster", "go", "run", ".", "down", "--state-dir", n.stateDir) })
	n.kubeconfig, n.binaries = answer.Kubeconfig, answer.Binaries

	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	require.NoError(t, err)
	config.QPS = -1 // as many as the tests ask for
	n.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return n
}

// run gives what a command prints.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, output(folder, &out, args...))
	return out.String()
}

// output runs a command in a folder, whose output goes to a buffer if there is one.
func output(folder string, out *bytes.Buffer, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	var problems bytes.Buffer
	cmd.Dir, cmd.Stderr = folder, &problems
	if out != nil {
		cmd.Stdout = out
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, problems.String())
	}
	return nil
}

// inBackground begins something, and returns what waits for it. The test waits in any case.
func inBackground(t *testing.T, do func() error) (wait func() error) {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	wait = sync.OnceValue(func() error { return <-ended })
	t.Cleanup(func() { _ = wait() })
	return wait
}

func (n node) importImages(t *testing.T, folder string) {
	t.Helper()
	run(t, "../cluster", "go", "run", ".", "image", "import", "--state-dir", n.stateDir, folder)
}

// kubectl gives what kubectl prints on both outputs.
func (n node) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	return n.call(exec.CommandContext(ctx, n.binaries["kubectl"], args...), input)
}

func (n node) call(cmd *exec.Cmd, input string) (string, error) {
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig, "KUBERC=off")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (n node) must(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := n.kubectl(t.Context(), input, args...)
	require.NoError(t, err, out)
	return out
}

// helmCommand is a command of Helm for the namespace of the release.
func (n node) helmCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, n.helmPath, append(args, "--namespace", namespace)...)
}

// helm gives what helm prints on both outputs.
func (n node) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return n.call(n.helmCommand(t.Context(), args...), "")
}

func (n node) mustHelm(t *testing.T, args ...string) {
	t.Helper()
	out, err := n.helm(t, args...)
	require.NoError(t, err, out)
}

// values are the flags of Helm for the image of a version, and for further values as
// --set has them.
func values(version string, more ...string) []string {
	given := append([]string{"crds.keep=false", "image.repository=" + managerImage, "image.tag=" + version}, more...)
	if installation.Raced() {
		given = append(given, "resources.limits.memory=4Gi") // the race detector needs up to ten times as much
	}
	return []string{"--set", strings.Join(given, ",")}
}

// wait are the flags with which Helm waits until the objects are ready.
func wait(limit time.Duration) []string { return []string{"--wait", "--timeout", limit.String()} }

func (n node) install(t *testing.T, chart, version string) {
	t.Helper()
	n.mustHelm(t, slices.Concat([]string{"install", "lintel", chart, "--create-namespace"}, values(version), wait(2*time.Minute))...)
	n.mustBeTaken(t, policy)
	n.must(t, "", "wait", "--for=condition=Ready", "--timeout=1m", "policysource/no-secrets")
	require.Eventually(t, func() bool { return n.verdict(t.Context(), "hidden") == denied }, time.Minute, 200*time.Millisecond)
}

// mustBeTaken applies manifests: a moment after Pods are ready their Service leads to them.
func (n node) mustBeTaken(t *testing.T, manifests string, args ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		out, err := n.kubectl(t.Context(), manifests, append([]string{"apply", "--server-side", "-f", "-"}, args...)...)
		if err != nil {
			t.Log(out)
		}
		return err == nil
	}, 30*time.Second, 200*time.Millisecond)
}

// upgrade returns the error of Helm with its output.
func (n node) upgrade(t *testing.T, limit time.Duration, more ...string) error {
	t.Helper()
	out, err := n.helm(t, slices.Concat([]string{"upgrade", "lintel", folder}, values(present, more...), wait(limit))...)
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (n node) uninstall(t *testing.T) {
	t.Helper()
	n.mustHelm(t, append([]string{"uninstall", "lintel"}, wait(2*time.Minute)...)...)
}

// managers are the Pods of the manager that are not being deleted.
func (n node) managers(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := n.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=manager"})
	if err != nil {
		t.Log(err)
		return nil
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// readyManagers are the names of those that answer.
func (n node) readyManagers(t *testing.T) (names []string) {
	t.Helper()
	for _, pod := range n.managers(t) {
		if isReady(pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// settle waits until all replicas are ready, and nothing else is there.
func (n node) settle(t *testing.T) {
	t.Helper()
	n.must(t, "", "rollout", "status", "deployment/lintel-manager", "--namespace", namespace, "--timeout=2m")
}

// eventually waits for what a node comes to by itself.
func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, 5*time.Minute, 200*time.Millisecond, what)
}
