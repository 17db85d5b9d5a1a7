package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	loadWorkers = 4
	// loadPause keeps the load steady instead of as high as the machine allows.
	loadPause = 20 * time.Millisecond
)

// steadyPolicy mutates every Pod and ConfigMap and denies those labelled so. Its
// generous deadline keeps a busy machine from being counted as a failure.
func steadyPolicy(namespace string, revision int) string {
	return fmt.Sprintf(`# METADATA
# custom:
#   timeout: 1s
#   match:
#     kinds: [{group: "", kind: Pod}, {group: "", kind: ConfigMap}]
#     namespaces: [%q]
package steady

defaults.metadata.labels.evaluated := "yes"

deny contains "denied on purpose, revision %d" if input.request.object.metadata.labels.wanted == "denied"
`, namespace, revision)
}

// load creates Pods and ConfigMaps, dry, until it is ended, and counts. Every answer
// has to be the policy's: an intended denial is a success.
type load struct {
	client    kubernetes.Interface
	namespace string
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu     sync.Mutex
	counts loadCounts
}

type loadCounts struct {
	requests, denied, mutated, failed int
	failures                          []string
}

// restConfig is administrator for a test.
func restConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := administrator()
	require.NoError(t, err)
	return config
}

func startLoad(t *testing.T, namespace string) *load {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &load{client: kubernetes.NewForConfigOrDie(restConfig(t)), namespace: namespace, stop: stop}
	for worker := range loadWorkers {
		l.running.Go(func() { l.work(ctx, worker) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.running.Wait()
}

func (l *load) work(ctx context.Context, worker int) {
	ticker := time.NewTicker(loadPause)
	defer ticker.Stop()
	for n := worker; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		wanted := []string{"admitted", "admitted", "denied"}[n%3]
		labels, err := l.create(fmt.Sprintf("load-%d-%d", worker, n), wanted, n%2 == 0)
		l.count(wanted, labels, err)
	}
}

// create uses its own deadline: requests in flight when the load ends are counted with their
// own result.
func (l *load) create(name, wanted string, isPod bool) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"wanted": wanted}}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if isPod {
		object, err := l.client.CoreV1().Pods(l.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: meta,
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}},
		}, dry)
		return object.GetLabels(), err
	}
	object, err := l.client.CoreV1().ConfigMaps(l.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, dry)
	return object.GetLabels(), err
}

func (l *load) count(wanted string, labels map[string]string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.requests++
	failed := ""
	switch {
	case wanted == "denied" && apierrors.IsForbidden(err) && strings.Contains(err.Error(), "denied on purpose"):
		l.counts.denied++
	case wanted == "denied":
		failed = fmt.Sprintf("not denied by the policy: %v", err)
	case err != nil:
		failed = err.Error()
	case labels["evaluated"] != "yes":
		failed = "admitted without the mutation"
	default:
		l.counts.mutated++
	}
	if failed != "" {
		l.counts.failed++
		if len(l.counts.failures) < 20 {
			l.counts.failures = append(l.counts.failures, time.Now().Format(time.TimeOnly+".000 ")+failed)
		}
	}
}

// take returns the counts since it was last called.
func (l *load) take() loadCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counts
	l.counts = loadCounts{}
	return counts
}

// during counts what happens while f runs and a moment after it: at least a hundred
// requests, so that nothing passes because nothing was asked.
func (l *load) during(t *testing.T, what string, f func()) loadCounts {
	t.Helper()
	l.take()
	f()
	l.mu.Lock()
	atEnd := l.counts.requests
	l.mu.Unlock()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.counts.requests >= atEnd+100
	}, 2*time.Minute, 20*time.Millisecond, "the load to go on after: %s", what)
	counts := l.take()
	t.Logf("%s: %d requests, %d denied on purpose, %d mutated, %d failed",
		what, counts.requests, counts.denied, counts.mutated, counts.failed)
	require.NotZero(t, counts.denied)
	require.NotZero(t, counts.mutated)
	return counts
}

// loses nothing is during, where not one request may fail.
func (l *load) losesNothing(t *testing.T, what string, f func()) {
	t.Helper()
	counts := l.during(t, what, f)
	require.Empty(t, counts.failures, "%d of %d requests failed while %s", counts.failed, counts.requests, what)
}
