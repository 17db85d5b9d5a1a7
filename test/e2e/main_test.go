// Package e2e tests Lintel as its users meet it: kubectl against a real API server
// that asks a manager's webhooks. One cluster serves all tests; each test has its own
// namespace and PolicySources.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/openzro"
)

var (
	cluster  *installation.Cluster
	manager  *installation.Manager
	postgres *installation.Postgres
	programs string
)

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 75*time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "lintel-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(folder)
	programs = filepath.Join(folder, "bin")
	if err := installation.Build(ctx, programs); err != nil {
		return failed(err)
	}
	if cluster, err = installation.StartCluster(ctx, filepath.Join(folder, "cluster"), os.Stderr); err != nil {
		return failed(err)
	}
	defer func() {
		if err := cluster.Stop(context.Background()); err != nil {
			code = failed(err)
		}
	}()
	if err := installation.Install(ctx, cluster); err != nil {
		return failed(err)
	}
	if err := permitOpenClaw(ctx); err != nil {
		return failed(err)
	}
	if err := permitGatekeeper(ctx); err != nil {
		return failed(err)
	}
	if err := permitOpenVox(ctx); err != nil {
		return failed(err)
	}
	if err := permitOrloj(ctx); err != nil {
		return failed(err)
	}
	if err := startZopp(ctx, folder); err != nil {
		return failed(err)
	}
	defer zoppServer.Stop()
	if err := permitOpenZro(ctx); err != nil {
		return failed(err)
	}
	if management, err = openzro.Open(); err != nil {
		return failed(err)
	}
	defer management.Close()
	if postgres, err = installation.StartPostgres(ctx); err != nil {
		return failed(err)
	}
	defer func() {
		if err := postgres.Remove(); err != nil {
			code = failed(err)
		}
	}()
	if manager, err = startManager(ctx); err != nil {
		return failed(err)
	}
	defer func() {
		manager.Stop()
		if code != 0 {
			printTail(manager.Log)
		}
	}()
	return m.Run()
}

// startManager returns when the API server is told to call the manager, too: after one that
// was killed, that takes a while.
func startManager(ctx context.Context, args ...string) (*installation.Manager, error) {
	openZro, err := openZroArgs()
	if err != nil {
		return nil, err
	}
	m, err := installation.StartManager(ctx, cluster, installation.ManagerOptions{
		// Nothing else would answer while this one drains.
		Program: filepath.Join(programs, "manager"), Name: "manager-0", Env: []string{
			"HTTPS_PROXY=" + services.URL, "NO_PROXY=", "no_proxy=", "OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL, "OTEL_BSP_SCHEDULE_DELAY=500",
		}, Args: append([]string{"--decision-log=all", "--drain=0s", "--systems=openclaw,openvox,openzro,orloj,zopp", "--openvox-key-bits=2048", "--gatekeeper", "--allow-file-origins"}, slices.Concat(orlojArgs(), zoppArgs(), openZro, args)...),
	})
	if err != nil {
		return nil, err
	}
	return m, waitRegistered(ctx, m)
}

// waitRegistered waits until both configurations name a manager for all of their entries.
func waitRegistered(ctx context.Context, m *installation.Manager) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		urls, err := cluster.Kubectl(ctx, "", "get", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "-o",
			`jsonpath={range .items[?(@.metadata.name=="lintel")]}{.kind}{"\n"}{range .webhooks[*]}{.rules[0].operations[0]} {.clientConfig.url}{"\n"}{end}{end}`)
		if err == nil && registersAlone(urls, m.WebhookURL) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the registration of %s: %w: %s", m.WebhookURL, ctx.Err(), urls)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// registersAlone says whether there are both configurations, some entry is called, and none
// is another manager's.
func registersAlone(lines, url string) bool {
	configurations, called := 0, false
	for line := range strings.Lines(lines) {
		operation, address, isEntry := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case !isEntry:
			configurations++
		case !strings.HasPrefix(address, url+"/"):
			return false
		default:
			called = called || operation != ""
		}
	}
	return configurations == 2 && called
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

func printTail(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	const tail = 32 << 10
	fmt.Fprintf(os.Stderr, "--- end of the manager's log\n%s\n", text[max(0, len(text)-tail):])
}

// hurried are words of answers that say only that something took longer than it may: a
// policy, a compilation, a call of a webhook.
var hurried = []string{"took longer than its timeout", "the machine is busy", "context deadline exceeded", "Timeout: request did not complete"}

// kubectl runs kubectl, and returns what it printed. As whoever is told that a machine was
// busy would, it tries again: how fast this one is decides nothing.
func kubectl(t *testing.T, stdin string, args ...string) (output string, ok bool) {
	t.Helper()
	for range 20 {
		var err error
		if output, err = cluster.Kubectl(t.Context(), stdin, args...); err == nil {
			return output, true
		}
		if !slices.ContainsFunc(hurried, func(words string) bool { return strings.Contains(output, words) }) {
			break
		}
		t.Logf("kubectl %s, once more after: %s", strings.Join(args, " "), output)
	}
	return output, false
}

// mustKubectl is kubectl where nothing else than success will do.
func mustKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	output, ok := kubectl(t, stdin, args...)
	require.True(t, ok, "kubectl %s: %s", strings.Join(args, " "), output)
	return output
}

// apply applies an object, and is what kubectl printed.
func apply(t *testing.T, object string) (output string, ok bool) {
	t.Helper()
	return kubectl(t, object, "apply", "-f", "-")
}

// newNamespace makes a namespace that goes with the test.
func newNamespace(t *testing.T) string {
	t.Helper()
	name := "e2e-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	name = strings.Trim(name[:min(len(name), 50)], "-")
	makeNamespace(t, name)
	return name
}

// makeNamespace makes a namespace that goes with the test.
func makeNamespace(t *testing.T, name string) {
	t.Helper()
	mustKubectl(t, "", "create", "namespace", name)
	// The ServiceAccount that Pods need comes a moment later.
	eventually(t, func() bool {
		_, ok := kubectl(t, "", "get", "serviceaccount", "default", "-n", name)
		return ok
	}, "the namespace's ServiceAccount")
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "namespace", name, "--wait=false") })
}

// applySource applies a PolicySource with one file and waits until it is served. It
// goes with the test.
func applySource(t *testing.T, name, rego string, spec map[string]any) {
	t.Helper()
	t.Cleanup(func() { removeSource(context.Background(), name) })
	require.NoError(t, cluster.ApplySource(t.Context(), name, map[string]string{"policy.rego": rego}, spec))
}

func removeSource(ctx context.Context, name string) {
	_, _ = cluster.Kubectl(ctx, "", "delete", "policysource", name, "--ignore-not-found")
}

// eventually polls a condition until it holds.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 2*time.Minute, 100*time.Millisecond, what)
}

// inNamespace puts a policy's rules on kinds of one namespace, so that tests do not
// meet each other's policies.
func inNamespace(namespace, kinds, more string) string {
	return fmt.Sprintf("# METADATA\n# custom:\n#   match:\n#     kinds: [%s]\n#     namespaces: [%q]\n%s", kinds, namespace, more)
}

func pod(namespace, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q},"spec":%s}`, name, namespace, spec)
}

func configMap(namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q}}`, name, namespace)
}
