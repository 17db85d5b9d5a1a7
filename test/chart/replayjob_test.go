package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/record"
)

const (
	commandImage = "localhost/lintel"
	jobNamespace = "replay"
	jobRecords   = 3000
)

// slowPolicy takes long enough for a Pod to be killed while it evaluates its part.
const slowPolicy = `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Pod}]}
package team.images

import rego.v1

deny contains msg if {
	some container in input.request.object.spec.containers
	endswith(container.image, ":latest")
	count([x | some x in numbers.range(1, 4000); x > 0]) == 4000
	msg := sprintf("%s has no version", [container.image])
}
`

// makeCommand writes the image of the command line to a folder.
func makeCommand(folder string) error {
	return output("../../config/release", nil, "go", "run", ".", "image", folder, "--source", "../..", "--only", "lintel",
		"--platform", "linux/"+runtime.GOARCH, "--version", present)
}

// writeJobRecords writes records that the Pods of a Job may read, and a folder for their results.
func writeJobRecords(t *testing.T, folder string) {
	t.Helper()
	store, err := record.OpenFolder(folder)
	require.NoError(t, err)
	writer, err := record.NewWriter(store, record.WriterOptions{FrameBytes: 64 << 10})
	require.NoError(t, err)
	begin := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range jobRecords {
		image := "web:" + []string{"1", "latest", "latest"}[i%3]
		request := fmt.Sprintf(`{"uid":"u%d","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
			"userInfo":{"username":"user-%d"},"name":"web-%d","namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-%d","namespace":"shop"},"spec":{"containers":[{"name":"web","image":%q}]}}}`, i, i%7, i, i, image)
		require.NoError(t, writer.Write(t.Context(), &record.Record{
			Schema: record.Schema, Time: begin.Add(time.Duration(i) * time.Second), Entry: "validate/policies-fail",
			Request: json.RawMessage(request), Count: int64(i % 4), Decision: record.Decision{Allowed: true},
		}))
	}
	require.NoError(t, writer.Close(t.Context()))
	require.NoError(t, store.Close())
	require.NoError(t, filepath.WalkDir(folder, func(file string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chown(file, 65532, 65532) // the user of the Pods
	}))
}

// replayInAJob evaluates records by two Pods, of which one is killed, and compares the merged report
// with that of one process.
func (n node) replayInAJob(t *testing.T) {
	folder, policies := t.TempDir(), filepath.Join(t.TempDir(), "policies")
	for at := folder; at != filepath.Clean(os.TempDir()); at = filepath.Dir(at) { // the Pods' user passes
		require.NoError(t, os.Chmod(at, 0o755))
	}
	require.NoError(t, os.Mkdir(policies, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(policies, "images.rego"), []byte(slowPolicy), 0o600))
	writeJobRecords(t, folder)
	n.must(t, "", "create", "namespace", jobNamespace)
	n.must(t, fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: records}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], hostPath: {path: %s}, storageClassName: none, claimRef: {namespace: %s, name: records}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: records, namespace: %s}, spec: {accessModes: [ReadWriteMany], storageClassName: none, resources: {requests: {storage: 1Gi}}}}
`, folder, jobNamespace, jobNamespace), "apply", "-f", "-")

	program := filepath.Join(t.TempDir(), "lintel")
	run(t, "../..", "go", "build", "-o", program, "./cmd/lintel")
	replay := func(store string, args ...string) (string, error) {
		all := append([]string{"replay", "--against", policies, "--since", "2026-11-20T00:00:00Z", "--until", "2026-11-21T00:00:00Z"}, args...)
		out, err := exec.CommandContext(t.Context(), program, append(all, store)...).Output()
		return string(out), err
	}
	manifests, err := replay("file:///records", "--job", "2", "--job-name", "week", "--job-image", commandImage+":"+present, "--job-claim", "records")
	require.NoError(t, err)
	// Two Pods that run at the same time, on a node that may have two CPUs.
	manifests = strings.Replace(manifests, `cpu: "1"`, "cpu: 100m", 1)
	n.must(t, manifests, "apply", "--namespace", jobNamespace, "-f", "-")
	pods := func() []corev1.Pod {
		list, err := n.client.CoreV1().Pods(jobNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=week"})
		require.NoError(t, err)
		return list.Items
	}
	running := ""
	eventually(t, func() bool {
		for _, pod := range pods() {
			if pod.Annotations["batch.kubernetes.io/job-completion-index"] == "1" && pod.Status.Phase == corev1.PodRunning {
				running = pod.Name
			}
		}
		return running != ""
	}, "a Pod of the Job runs")
	n.must(t, "", "delete", "pod", running, "--namespace", jobNamespace, "--force", "--grace-period=0")
	require.NoFileExists(t, filepath.Join(folder, "results", "week", "1.json"), "the Pod was killed before its result")
	out, err := n.kubectl(t.Context(), "", "wait", "--namespace", jobNamespace, "--for=condition=Complete", "--timeout=5m", "job/week")
	if err != nil {
		logs, _ := n.kubectl(t.Context(), "", "logs", "--namespace", jobNamespace, "--selector=batch.kubernetes.io/job-name=week", "--tail=20")
		require.NoError(t, err, out+logs)
	}
	var names []string
	for _, pod := range pods() {
		names = append(names, pod.Name)
	}
	require.NotContains(t, names, running, "another Pod has evaluated the part")

	merged, mergeErr := replay("file://"+folder, "--merge", "week", "-o", "json")
	whole, wholeErr := replay("file://"+folder, "-o", "json")
	require.Error(t, wholeErr, "requests are newly denied")
	require.Error(t, mergeErr)
	require.NotEmpty(t, whole)
	require.Equal(t, whole, merged)
	require.Contains(t, whole, `"newlyDenied": `)
	n.must(t, "", "delete", "namespace", jobNamespace)
	n.must(t, "", "delete", "persistentvolume", "records")
}
