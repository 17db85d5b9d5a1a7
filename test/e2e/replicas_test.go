package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/lintel-policy/lintel/test/gitserver"
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
	t     *testing.T
	relay *relay
	all   []*installation.Manager
}

// start starts one more replica.
func (r *replicas) start(t *testing.T, name string) *installation.Manager {
	t.Helper()
	m, err := installation.StartManager(t.Context(), cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: name, WebhookURL: r.relay.url(), Args: []string{"--drain=3s"},
	})
	require.NoError(t, err)
	r.t.Cleanup(m.Stop)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			printTail(m.Log)
		}
	})
	r.relay.add(m)
	r.all = append(r.all, m)
	callable := len(r.all)
	eventually(t, func() bool { return r.relay.callable() == callable }, "the relay to call "+name)
	return m
}

// leader is the index of the replica that leads.
func (r *replicas) leader(t *testing.T) (place int) {
	t.Helper()
	eventually(t, func() bool {
		place = slices.IndexFunc(r.all, func(m *installation.Manager) bool {
			value, _ := metricOf(t, m, `leader_election_master_status{name="lintel-leader"}`)
			return value == "1"
		})
		return place >= 0
	}, "one to lead")
	return place
}

// kill kills a replica and waits until the relay no longer calls it.
func (r *replicas) kill(t *testing.T, i int) {
	t.Helper()
	r.all[i].Kill()
	left := len(r.all) - 1
	eventually(t, func() bool { return r.relay.callable() == left }, "the relay to notice")
	r.forget(i)
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
		text, _ := get(t, "secret", "lintel-ca", "-n", installation.Namespace, "--ignore-not-found", "-o", `jsonpath={.data.tls\.crt}`)
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

// TestReplicas puts two replicas behind a relay, and does to them what an operator,
// cert-manager and a cluster do. All the while one source is broken, which was brought past
// admission.
func TestReplicas(t *testing.T) {
	namespace := newNamespace(t)
	withoutManager(t)
	mustKubectl(t, "", "delete", "validatingwebhookconfiguration", "lintel")
	mustKubectl(t, installation.PolicySource("broken", map[string]string{"policy.rego": broken}, nil), "apply", "--server-side", "-f", "-")
	t.Cleanup(func() { removeSource(context.Background(), "broken") })
	r := &replicas{t: t, relay: startRelay(t)}
	r.start(t, "replica-a")
	r.start(t, "replica-b")
	waitFor(t, "", "policysource/broken", "the broken source to say so", func(source *v1alpha1.PolicySource) bool { return len(source.Status.Errors) > 0 })
	applySource(t, "steady", steadyPolicy(namespace, 0), nil)
	l := startLoad(t, namespace)
	t.Run("no request is lost", func(t *testing.T) { r.loseNothing(t, l, namespace) })
	t.Run("a kill costs what was under way", func(t *testing.T) { r.areKilled(t, l, namespace) })
	l.end()
	r.start(t, "replica-i")
	t.Run("one that does not lead passes notifications on", r.passNotificationsOn)
	t.Run("a faulty source harms no other", r.standFaultySources)
	require.Empty(t, readSource(t, "broken").Status.Digest, "it never goes live")
}

// loseNothing changes certificates, leader, replicas and policies under load.
func (r *replicas) loseNothing(t *testing.T, l *load, namespace string) {
	leader := r.all[r.leader(t)]
	l.losesNothing(t, "the Lease is lost", func() { r.loseLease(t, leader) })
	require.ErrorContains(t, leader.Failure(), "exit status 1")
	log, err := os.ReadFile(leader.Log)
	require.NoError(t, err)
	require.Contains(t, string(log), "leader election lost")
	l.losesNothing(t, "the leaf is issued again", func() { r.newLeaf(t) })
	l.losesNothing(t, "the authority is issued again", func() { newAuthority(t); r.newLeaf(t) })
	l.losesNothing(t, "both replicas are rolled", func() {
		r.replace(t, 0, "replica-d")
		r.replace(t, 0, "replica-e")
	})
	l.losesNothing(t, "policies are swapped ten times a second, and a replica is rolled meanwhile", func() {
		type swaps struct {
			last int
			err  error
		}
		swapped, config := make(chan swaps, 1), restConfig(t)
		go func() {
			last, err := swapPolicies(t.Context(), config, namespace, 6*time.Second)
			swapped <- swaps{last, err}
		}()
		r.replace(t, 0, "replica-f")
		done := <-swapped
		require.NoError(t, done.err)
		t.Logf("%d revisions were applied", done.last)
		waitSource(t, "steady")
		require.True(t, denied(t, namespace, fmt.Sprintf("denied on purpose, revision %d ", done.last)))
	})
}

// loseLease takes the Lease for another holder. The leader ends, for there are never two; but
// it answers until its callers have gone to the other replica.
func (r *replicas) loseLease(t *testing.T, leader *installation.Manager) {
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
	r.forget(slices.Index(r.all, leader))
	r.start(t, "replica-c")
}

// denied is whether a ConfigMap is denied in these words by the source steady.
func denied(t *testing.T, namespace, words string) bool {
	t.Helper()
	output, ok := kubectl(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"`+namespace+`","labels":{"wanted":"denied"}}}`,
		"create", "--dry-run=server", "-f", "-")
	return !ok && strings.Contains(output, words)
}

// areKilled kills three replicas, the leader last. Requests that a killed process was
// answering, or that were sent before the relay noticed, are lost: the API server does not call
// a webhook twice. No other requests are lost. The policies in force stay in force, and another
// leader applies the next change.
func (r *replicas) areKilled(t *testing.T, l *load, namespace string) {
	lost, asked := 0, 0
	count := func(killed loadCounts) {
		lost, asked = lost+killed.failed, asked+killed.requests
		for _, failure := range killed.failures {
			require.Contains(t, failure, "failed calling webhook", "nothing else goes wrong")
		}
	}
	for _, next := range []string{"replica-g", "replica-h"} {
		count(l.during(t, "a replica is killed", func() {
			r.kill(t, 0)
			r.start(t, next)
		}))
	}
	steady := readSource(t, "steady").Spec.Inline.Files["policy.rego"]
	revision := steady[strings.Index(steady, "revision"):strings.Index(steady, `" if`)]
	count(l.during(t, "the leader is killed", func() {
		killed := time.Now()
		r.kill(t, r.leader(t))
		rego := inNamespace(namespace, configMapKind, "package next\ndeny contains \"from the next leader\" if input.request.object.metadata.labels.wanted == \"denied\"")
		t.Cleanup(func() { removeSource(context.Background(), "next") })
		mustKubectl(t, installation.PolicySource("next", map[string]string{"policy.rego": rego}, nil), "apply", "--server-side", "-f", "-")
		eventually(t, func() bool {
			require.True(t, denied(t, namespace, "denied on purpose, "+revision), "what is in force stays in force")
			return denied(t, namespace, "from the next leader")
		}, "the next leader's first policy to be in force")
		t.Logf("the next leader's first policy was in force after %s", time.Since(killed))
	}))
	t.Logf("three kills without warning cost %d of %d requests", lost, asked)
	require.LessOrEqual(t, lost, 3*2*loadWorkers)
}

