package chart

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// The verdicts other than errors.
const (
	admitted = "admitted"
	denied   = "denied by the policy"
)

// verdict has a ConfigMap created, for nothing.
func (n node) verdict(ctx context.Context, value string) string {
	_, err := n.client.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "asked"}, Data: map[string]string{"value": value}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return admitted
	case strings.Contains(err.Error(), "put it into a Secret"):
		return denied
	}
	return err.Error()
}

// load sends requests continuously, some to be denied and some to be admitted.
type load struct {
	node node
	end  func()

	mu sync.Mutex
	// answers are all so far, and wrong those that were not decided as they had to be.
	answers int
	wrong   []wrongAnswer
}

type wrongAnswer struct {
	at          time.Time
	value, said string
}

func (w wrongAnswer) String() string {
	return fmt.Sprintf("%s %s: %s", w.at.Format(time.TimeOnly), w.value, w.said)
}

// pause is between an answer and the next request of the same client: admission must stay
// under load, and the machine have time for what the tests do to it.
const pause = 20 * time.Millisecond

func startLoad(t *testing.T, n node) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{node: n}
	var clients sync.WaitGroup
	for value, right := range map[string]string{"hidden": denied, "open": admitted} {
		clients.Go(func() {
			for ctx.Err() == nil {
				at := time.Now()
				if said := n.verdict(ctx, value); ctx.Err() == nil {
					l.count(wrongAnswer{at, value, said}, said == right)
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	l.end = func() { cancel(); clients.Wait() }
	t.Cleanup(l.end)
	return l
}

func (l *load) count(answer wrongAnswer, right bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	if !right {
		l.wrong = append(l.wrong, answer)
	}
}

func (l *load) counted() (answers int, wrong []wrongAnswer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers, l.wrong
}

// during calls do under load, and returns the requests with wrong verdicts. It waits for at
// least 50 requests, and for some after do.
func (l *load) during(t *testing.T, do func()) []wrongAnswer {
	t.Helper()
	before, wrongBefore := l.counted()
	start := time.Now()
	do()
	done, _ := l.counted()
	took := time.Since(start).Round(100 * time.Millisecond)
	require.Eventually(t, func() bool {
		now, _ := l.counted()
		return now >= done+10 && now >= before+50
	}, time.Minute, 10*time.Millisecond, "requests are answered")
	now, wrong := l.counted()
	wrong = wrong[len(wrongBefore):]
	t.Logf("%s: %d requests in %s, %d of them not decided", t.Name(), now-before, took, len(wrong))
	return wrong
}

// step is a subtest during which each request is decided as it has to be.
func (l *load) step(t *testing.T, name string, do func(t *testing.T)) {
	t.Helper()
	passed := t.Run(name, func(t *testing.T) {
		assert.Empty(t, l.during(t, func() { do(t) }))
	})
	if !passed {
		t.FailNow() // what follows starts from what this has left
	}
}
