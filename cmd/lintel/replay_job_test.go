package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/record"
)

// replayStore is a folder with records of n requests, half of which the policy denies.
func replayStore(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	store, err := record.OpenFolder(dir)
	require.NoError(t, err)
	writer, err := record.NewWriter(store, record.WriterOptions{SegmentBytes: 2000, FrameBytes: 1000})
	require.NoError(t, err)
	for i := range n {
		image := "web:1"
		if i%2 == 0 {
			image = "web:latest"
		}
		r := replayRecord(fmt.Sprint(i), image)
		r.Time = r.Time.Add(time.Duration(i) * time.Second)
		require.NoError(t, writer.Write(t.Context(), r))
	}
	require.NoError(t, writer.Close(t.Context()))
	require.NoError(t, store.Close())
	return dir
}

// TestReplayInParts: each part leaves a result, one that is interrupted and started again, too, and
// the report is that of one run.
func TestReplayInParts(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/images.rego": replayPolicy})
	policies := filepath.Join(dir, "policies")
	store := replayStore(t, 40)
	whole := lintel(t, "", replayArgs("--against", policies, "-o", "json", store)...)
	require.Equal(t, 1, whole.code, whole.stderr)

	part := func(n int) []string {
		return replayArgs("--against", policies, "--part", fmt.Sprintf("%d/2", n), "--result", "job", "file://"+store)
	}
	merge := replayArgs("--against", policies, "--merge", "job", "-o", "json", "file://"+store)
	got := lintel(t, "", part(0)...)
	require.Equal(t, 0, got.code, got.stderr)
	require.Regexp(t, `^part 0 of 2: \d+ requests evaluated\n$`, got.stdout)

	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.NotZero(t, run(interrupted, append([]string{"lintel"}, part(1)...), strings.NewReader(""), &stdout, &stderr))
	missing := lintel(t, "", merge...)
	require.Equal(t, 2, missing.code)
	require.Contains(t, missing.stderr, `part 1 of job "job" has no result: wait until the Job is complete`)

	require.Equal(t, 0, lintel(t, "", part(1)...).code)
	again := lintel(t, "", part(1)...)
	require.Equal(t, 0, again.code, "a Pod that was lost after its result")
	require.Empty(t, again.stdout)
	merged := lintel(t, "", merge...)
	require.Equal(t, 1, merged.code, merged.stderr)
	require.Equal(t, whole.stdout, merged.stdout)

	other := folder(t, map[string]string{"policies/images.rego": strings.Replace(replayPolicy, "latest", "1", 1)})
	changed := lintel(t, "", replayArgs("--against", filepath.Join(other, "policies"), "--merge", "job", store)...)
	require.Equal(t, 2, changed.code)
	require.Contains(t, changed.stderr, "has evaluated other policies")
	require.NoError(t, os.WriteFile(filepath.Join(store, "results", "job", "0.json"), []byte("{}"), 0o600))
	require.Contains(t, lintel(t, "", merge...).stderr, "results/job/0.json is damaged")
}

