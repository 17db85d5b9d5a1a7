package chart

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestInstalled: what a cluster with the chart goes through, from installing to nothing
// left, without a request that is not decided.
func TestInstalled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("a node whose Pods run needs root")
	}
	before, images := checkOutPrevious(t), t.TempDir()
	made := inBackground(t, func() error {
		return errors.Join(
			makePrevious(filepath.Join(images, "previous"), before, t.TempDir()),
			buildGateway(images),
			makePresent(filepath.Join(images, "present")),
			makeCommand(filepath.Join(images, "command")),
		)
	})
	n := startNode(t)
	require.NoError(t, made())
	n.importGateway(t, images)
	n.importImages(t, filepath.Join(images, "previous"))
	n.importImages(t, filepath.Join(images, "present"))
	n.importImages(t, filepath.Join(images, "command"))
	n.collectRaces(t)
	n.install(t, filepath.Join(before, "config/chart/lintel"), previous)

	l := startLoad(t, n)
	l.step(t, "upgrade", func(t *testing.T) { n.upgradeSideBySide(t) })
	l.step(t, "rollback", func(t *testing.T) {
		n.mustHelm(t, append([]string{"rollback", "lintel"}, wait(2*time.Minute)...)...)
		n.settle(t)
		assert.Equal(t, []string{previous}, n.readyVersions(t))
	})
	l.step(t, "upgrade with a system", func(t *testing.T) {
		n.must(t, "", "apply", "-f", filepath.Join(samples, "namespace.yaml"))
		require.NoError(t, n.upgrade(t, 2*time.Minute, openclaw...))
		assert.Len(t, n.readyManagers(t), 2)
	})
	l.step(t, "helm is killed while an image cannot be pulled", n.interruptUpgrade)
	l.step(t, "a port is taken", n.takePort)
	l.step(t, "the node is drained", n.drain)
	l.step(t, "each Pod is deleted", n.deleteEach)
	l.step(t, "the certificate is deleted", n.renewCertificate)
	t.Run("a Pod is killed for its memory", func(t *testing.T) { l.crash(t, n.exhaustMemory) })
	t.Run("a Pod is evicted for its disk", func(t *testing.T) { l.crash(t, n.exhaustDisk) })
	l.step(t, "gateways of OpenClaw", n.runGateways)
	l.end()
	t.Run("a replay in a Job", n.replayInAJob)

	n.uninstall(t)
	n.nothingIsLeft(t)
	t.Run("while no manager runs", func(t *testing.T) {
		n.install(t, folder, present)
		n.breakGlass(t)
		n.must(t, "", "scale", "deployment/lintel-manager", "--namespace", namespace, "--replicas=0")
		require.Eventually(t, func() bool { return n.verdict(t.Context(), "open") != admitted }, time.Minute, 200*time.Millisecond,
			"what fails closed is denied while nobody answers")
		n.uninstall(t)
		n.nothingIsLeft(t)
	})
	t.Run("when its namespace goes first", func(t *testing.T) {
		n.install(t, folder, present)
		n.must(t, "", "scale", "deployment/lintel-manager", "--namespace", namespace, "--replicas=0")
		n.must(t, "", "delete", "namespace", namespace, "--wait=false")
		n.nothingIsRegistered(t)
	})
}