// passNotificationsOn sends a push notification to a replica that does not lead.
func (r *replicas) passNotificationsOn(t *testing.T) {
	folder := t.TempDir()
	repository := newGitRepository(t, folder, "team-relayed", newNamespace(t))
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	repository.pushedBefore(t, "before")
	applyGitSource(t, repository.source, map[string]any{
		"git": map[string]any{
			"url": server.URL + "/team-relayed.git", "path": "lintel", "receiver": map[string]any{"secretRef": map[string]any{"name": "team-relayed-token"}},
		},
		"interval": "1h",
	})
	waitSource(t, repository.source)
	_, err = repository.Push(t.Context(), repository.rule("relayed"))
	require.NoError(t, err)
	follower := r.all[1-r.leader(t)]
	require.Equal(t, http.StatusAccepted, notify(t, follower, repository.source, hookToken))
	repository.goesLive(t, "relayed")
}

// standFaultySources: with a broken source, and one that runs into its limits on every
// object, every replica is ready and the other sources are enforced.
func (r *replicas) standFaultySources(t *testing.T) {
	namespace := newNamespace(t)
	sound := inNamespace(namespace, configMapKind+", "+`{group: "", kind: Secret}`, `package sound
deny contains "unsound" if input.request.object.metadata.labels.unsound == "yes"`)
	applySource(t, "sound", sound, nil)
	applySource(t, "spinning", inNamespace(namespace, configMapKind, `package spinning
deny contains "never said" if {
	some i in numbers.range(1, 5000)
	some j in numbers.range(1, 5000)
	i * j == -1
}`), nil)

	// More than enough for each replica to meet the spinning policy many times.
	for n := range 20 {
		// Without a retry: the expected answer is that the spinning policy exceeded its timeout.
		output, err := cluster.Kubectl(t.Context(), labelled(namespace, fmt.Sprint("c", n), "unsound"), "apply", "-f", "-")
		require.Error(t, err)
		require.Contains(t, output, "unsound [sound deny, policy.rego:7, sound@", "the sound policy is heard beside the spinning one")
		require.Contains(t, output, "policy spinning ")
	}
	secret := func(object string) string { return strings.Replace(object, `"ConfigMap"`, `"Secret"`, 1) }
	output, ok := apply(t, secret(labelled(namespace, "s", "unsound")))
	require.False(t, ok)
	require.Contains(t, output, "denied the request: unsound [")
	require.NotContains(t, output, "spinning")
	output, ok = apply(t, secret(configMap(namespace, "s")))
	require.True(t, ok, output)

	for _, m := range r.all {
		response, err := http.Get(m.Health + "/readyz")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, "every replica stays ready")
	}
}
