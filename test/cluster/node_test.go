package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/stretchr/testify/require"
)

// realNodeTest is a cluster whose Pods run, with an image for them.
type realNodeTest struct {
	*harness
	report
	layout string // an OCI layout with the image
}

const probeImage = "example.com/probe:1"

func newRealNodeTest(t *testing.T, args ...string) *realNodeTest {
	t.Helper()
	h := newHarness(t)
	n := &realNodeTest{harness: h, report: h.up(append([]string{"--nodes=real"}, args...)...)}
	require.Equal(t, realNodes, n.Nodes)
	probe := filepath.Join(t.TempDir(), "probe")
	build := exec.Command("go", "build", "-o", probe, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	n.layout = filepath.Join(t.TempDir(), "layout")
	out, err = exec.Command(n.Binaries[binaries.Node], "images", n.layout, probeImage+"="+probe).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, h.run("image", "import", n.layout), probeImage)
	return n
}

func (n *realNodeTest) apply(manifest string) {
	n.t.Helper()
	n.must(n.report, manifest, "apply", "-f", "-")
}

// probe runs the test program once more in a Pod that runs it.
func (n *realNodeTest) probe(pod string, args ...string) (string, error) {
	return n.kubectl(n.report, "", append([]string{"exec", pod, "--", "/probe"}, args...)...)
}

// ready creates the Pod and waits until it is.
func (n *realNodeTest) ready(name, spec string) {
	n.t.Helper()
	n.apply(podOf(name, spec))
	if _, err := n.kubectl(n.report, "", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=60s"); err != nil {
		require.NoError(n.t, err, n.must(n.report, "", "describe", "pod", name))
	}
}

// eventually waits until the result of ask contains want.
func (n *realNodeTest) eventually(want string, ask func() (string, error)) {
	n.t.Helper()
	var last string
	require.Eventually(n.t, func() bool {
		out, err := ask()
		last = out
		if err != nil {
			last += err.Error()
		}
		return strings.Contains(last, want)
	}, patience, 200*time.Millisecond, "waiting for %q", want)
}

func podOf(name, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: " + name + "}}\nspec:" +
		strings.ReplaceAll(spec, "IMAGE", probeImage)
}

const webPod = `
  containers: [{name: probe, image: IMAGE, imagePullPolicy: Never, args: [serve]}]
`