// TestReplayJob prints manifests whose Pods evaluate the same policies.
func TestReplayJob(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/sub/images.rego": replayPolicy, "policies/data.json": `{"x": 1}`, "policies/README.md": "no"})
	got := lintel(t, "", replayArgs("--against", filepath.Join(dir, "policies"), "--job", "4", "--job-image", "lintel:v1", "--job-service-account", "auditor", "--job-secret", "store",
		"s3://audit/lintel?region=eu")...)
	require.Equal(t, 0, got.code, got.stderr)
	texts := strings.Split(got.stdout, "---\n")
	require.Len(t, texts, 2)
	var configMap corev1.ConfigMap
	var job batchv1.Job
	require.NoError(t, yaml.UnmarshalStrict([]byte(texts[0]), &configMap))
	require.NoError(t, yaml.UnmarshalStrict([]byte(texts[1]), &job))
	require.Equal(t, configMap.Name, job.Name)
	require.EqualValues(t, 4, *job.Spec.Completions)
	require.Equal(t, batchv1.IndexedCompletion, *job.Spec.CompletionMode)
	pod := job.Spec.Template.Spec
	require.Equal(t, "auditor", pod.ServiceAccountName)
	require.Equal(t, "store", pod.Containers[0].EnvFrom[0].SecretRef.Name)
	args := pod.Containers[0].Args
	require.Equal(t, []string{"replay", "--part=$(JOB_COMPLETION_INDEX)/4", "--result=" + job.Name, "--since=2026-11-20T00:00:00Z", "--until=2026-11-21T00:00:00Z", "--examples=3",
		"--against=/policies/against-0/policies", "s3://audit/lintel?region=eu"}, args)

	// The Pod's command, with the files of the ConfigMap and a store in a folder.
	mounted := t.TempDir()
	for _, item := range pod.Volumes[0].ConfigMap.Items {
		file := filepath.Join(mounted, filepath.FromSlash(item.Path))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(configMap.Data[item.Key]), 0o600))
	}
	require.Len(t, configMap.Data, 2)
	store := replayStore(t, 12)
	for index := range 4 {
		args := append([]string{}, args[:len(args)-1]...)
		for i := range args {
			args[i] = strings.NewReplacer("$(JOB_COMPLETION_INDEX)", fmt.Sprint(index), "/policies/against-0", filepath.Join(mounted, "against-0")).Replace(args[i])
		}
		result := lintel(t, "", append(args, store)...)
		require.Equal(t, 0, result.code, result.stderr)
	}
	merged := lintel(t, "", replayArgs("--against", filepath.Join(dir, "policies"), "--merge", job.Name, store)...)
	require.Equal(t, 1, merged.code, merged.stderr)
	require.Contains(t, merged.stdout, "12 requests from 2026-11-20T00:00:00Z to 2026-11-21T00:00:00Z: 6 newly denied, 6 the same")

	large := folder(t, map[string]string{"policies/p.rego": replayPolicy, "policies/data.json": `{"x": "` + strings.Repeat("x", 1<<20) + `"}`})
	tooLarge := lintel(t, "", replayArgs("--against", filepath.Join(large, "policies"), "--job", "4", "--job-image", "i", "s3://a")...)
	require.Equal(t, 2, tooLarge.code)
	require.Contains(t, tooLarge.stderr, "do not fit in a ConfigMap")
}

func TestReplayJobFlags(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"p/images.rego": replayPolicy, "data.json": "[]"})
	for want, args := range map[string][]string{
		"--job requires --job-image":                     {"--job", "2", "s3://a"},
		"--job requires the URL of a store":              {"--job", "2", "--job-image", "i", dir},
		"--job-claim and a store of the form":            {"--job", "2", "--job-image", "i", "file:///x"},
		"--job is 1001":                                  {"--job", "1001", "s3://a"},
		"exclude each other":                             {"--job", "2", "--merge", "a", "s3://a"},
		"--part is \"2/2\"":                              {"--part", "2/2", "--result", "a", "s3://a"},
		"--result is \"../x\"":                           {"--part", "0/2", "--result", "../x", "s3://a"},
		"--merge is \"a/b\"":                             {"--merge", "a/b", "s3://a"},
		"--result requires --part":                       {"--result", "a", dir},
		"require --job":                                  {"--job-name", "a", dir},
		"require one store of records":                   {"--merge", "a", "s3://a", "s3://b"},
		"--resume is for a run of one process":           {"--merge", "a", "--resume", "x", "s3://a"},
		"--job-name is \"A\": give a name of lower-case": {"--job", "2", "--job-image", "i", "--job-name", "A", "s3://a"},
		"--job cannot be combined with --external":       {"--job", "2", "--job-image", "i", "--external", "a=" + dir + "/data.json", "s3://a"},
	} {
		got := lintel(t, "", append([]string{"replay", "--against", dir + "/p"}, args...)...)
		require.Equal(t, 2, got.code, want)
		require.Contains(t, got.stderr, want)
	}
}
