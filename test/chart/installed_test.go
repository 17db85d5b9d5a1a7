package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	sigsyaml "sigs.k8s.io/yaml"
)

// node is a cluster whose Pods run, with the image of this checkout.
type node struct {
	kubeconfig, kubectl string
	// tag is that of the image.
	tag string
}

func startNode(t *testing.T) node {
	t.Helper()
	state := filepath.Join(t.TempDir(), "cluster")
	var answer struct {
		Kubeconfig string
		Binaries   map[string]string
	}
	up := run(t, "../cluster", "go", "run", ".", "up", "--nodes=real", "--state-dir", state, "--owner-pid", fmt.Sprint(os.Getpid()), "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(up), &answer))
	t.Cleanup(func() { run(t, "../cluster", "go", "run", ".", "down", "--state-dir", state) })

	images := filepath.Join(t.TempDir(), "images")
	run(t, "../../config/release", "go", "run", ".", "image", images, "--only", "lintel-manager", "--platform", "linux/"+runtime.GOARCH, "--version", "v0.0.1-test")
	run(t, "../cluster", "go", "run", ".", "image", "import", "--state-dir", state, images)
	return node{answer.Kubeconfig, answer.Binaries["kubectl"], "v0.0.1-test"}
}

// run gives what a command prints.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &problems
	require.NoError(t, cmd.Run(), "%v: %s", args, problems.String())
	return out.String()
}

// ask gives what kubectl prints on both outputs.
func (n node) ask(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, n.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig, "KUBERC=off")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (n node) must(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := n.ask(t.Context(), input, args...)
	require.NoError(t, err, out)
	return out
}

func (n node) helm(t *testing.T) *action.Configuration {
	t.Helper()
	t.Setenv("KUBECONFIG", n.kubeconfig)
	settings := cli.New()
	settings.SetNamespace(namespace)
	config := action.NewConfiguration()
	require.NoError(t, config.Init(settings.RESTClientGetter(), namespace, ""))
	return config
}

// values are those of the tests, and more of their own in YAML.
func (n node) values(t *testing.T, more string) map[string]any {
	t.Helper()
	given := map[string]any{}
	text := fmt.Sprintf("image: {repository: localhost/lintel-manager, tag: %s, pullPolicy: Never}\ncrds: {keep: false}\n%s", n.tag, more)
	require.NoError(t, sigsyaml.Unmarshal([]byte(text), &given))
	return given
}

func (n node) install(t *testing.T) {
	t.Helper()
	chart, err := loader.Load(folder)
	require.NoError(t, err)
	install := action.NewInstall(n.helm(t))
	install.ReleaseName, install.Namespace, install.CreateNamespace = "lintel", namespace, true
	install.WaitStrategy, install.Timeout, install.ServerSideApply = kube.StatusWatcherStrategy, 2*time.Minute, true
	_, err = install.RunWithContext(t.Context(), chart, n.values(t, ""))
	require.NoError(t, err)
	n.must(t, policy, "apply", "--server-side", "-f", "-")
	n.must(t, "", "wait", "--for=condition=Ready", "--timeout=1m", "policysource/no-secrets")
	require.Eventually(t, func() bool { _, denied := n.verdict(t.Context(), "hidden"); return denied }, time.Minute, 200*time.Millisecond)
}

func (n node) uninstall(t *testing.T) {
	t.Helper()
	uninstall := action.NewUninstall(n.helm(t))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	_, err := uninstall.Run("lintel")
	require.NoError(t, err)
}

const policy = `
apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata: {name: no-secrets}
spec:
  inline:
    files:
      config_maps.rego: |
        # METADATA
        # title: ConfigMaps hide nothing
        # description: ConfigMaps are readable by many.
        # custom:
        #   match:
        #     kinds: [{group: "", kind: ConfigMap}]
        #     operations: [CREATE, UPDATE]
        package config_maps

        import rego.v1

        # METADATA
        # title: No value is hidden
        # description: The image has no time zones but the program's own.
        deny contains "put it into a Secret" if {
            input.request.object.data.value == "hidden"
            time.clock([0, "Europe/Berlin"]) == [1, 0, 0]
        }
`

// verdict creates a ConfigMap, for nothing: problem is what went wrong that was neither
// an admission nor the policy's denial.
func (n node) verdict(ctx context.Context, value string) (problem string, denied bool) {
	out, err := n.ask(ctx, "", "create", "configmap", "asked", "--namespace=default", "--dry-run=server", "--from-literal=value="+value)
	switch {
	case err == nil:
		return "", false
	case strings.Contains(out, "put it into a Secret"):
		return "", true
	}
	return out, false
}

