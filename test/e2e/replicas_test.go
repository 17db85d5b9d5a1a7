package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// withoutManager stops the manager of all tests for one of them.
func withoutManager(t *testing.T) {
	t.Helper()
	manager.Stop()
	t.Cleanup(func() { restartManager(t) })
}

// restartManager starts the manager of all tests again.
func restartManager(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	next, err := startManager(ctx)
	require.NoError(t, err)
	manager = next
}

// replicas are managers behind one relay.
type replicas struct {
	relay *relay
	// drain is their --drain.
	drain time.Duration
	all   []*installation.Manager
}

// start starts one more replica; a name that was used before is a restart.
func (r *replicas) start(t *testing.T, name string) *installation.Manager {
	t.Helper()
	m, err := installation.StartManager(t.Context(), cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: name, WebhookURL: r.relay.url(),
		Args: []string{fmt.Sprintf("--drain=%s", r.drain)},
	})
	require.NoError(t, err)
	t.Cleanup(m.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			printTail(m.Log)
		}
	})
	r.relay.add(m)
	r.all = append(r.all, m)
	callable := len(r.all)
	eventually(t, func() bool { return r.relay.callable() == callable }, "the relay to call "+name)
	return m
}

// replace rolls one replica as a Deployment with maxUnavailable 0 does: the new one
// is ready before the old one is asked to end.
func (r *replicas) replace(t *testing.T, i int, name string) {
	t.Helper()
	old := r.all[i]
	r.start(t, name)
	old.Stop()
	r.forget(i)
}

func (r *replicas) forget(i int) {
	r.relay.remove(r.all[i])
	r.all = append(r.all[:i:i], r.all[i+1:]...)
}

// serial is the number of the certificate a manager serves.
func serial(t *testing.T, m *installation.Manager) string {
	t.Helper()
	// Only the number is of interest here: the API server checks the rest.
	connection, err := tls.Dial("tcp", strings.TrimPrefix(m.WebhookURL, "https://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // see above
	require.NoError(t, err)
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// newLeaf deletes the serving certificate and waits until every replica serves the
// next one.
func (r *replicas) newLeaf(t *testing.T) {
	t.Helper()
	before := serial(t, r.all[0])
	mustKubectl(t, "", "delete", "secret", "lintel-serving-cert", "-n", installation.Namespace)
	for _, m := range r.all {
		eventually(t, func() bool { return serial(t, m) != before }, "the new certificate to be served")
	}
}

// newAuthority deletes the authority's key pair and waits for another.
func newAuthority(t *testing.T) {
	t.Helper()
	certificate := func() string {
		text, _ := kubectl(t, "", "get", "secret", "lintel-ca", "-n", installation.Namespace, "--ignore-not-found", "-o", `jsonpath={.data.tls\.crt}`)
		return text
	}
	before := certificate()
	mustKubectl(t, "", "delete", "secret", "lintel-ca", "-n", installation.Namespace)
	eventually(t, func() bool { after := certificate(); return after != "" && after != before }, "the authority to be issued again")
}

// swapPolicies applies another revision ten times a second for a while, and returns
// the number of the last one.
func swapPolicies(ctx context.Context, config *rest.Config, namespace string, duration time.Duration) (last int, err error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return 0, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return 0, err
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); <-ticker.C {
		last++
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"inline": map[string]any{
			"files": map[string]string{"policy.rego": steadyPolicy(namespace, last)},
		}}})
		if err != nil {
			return 0, err
		}
		source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "steady"}}
		if err := c.Patch(ctx, source, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return 0, fmt.Errorf("applying revision %d: %w", last, err)
		}
	}
	return last, nil
}