// readyVersions are those that answer, in order.
func (n node) readyVersions(t *testing.T) (versions []string) {
	t.Helper()
	for _, pod := range n.managers(t) {
		if isReady(pod) {
			_, version, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// upgradeSideBySide upgrades from the previous version to three replicas of this one,
// and sees both versions answer at a time.
func (n node) upgradeSideBySide(t *testing.T) {
	upgraded := make(chan error, 1)
	go func() { upgraded <- n.upgrade(t, 2*time.Minute, "replicas=3", "flags.decision-log=all") }()
	eventually(t, func() bool { return slices.Equal(n.readyVersions(t), []string{previous, present}) }, "both versions answer")
	require.NoError(t, <-upgraded)
	assert.Equal(t, []string{present}, n.readyVersions(t))
	managers := n.readyManagers(t)
	require.Len(t, managers, 3)
	first, _, _ := strings.Cut(n.must(t, "", "logs", "--namespace", namespace, managers[0]), "\n")
	assert.Contains(t, first, `"version":"manager `+present+`, commit `)
}

// waiting is why the container of a Pod does not run: empty where it does.
func waiting(pod corev1.Pod) string {
	for _, container := range pod.Status.ContainerStatuses {
		if container.State.Waiting != nil {
			return container.State.Waiting.Reason
		}
	}
	return ""
}

// interruptUpgrade kills Helm in the middle of an upgrade to an image that cannot be
// pulled, and goes on as the documentation says.
func (n node) interruptUpgrade(t *testing.T) {
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	ended := make(chan error, 1)
	go func() {
		args := slices.Concat([]string{"upgrade", "lintel", folder}, values("v0.0.0-missing", openclaw...), wait(2*time.Minute))
		_, err := n.call(n.helmCommand(ctx, args...), "")
		ended <- err
	}()
	eventually(t, func() bool {
		return slices.ContainsFunc(n.managers(t), func(p corev1.Pod) bool { return waiting(p) == "ErrImagePull" || waiting(p) == "ImagePullBackOff" })
	}, "the image cannot be pulled")
	kill()
	require.ErrorContains(t, <-ended, "killed")
	assert.Len(t, n.readyManagers(t), 2, "the rollout has stopped, and those before it go on")

	require.ErrorContains(t, n.upgrade(t, time.Minute, openclaw...), "another operation (install/upgrade/rollback) is in progress")
	n.mustHelm(t, append([]string{"rollback", "lintel"}, wait(2*time.Minute)...)...)
	n.settle(t)
	require.NoError(t, n.upgrade(t, 2*time.Minute, openclaw...))
}

// takePort upgrades to flags of which two name one port, and back.
func (n node) takePort(t *testing.T) {
	require.ErrorContains(t, n.upgrade(t, 10*time.Second, append(openclaw, "flags.receiver-bind-address=:9443")...), "lintel-manager")
	assert.Len(t, n.readyManagers(t), 2, "the rollout has stopped, and those before it go on")
	eventually(t, func() bool {
		return slices.ContainsFunc(n.managers(t), func(p corev1.Pod) bool {
			return strings.Contains(ended(p).Message, "listen tcp :9443: bind: address already in use")
		})
	}, "the status of the Pod says what is wrong")
	require.NoError(t, n.upgrade(t, 2*time.Minute, openclaw...))
}

// drain empties the only node, which its manager's budget does not permit: one Pod is
// evicted, and has nowhere to go.
func (n node) drain(t *testing.T) {
	name := strings.TrimSpace(n.must(t, "", "get", "nodes", "-o", "name"))
	out, err := n.kubectl(t.Context(), "", "drain", name, "--pod-selector=app.kubernetes.io/component=manager", "--delete-emptydir-data", "--timeout=12s")
	require.Error(t, err)
	assert.Contains(t, out, "Cannot evict pod as it would violate the pod's disruption budget")
	assert.Len(t, n.readyManagers(t), 1)
	n.must(t, "", "uncordon", name)
	n.settle(t)
}

func (n node) deleteEach(t *testing.T) {
	for _, pod := range n.readyManagers(t) {
		n.must(t, "", "delete", "pod", pod, "--namespace", namespace, "--wait=false")
		n.settle(t)
	}
}

func (n node) renewCertificate(t *testing.T) {
	before := n.expiries(t)
	require.Len(t, before, 2)
	n.must(t, "", "delete", "secret", "lintel-serving-cert", "--namespace", namespace)
	eventually(t, func() bool {
		after := n.expiries(t)
		return len(after) == 2 && !slices.ContainsFunc(after, func(e string) bool { return slices.Contains(before, e) })
	}, "another pair is issued, and every manager serves it")
}

// expiries are when the certificates expire that the managers serve.
func (n node) expiries(t *testing.T) (all []string) {
	t.Helper()
	for _, pod := range n.readyManagers(t) {
		metrics, err := n.kubectl(t.Context(), "", "get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+pod+":8080/proxy/metrics")
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

// breakGlass runs the commands of the page, and starts the managers again.
func (n node) breakGlass(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/break-glass.md")
	require.NoError(t, err)
	script := regexp.MustCompile("(?s)\n## Remove Lintel from admission\n\n```sh\n(.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, script)
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `kubectl() { "$KUBECTL" "$@"; }; `+script[1])
	shell.Env = append(os.Environ(), "KUBECTL="+n.binaries["kubectl"], "KUBECONFIG="+n.kubeconfig, "KUBERC=off")
	output, err := shell.CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, admitted, n.verdict(t.Context(), "hidden"))
	require.Empty(t, n.must(t, "", "get", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "-l", "app.kubernetes.io/managed-by=lintel", "-o", "name"))

	n.must(t, "", "scale", "deployment/lintel-manager", "--namespace", namespace, "--replicas=2")
	eventually(t, func() bool { return n.verdict(t.Context(), "hidden") == denied }, "the policy to be enforced again")
}

func (n node) nothingIsRegistered(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return n.verdict(t.Context(), "hidden") == admitted }, time.Minute, 200*time.Millisecond, "nobody is asked any more")
}

func (n node) nothingIsLeft(t *testing.T) {
	t.Helper()
	n.nothingIsRegistered(t)
	left := n.must(t, "", "get", "crd,clusterrole,clusterrolebinding,validatingwebhookconfiguration,mutatingwebhookconfiguration", "-o", "name")
	assert.NotContains(t, left, "lintel")
	assert.NotContains(t, left, "openclaw")
	assert.Empty(t, n.must(t, "", "get", "deployment,service,role,rolebinding,serviceaccount,poddisruptionbudget,certificate,issuer", "--namespace", namespace, "-o", "name",
		"--field-selector", "metadata.name!=default", "--ignore-not-found"))
	n.must(t, "", "delete", "namespace", namespace, "--wait=true", "--timeout=1m")
}