// load asks again and again until it is stopped, and gives the number of answers and
// what was wrong with some.
func (n node) load(t *testing.T) (stop func() (answers int, wrong []string)) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	var answers int
	var wrong []string
	for _, value := range []string{"hidden", "open"} {
		all.Go(func() {
			for ctx.Err() == nil {
				problem, denied := n.verdict(ctx, value)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				answers++
				if problem != "" || denied != (value == "hidden") {
					wrong = append(wrong, fmt.Sprintf("%s %s: denied %v %s", time.Now().Format(time.TimeOnly), value, denied, problem))
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, []string) {
		cancel()
		all.Wait()
		return answers, wrong
	}
}

// TestInstalled: what a cluster with the chart goes through, from installing to nothing
// left, without a request that is not decided.
func TestInstalled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a node whose Pods run needs root")
	}
	n := startNode(t)
	n.install(t)
	assert.Contains(t, n.must(t, "", "logs", "--namespace", namespace, "deployment/lintel-manager"), `"version":"manager v0.0.1-test, commit `)

	stop := n.load(t)
	chart, err := loader.Load(folder)
	require.NoError(t, err)
	upgrade := action.NewUpgrade(n.helm(t))
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = namespace, kube.StatusWatcherStrategy, 2*time.Minute
	_, err = upgrade.RunWithContext(t.Context(), "lintel", chart, n.values(t, "replicas: 3\nflags: {decision-log: all}"))
	require.NoError(t, err)
	assert.Equal(t, "3", n.must(t, "", "get", "deployment", "lintel-manager", "--namespace", namespace, "-o", "jsonpath={.status.readyReplicas}"))
	rollback := action.NewRollback(n.helm(t))
	rollback.WaitStrategy, rollback.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	require.NoError(t, rollback.Run("lintel"))
	n.must(t, "", "rollout", "status", "deployment/lintel-manager", "--namespace", namespace, "--timeout=2m")
	pods := strings.Fields(n.must(t, "", "get", "pods", "--namespace", namespace, "-l", "app.kubernetes.io/component=manager", "-o", "name"))
	for _, pod := range pods {
		if _, err := n.ask(t.Context(), "", "delete", pod, "--namespace", namespace, "--wait=false"); err == nil {
			n.must(t, "", "rollout", "status", "deployment/lintel-manager", "--namespace", namespace, "--timeout=2m")
		}
	}
	before := n.expiries(t)
	require.Len(t, before, 2)
	n.must(t, "", "delete", "secret", "lintel-serving-cert", "--namespace", namespace)
	require.Eventually(t, func() bool {
		after := n.expiries(t)
		return len(after) == 2 && !slices.ContainsFunc(after, func(e string) bool { return slices.Contains(before, e) })
	}, 2*time.Minute, 500*time.Millisecond, "another pair is issued, and every manager serves it")
	answers, wrong := stop()
	assert.Empty(t, wrong, "of %d requests", answers)
	assert.Greater(t, answers, 50)

	n.uninstall(t)
	n.nothingIsLeft(t)
	t.Run("while no manager runs", func(t *testing.T) {
		n.install(t)
		n.must(t, "", "scale", "deployment/lintel-manager", "--namespace", namespace, "--replicas=0")
		require.Eventually(t, func() bool { problem, _ := n.verdict(t.Context(), "open"); return problem != "" }, time.Minute, 200*time.Millisecond,
			"what fails closed is denied while nobody answers")
		n.uninstall(t)
		n.nothingIsLeft(t)
	})
	t.Run("when its namespace goes first", func(t *testing.T) {
		n.install(t)
		n.must(t, "", "scale", "deployment/lintel-manager", "--namespace", namespace, "--replicas=0")
		n.must(t, "", "delete", "namespace", namespace, "--wait=false")
		n.nothingIsRegistered(t)
	})
}

// expiries are when the certificates expire that the managers serve.
func (n node) expiries(t *testing.T) (all []string) {
	t.Helper()
	for _, pod := range strings.Fields(n.must(t, "", "get", "pods", "--namespace", namespace, "-l", "app.kubernetes.io/component=manager",
		"--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].metadata.name}")) {
		metrics, err := n.ask(t.Context(), "", "get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+pod+":8080/proxy/metrics")
		if err != nil {
			continue // it ends
		}
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, `lintel_certificate_expiry_timestamp_seconds{certificate="leaf"}`) {
				all = append(all, line)
			}
		}
	}
	return all
}

func (n node) nothingIsRegistered(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		problem, denied := n.verdict(t.Context(), "hidden")
		return problem == "" && !denied
	}, time.Minute, 200*time.Millisecond, "nobody is asked any more")
}

func (n node) nothingIsLeft(t *testing.T) {
	t.Helper()
	n.nothingIsRegistered(t)
	left := n.must(t, "", "get", "crd,clusterrole,clusterrolebinding,validatingwebhookconfiguration,mutatingwebhookconfiguration", "-o", "name")
	assert.NotContains(t, left, "lintel")
	assert.Empty(t, n.must(t, "", "get", "deployment,service,role,rolebinding,serviceaccount,poddisruptionbudget,certificate,issuer", "--namespace", namespace, "-o", "name",
		"--field-selector", "metadata.name!=default", "--ignore-not-found"))
	n.must(t, "", "delete", "namespace", namespace, "--wait=true", "--timeout=1m")
}