// TestReplicasLoseNoRequest puts two replicas behind a relay and a steady load in
// front, and does to them what an operator, cert-manager and a cluster do.
func TestReplicasLoseNoRequest(t *testing.T) {
	namespace := newNamespace(t)
	withoutManager(t)
	r := &replicas{relay: startRelay(t), drain: 3 * time.Second}
	r.start(t, "replica-a")
	r.start(t, "replica-b")
	applySource(t, "steady", steadyPolicy(namespace, 0), nil)
	l := startLoad(t, namespace)

	l.losesNothing(t, "the leaf is issued again", func() { r.newLeaf(t) })
	l.losesNothing(t, "the authority is issued again", func() { newAuthority(t); r.newLeaf(t) })
	l.losesNothing(t, "both replicas are rolled", func() {
		r.replace(t, 0, "replica-c")
		r.replace(t, 0, "replica-d")
	})
	l.losesNothing(t, "policies are swapped ten times a second", func() {
		last, err := swapPolicies(t.Context(), restConfig(t), namespace, 6*time.Second)
		require.NoError(t, err)
		t.Logf("%d revisions were applied", last)
		require.NoError(t, cluster.WaitSource(t.Context(), "steady"))
		output, ok := kubectl(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"`+namespace+`","labels":{"wanted":"denied"}}}`,
			"create", "--dry-run=server", "-f", "-")
		require.False(t, ok)
		require.Contains(t, output, fmt.Sprintf("denied on purpose, revision %d ", last))
	})
	l.losesNothing(t, "a replica is rolled while policies are swapped", func() {
		swapped, config := make(chan error, 1), restConfig(t)
		go func() {
			_, err := swapPolicies(t.Context(), config, namespace, 6*time.Second)
			swapped <- err
		}()
		r.replace(t, 0, "replica-e")
		require.NoError(t, <-swapped)
	})

	// What a killed process was answering, or was asked before the relay knew, is lost:
	// the API server does not ask a webhook twice. It is no more than that.
	lost, asked := 0, 0
	for _, next := range []string{"replica-f", "replica-g", "replica-h"} {
		killed := l.during(t, "a replica is killed", func() {
			r.all[0].Kill()
			eventually(t, func() bool { return r.relay.callable() == 1 }, "the relay to notice")
			r.forget(0)
			r.start(t, next)
		})
		lost, asked = lost+killed.failed, asked+killed.requests
		for _, failure := range killed.failures {
			require.Contains(t, failure, "failed calling webhook", "nothing else goes wrong")
		}
	}
	t.Logf("three kills without warning cost %d of %d requests", lost, asked)
	require.LessOrEqual(t, lost, 3*2*loadWorkers)
}

// TestAnotherReplicaLeadsSoon kills the leader. What is in force stays so, and the next
// change is carried out by another.
func TestAnotherReplicaLeadsSoon(t *testing.T) {
	namespace := newNamespace(t)
	withoutManager(t)
	r := &replicas{relay: startRelay(t)}
	r.start(t, "replica-a")
	r.start(t, "replica-b")
	applySource(t, "steady", steadyPolicy(namespace, 0), nil)
	denied := func(words string) bool {
		output, ok := kubectl(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"`+namespace+`","labels":{"wanted":"denied"}}}`,
			"create", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, words)
	}

	killed := time.Now()
	r.all[0].Kill()
	eventually(t, func() bool { return r.relay.callable() == 1 }, "the relay to notice")
	t.Cleanup(func() { removeSource(context.Background(), "next") })
	rego := inNamespace(namespace, configMapKind, "package next\ndeny contains \"from the next leader\"")
	mustKubectl(t, installation.PolicySource("next", map[string]string{"policy.rego": rego}, nil), "apply", "--server-side", "-f", "-")
	require.Eventually(t, func() bool {
		require.True(t, denied("denied on purpose, revision 0 "), "what is in force stays in force")
		return denied("from the next leader")
	}, 2*time.Minute, 100*time.Millisecond)
	t.Logf("the next leader's first policy was in force after %s", time.Since(killed))
}

// TestALostLeaseLosesNoRequest has somebody else take the Lease. The leader ends, for there
// are never two; but it answers until its callers have gone to the other replica.
func TestALostLeaseLosesNoRequest(t *testing.T) {
	namespace := newNamespace(t)
	withoutManager(t)
	r := &replicas{relay: startRelay(t), drain: 3 * time.Second}
	r.start(t, "replica-a")
	leader := r.all[0]
	r.start(t, "replica-b")
	applySource(t, "steady", steadyPolicy(namespace, 0), nil)
	l := startLoad(t, namespace)

	l.losesNothing(t, "the Lease is lost", func() {
		mustKubectl(t, "", "patch", "lease", "lintel-leader", "-n", installation.Namespace, "--type=merge",
			"-p", fmt.Sprintf(`{"spec":{"holderIdentity":"somebody","renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro)))
		eventually(t, func() bool {
			select {
			case <-leader.Ended():
				return true
			default:
				return false
			}
		}, "the leader to end")
		eventually(t, func() bool { return r.relay.callable() == 1 }, "the relay to notice")
	})
	require.ErrorContains(t, leader.Failure(), "exit status 1")
	log, err := os.ReadFile(leader.Log)
	require.NoError(t, err)
	require.Contains(t, string(log), "leader election lost")
}
