// Package e2e tests Lintel as its users meet it: kubectl against a real API server
// that asks a manager's webhooks. One cluster serves all tests of a run; each test has its
// own namespace and PolicySources.
//
// A run starts what the chosen tests need: the tests of a system, whose names begin with
// it, need that system, and the others none.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

var (
	cluster  *installation.Cluster
	manager  *installation.Manager
	programs string
	// running are the systems of the manager, and the core.
	running []system
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := runInParallel(); err != nil {
		os.Exit(failed(err))
	}
	os.Exit(runTests(m))
}

// runInParallel sets -test.parallel to 4, unless the flag is set: tests wait for the manager
// more than they compute. Go runs the tests that are not parallel first, one after the other.
// Those are the tests that stop the manager or a peer, that count the writes of all tests, or
// whose policies match the objects of other tests.
func runInParallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", "4")
}

func runTests(m *testing.M) (code int) {
	var err error
	if running, err = selectedSystems(); err != nil {
		return failed(err)
	}
	if len(running) == 0 {
		return m.Run()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 75*time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "lintel-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(folder)
	// All programs that are built with the race detector report to one folder, with the processes
	// that they start: a report in their output could be lost.
	races := filepath.Join(folder, "races")
	if err := errors.Join(os.Mkdir(races, 0o700), os.Setenv("GORACE", installation.RaceOptions(races, "program"))); err != nil {
		return failed(err)
	}
	if programs, err = installation.Programs(ctx, filepath.Join(folder, "bin")); err != nil {
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
	config, err := administrator()
	if err != nil {
		return failed(err)
	}
	if api, err = newReader(config); err != nil {
		return failed(err)
	}
	for _, s := range running {
		stop, err := s.start(ctx, folder)
		if stop != nil {
			defer func() {
				if err := stop(); err != nil {
					code = failed(err)
				}
			}()
		}
		if err != nil {
			return failed(err)
		}
	}
	defer func() {
		if code != 0 {
			printNewestLog()
		}
	}()
	if manager, err = startManager(ctx); err != nil {
		return failed(err)
	}
	code = m.Run()
	manager.Stop()
	if err := installation.FindRaces(races); err != nil {
		return failed(err)
	}
	return code
}

// startManager returns when the API server is configured to call the manager, too: after one that
// was killed, that takes a while.
func startManager(ctx context.Context, args ...string) (*installation.Manager, error) {
	// Nothing else would answer while this one drains.
	options := installation.ManagerOptions{Program: filepath.Join(programs, "manager"), Name: "manager-0", Args: []string{"--decision-log=all", "--drain=0s"}}
	var names []string
	for _, s := range running {
		if s.name != "" {
			names = append(names, s.name)
		}
		if s.args != nil {
			options.Args = append(options.Args, s.args()...)
		}
		if s.env != nil {
			options.Env = append(options.Env, s.env()...)
		}
	}
	options.Args = append(options.Args, "--systems="+strings.Join(names, ","))
	options.Args = append(options.Args, args...)
	m, err := installation.StartManager(ctx, cluster, options)
	if err != nil {
		return nil, err
	}
	return m, waitRegistered(ctx, m)
}

// waitRegistered waits until all entries of both configurations name a manager, and the
// rules of an entry of the validating one have the API server call it.
func waitRegistered(ctx context.Context, m *installation.Manager) error {
	for object, isCalled := range map[string]bool{"validatingwebhookconfigurations/lintel": true, "mutatingwebhookconfigurations/lintel": false} {
		var last string
		err := api.await(ctx, "", object, func(u *unstructured.Unstructured) bool {
			if last = ""; u != nil {
				last, _ = evaluate(u.Object, `{range .webhooks[*]}{.rules[0].operations[0]} {.clientConfig.url}{"\n"}{end}`)
			}
			return registersAlone(last, m.WebhookURL, isCalled)
		})
		if err != nil {
			return fmt.Errorf("waiting for %s to register %s: %w: %s", object, m.WebhookURL, err, last)
		}
	}
	return nil
}

// registersAlone is whether all entries are the manager's and, if isCalled, one of them has
// rules.
func registersAlone(lines, url string, isCalled bool) bool {
	for line := range strings.Lines(lines) {
		operation, address, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !strings.HasPrefix(address, url+"/") {
			return false
		}
		isCalled = isCalled && operation == ""
	}
	return lines != "" && !isCalled
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// printNewestLog prints the end of the log that was written to last.
func printNewestLog() {
	logs, _ := cluster.ManagerLogs()
	newest, written := "", time.Time{}
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil && info.ModTime().After(written) {
			newest, written = log, info.ModTime()
		}
	}
	printTail(newest)
}

// printTail prints the end of a manager's log without its decisions, which are most of it.
func printTail(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"msg":"decision"`) {
			lines.WriteString(line)
		}
	}
	const tail = 32 << 10
	fmt.Fprintf(os.Stderr, "--- end of the manager's log, without decisions\n%s\n", lines.String()[max(0, lines.Len()-tail):])
}

// hurried are words of answers that say only that something took longer than it may: a
// policy, a compilation, a call of a webhook.
var hurried = []string{"within the timeout of the request", "the machine is busy", "context deadline exceeded", "Timeout: request did not complete"}

// kubectl runs kubectl, and returns its output. It retries when the server reports that the
// machine is busy, as a user would: the speed of this machine must not decide the result.
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

// asController makes kubectl write as Kubernetes' controller manager, which admission permits
// to write controlled objects: for tests of repairs by Lintel's controllers.
var asController = []string{"--as=system:kube-controller-manager", "--as-group=system:masters"}

// tamper changes a controlled object past admission.
func tamper(t *testing.T, stdin string, args ...string) {
	t.Helper()
	mustKubectl(t, stdin, append(slices.Clone(args), asController...)...)
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
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "namespace", name, "--wait=false") })
	// The ServiceAccount that Pods need comes a moment later.
	waitFor(t, name, "serviceaccount/default", "the namespace's ServiceAccount", func(*corev1.ServiceAccount) bool { return true })
}

// applySource applies a PolicySource with one file and waits until it is served. It
// goes with the test.
func applySource(t *testing.T, name, rego string, spec map[string]any) {
	t.Helper()
	t.Cleanup(func() { removeSource(context.Background(), name) })
	serveSource(t, name, map[string]string{"policy.rego": rego}, spec)
}

// serveSource applies a PolicySource and waits until every replica serves it.
func serveSource(t *testing.T, name string, files map[string]string, spec map[string]any) {
	t.Helper()
	mustKubectl(t, installation.PolicySource(name, files, spec), "apply", "--server-side", "-f", "-")
	waitSource(t, name)
}

// waitSource waits until a PolicySource is Ready at its present generation.
func waitSource(t *testing.T, name string) {
	t.Helper()
	waitFor(t, "", "policysource/"+name, "the source to be served", func(source *v1alpha1.PolicySource) bool {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == source.Generation
	})
}

func removeSource(ctx context.Context, name string) {
	_, _ = cluster.Kubectl(ctx, "", "delete", "policysource", name, "--ignore-not-found")
}

// eventually polls until a condition holds. For the state of one object, use waitFor. The
// condition may fail the test.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			require.FailNow(t, "waiting for "+what, "%s", workOf(t, manager))
		}
	}
}

// workOf returns the status of all PolicySources, and the metrics of a manager that show its
// completed and pending work.
func workOf(t *testing.T, m *installation.Manager) string {
	t.Helper()
	text, _ := get(t, "policysources", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status}{"\n"}{end}`)
	for line := range strings.Lines(allMetricsOf(t, m)) {
		for _, name := range []string{"lintel_source_fetches_total", "workqueue_depth", "workqueue_longest_running", "workqueue_retries_total", "controller_runtime_active_workers", "controller_runtime_reconcile_total"} {
			if strings.HasPrefix(line, name) && !strings.HasSuffix(line, " 0\n") {
				text += line
			}
		}
	}
	return text
}

// atRest fails if something is written within a window. Each reading counts writes. Counts
// never decrease, so equal readings at both ends prove that nothing was written in between.
// The window must be longer than every interval at which the manager reconciles without a
// change; a controller that reacts to its own writes shows in any window.
func atRest(t *testing.T, window time.Duration, readings ...func() string) {
	t.Helper()
	var before []string
	for _, reading := range readings {
		before = append(before, reading())
	}
	<-time.After(window)
	for i, reading := range readings {
		require.Equal(t, before[i], reading(), "writes at rest")
	}
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