func TestRealNodesRunPods(t *testing.T) {
	t.Parallel()
	n := newRealNodeTest(t)
	require.True(t, n.CertManager)

	n.ready("web", webPod)
	out, err := n.probe("web", "id")
	require.NoError(t, err)
	require.Contains(t, out, "0 [")

	subtest := func(name string, test func(n *realNodeTest)) {
		t.Run(name, func(t *testing.T) {
			h := *n.harness
			h.t = t
			test(&realNodeTest{harness: &h, report: n.report, layout: n.layout})
		})
	}

	subtest("Services have names, and their Pods logs", func(n *realNodeTest) {
		n.must(n.report, "", "expose", "pod", "web", "--port=80", "--target-port=8080")
		n.eventually("hello from web", func() (string, error) {
			return n.probe("web", "get", "http://web.default.svc.cluster.local/by-name")
		})
		require.Contains(n.t, n.must(n.report, "", "logs", "web"), "greeting at /by-name")
	})

	subtest("the API server calls a webhook by its Service", func(n *realNodeTest) {
		n.apply(webhook)
		n.must(n.report, "", "wait", "--for=condition=Ready", "pod/hook", "--timeout=90s")
		n.eventually("denied by a Pod", func() (string, error) {
			return n.kubectl(n.report, "", "create", "configmap", "refused", "--dry-run=server")
		})
		n.must(n.report, "", "delete", "validatingwebhookconfiguration", "hook")
	})

	subtest("an image comes from the registry", func(n *realNodeTest) {
		reference := n.Registry + "/pushed:1"
		out, err := exec.Command(n.Binaries[binaries.Node], "push", n.layout, reference).CombinedOutput()
		require.NoError(n.t, err, "%s", out)
		n.ready("pulled", strings.ReplaceAll(strings.ReplaceAll(webPod, "IMAGE", reference), "Never", "Always"))

		n.apply(podOf("unknown", strings.ReplaceAll(webPod, "IMAGE, imagePullPolicy: Never", n.Registry+"/unknown:1")))
		n.eventually("ImagePullBackOff", func() (string, error) {
			return n.kubectl(n.report, "", "get", "pod", "unknown", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.reason}")
		})
	})

	subtest("a tar file is imported, and one without names is not", func(n *realNodeTest) {
		file := filepath.Join(n.t.TempDir(), "images.tar")
		out, err := os.Create(file)
		require.NoError(n.t, err)
		w := tar.NewWriter(out)
		require.NoError(n.t, w.AddFS(os.DirFS(n.layout)))
		require.NoError(n.t, errors.Join(w.Close(), out.Close()))
		require.Contains(n.t, n.run("image", "import", file), probeImage)

		nameless := filepath.Join(n.t.TempDir(), "layout")
		require.NoError(n.t, os.CopyFS(nameless, os.DirFS(n.layout)))
		index, err := os.ReadFile(filepath.Join(nameless, "index.json"))
		require.NoError(n.t, err)
		index = []byte(strings.ReplaceAll(string(index), "io.containerd.image.name", "example.com/other"))
		require.NoError(n.t, os.WriteFile(filepath.Join(nameless, "index.json"), index, 0o600))
		said, err := n.command("image", "import", nameless).CombinedOutput()
		require.Error(n.t, err)
		require.Contains(n.t, string(said), "it names no image")
	})

	subtest("a Secret changes in its volume", func(n *realNodeTest) {
		n.must(n.report, "", "create", "secret", "generic", "word", "--from-literal=word=before")
		n.ready("reader", `
  containers: [{name: probe, image: IMAGE, imagePullPolicy: Never, args: [serve], volumeMounts: [{name: word, mountPath: /word}]}]
  volumes: [{name: word, secret: {secretName: word}}]
`)
		read := func() (string, error) { return n.probe("reader", "cat", "/word/word") }
		n.eventually("before", read)
		n.must(n.report, "", "patch", "secret", "word", "--patch", `{"stringData":{"word":"after"}}`)
		n.eventually("after", read)
	})

	subtest("a user of no name writes to its volume alone", func(n *realNodeTest) {
		n.ready("nobody", `
  securityContext: {runAsUser: 1000680000, runAsNonRoot: true, fsGroup: 1000680001, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: probe
    image: IMAGE
    imagePullPolicy: Never
    args: [serve]
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
`)
		out, err := n.probe("nobody", "id")
		require.NoError(n.t, err)
		require.Contains(n.t, out, "1000680000 [")
		require.Contains(n.t, out, "1000680001")
		_, err = n.probe("nobody", "write", "/data/file", "text")
		require.NoError(n.t, err)
		_, err = n.probe("nobody", "write", "/file", "text")
		require.ErrorContains(n.t, err, "read-only file system")
	})

	subtest("an image is a volume", func(n *realNodeTest) {
		n.ready("mounted", `
  containers: [{name: probe, image: IMAGE, imagePullPolicy: Never, args: [serve], volumeMounts: [{name: image, mountPath: /image}]}]
  volumes: [{name: image, image: {reference: IMAGE, pullPolicy: Never}}]
`)
		out := n.must(n.report, "", "exec", "mounted", "--", "/image/probe", "id")
		require.Contains(n.t, out, "0 [")
	})

	subtest("memory has a limit", func(n *realNodeTest) {
		n.apply(podOf("hungry", `
  restartPolicy: Never
  containers: [{name: probe, image: IMAGE, imagePullPolicy: Never, args: [eat], resources: {limits: {memory: 32Mi}}}]
`))
		n.eventually("OOMKilled", func() (string, error) {
			return n.kubectl(n.report, "", "get", "pod", "hungry", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.reason}")
		})
	})

	subtest("Pods outlive the programs that started them", func(n *realNodeTest) {
		started := func() string {
			return n.must(n.report, "", "get", "pod", "web", "-o", "jsonpath={.status.containerStatuses[0].state.running.startedAt}")
		}
		before := started()
		n.run("restart", binaries.Kubelet, binaries.Containerd, binaries.KubeProxy)
		n.eventually("0 [", func() (string, error) { return n.probe("web", "id") })
		n.run("restart", binaries.APIServer)
		n.eventually("0 [", func() (string, error) { return n.probe("web", "id") })
		require.Equal(n.t, before, started())
		require.Equal(n.t, "0", n.must(n.report, "", "get", "pod", "web", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
	})

	said, err := n.command("up").CombinedOutput()
	require.Error(t, err, "kwok's nodes are not what runs")
	require.Contains(t, string(said), "was not started with --nodes=kwok")
}

const webhook = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: root, namespace: default}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: hook, namespace: default}
spec: {secretName: hook-tls, dnsNames: [hook.default.svc], issuerRef: {name: root}}
---
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: default}
spec: {selector: {app: hook}, ports: [{port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Pod
metadata: {name: hook, namespace: default, labels: {app: hook}}
spec:
  containers:
  - name: probe
    image: ` + probeImage + `
    imagePullPolicy: Never
    args: [deny, /tls]
    readinessProbe: {tcpSocket: {port: 8443}, periodSeconds: 1}
    volumeMounts: [{name: tls, mountPath: /tls}]
  volumes: [{name: tls, secret: {secretName: hook-tls}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook, annotations: {cert-manager.io/inject-ca-from: default/hook}}
webhooks:
- name: hook.lintel.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: hook, namespace: default}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

// remains lists possible remains of clusters on this machine, with these control groups.
func remains(t *testing.T, groups ...string) []string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	found := strings.Split(string(mounts), "\n")
	for _, group := range groups {
		for _, pattern := range []string{group, filepath.Join("*", group)} {
			paths, err := filepath.Glob(filepath.Join(controlGroups, pattern))
			require.NoError(t, err)
			found = append(found, paths...)
		}
	}
	links, err := net.Interfaces()
	require.NoError(t, err)
	for _, link := range links {
		found = append(found, "network interface "+link.Name)
	}
	slices.Sort(found)
	return found
}

// inhabitants are the processes of a node, by the namespace that all of them share.
func inhabitants(t *testing.T, namespace string) []string {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []string
	for _, process := range processes {
		if own, err := os.Readlink(process + "/ns/net"); err == nil && own == namespace {
			command, _ := os.ReadFile(process + "/cmdline")
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func TestRealNodesLeaveNothing(t *testing.T) {
	t.Parallel()
	owned, crashed := newHarness(t), newHarness(t)
	owned.run("build", "--nodes=real") // may take longer than the owner lives
	before := remains(t)
	owner := exec.Command("sleep", "600")
	require.NoError(t, owner.Start())
	started := make(chan error)
	for h, args := range map[*harness][]string{owned: {"--owner-pid", strconv.Itoa(owner.Process.Pid)}, crashed: nil} {
		cmd := h.command(append([]string{"up", "--nodes=real", "--without", "cert-manager"}, args...)...)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			started <- err
		}()
	}
	require.NoError(t, errors.Join(<-started, <-started))

	var namespaces, groups []string
	for _, h := range []*harness{owned, crashed} {
		st, err := h.dir.load()
		require.NoError(t, err)
		namespace, err := os.Readlink("/proc/" + strconv.Itoa(st.Components[binaries.Node].PID) + "/ns/net")
		require.NoError(t, err)
		namespaces = append(namespaces, namespace)
		require.Contains(t, strings.Join(inhabitants(t, namespace), "\n"), binaries.Shim, "a Pod runs")
		groups = append(groups, st.Cgroup)
		require.NotEqual(t, before, remains(t, st.Cgroup), "what is looked for is found while the cluster runs")
	}
	require.NotEqual(t, namespaces[0], namespaces[1])

	ids := slices.Concat(owned.processes(), crashed.processes())
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	st, err := crashed.dir.load()
	require.NoError(t, err)
	require.NoError(t, st.Supervisor.Signal(syscall.SIGKILL))
	owned.requireGone(ids)
	require.Eventually(t, func() bool { return slices.Equal(before, remains(t, groups...)) }, patience, 100*time.Millisecond,
		"mounts, control groups and network interfaces are as before")
	for _, namespace := range namespaces {
		require.Empty(t, inhabitants(t, namespace))
	}
}

func TestRealNodesSayWhatIsMissing(t *testing.T) {
	for what, test := range map[string]struct {
		system  string
		user    int
		has     []string
		refusal string
	}{
		"another system": {"darwin", 0, []string{"runc", "nft"}, "needs Linux"},
		"another user":   {"linux", 1000, []string{"runc", "nft"}, "needs root"},
		"a runtime":      {"linux", 0, []string{"nft"}, "needs runc, not found in PATH; install with: apt-get install runc"},
		"both":           {"linux", 0, nil, "needs runc and nft, not found in PATH; install with: apt-get install runc nftables"},
		"nothing":        {"linux", 0, []string{"runc", "nft"}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			err := missingForRealNodes(test.system, test.user, func(program string) (string, error) {
				if !slices.Contains(test.has, program) {
					return "", exec.ErrNotFound
				}
				return program, nil
			})
			if test.refusal == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.refusal)
		})
	}
}
