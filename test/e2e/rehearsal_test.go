package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/test/gitserver"
)

// TestARevisionIsRehearsed pushes revisions of a source with spec.rehearse: the first one waits
// for records, one that would deny a recorded request waits for an approval, and a harmless one
// goes live.
func TestARevisionIsRehearsed(t *testing.T) {
	namespace := newNamespace(t)
	records := t.TempDir()
	manager.Stop()
	restarted := false
	t.Cleanup(func() {
		if !restarted {
			restartManager(t)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	recording, err := startManager(ctx, "--record=file://"+filepath.ToSlash(records), "--record-sample=other=1", "--record-merge-within=0")
	require.NoError(t, err)
	manager = recording

	folder := t.TempDir()
	repository := newGitRepository(t, folder, "rehearsed", namespace)
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(func() { server.Stop() })
	live := repository.pushedBefore(t, "one")
	spec := func(onMissingRecords string) map[string]any {
		return map[string]any{
			"git": map[string]any{
				"url": server.URL + "/rehearsed.git", "ref": map[string]any{"branch": "main"}, "path": "lintel",
				"receiver": map[string]any{"secretRef": map[string]any{"name": "rehearsed-token"}},
			},
			"interval": "1h",
			"rehearse": map[string]any{"since": "1d", "maxNewDenials": 0, "onMissingRecords": onMissingRecords},
		}
	}

	applyGitSource(t, repository.source, spec("Wait"))
	waits := waitRehearsal(t, repository.source, v1alpha1.RehearsalWaiting)
	require.Equal(t, "RehearsalWaiting", readyOf(waits).Reason)
	require.Contains(t, readyOf(waits).Message, "there are no records of requests of the last 1d")
	require.Empty(t, waits.Status.Digest, "nothing is in force")
	applyGitSource(t, repository.source, spec("Proceed"))
	repository.goesLive(t, "one")
	waitSource(t, repository.source)
	require.Equal(t, v1alpha1.RehearsalSkipped, readSource(t, repository.source).Status.Rehearsal.Result)

	applyGitSource(t, repository.source, spec("Wait"))
	mustKubectl(t, configMap(namespace, "two"), "apply", "-f", "-")
	store, err := record.OpenFolder(records)
	require.NoError(t, err)
	defer store.Close()
	eventually(t, func() bool {
		for r, err := range store.Records(t.Context(), time.Time{}, time.Time{}) {
			if err == nil && strings.Contains(string(r.Request), `"name":"two"`) {
				return true
			}
		}
		return false
	}, "the request to be recorded")

	repository.push(t, repository.rule("two"))
	repository.staysOut(t, "RehearsalFailed", "1 would be newly denied (maxNewDenials: 0)", live)
	failed := readSource(t, repository.source)
	require.Equal(t, v1alpha1.RehearsalFailed, failed.Status.Rehearsal.Result)
	require.EqualValues(t, 1, failed.Status.Rehearsal.NewDenials)
	require.Equal(t, []v1alpha1.RehearsalCount{{Name: "rehearsed", Requests: 1}}, failed.Status.Rehearsal.Policies)
	require.Equal(t, []v1alpha1.RehearsalCount{{Name: namespace, Requests: 1}}, failed.Status.Rehearsal.Namespaces)
	require.Contains(t, failed.Status.Rehearsal.Command, "lintel replay --against 'git+"+server.URL+"/rehearsed.git?ref=")
	require.True(t, repository.denies(t, "one"), "the last good revision is enforced")
	require.False(t, repository.denies(t, "two"))

	approve := func(digest string) {
		mustKubectl(t, "", "annotate", "--overwrite", "policysource", repository.source, v1alpha1.ApprovedRevisionAnnotation+"="+digest)
	}
	approve(strings.Replace(failed.Status.Rehearsal.Digest, "sha256:", "sha256:0", 1))
	repository.staysOut(t, "RehearsalFailed", "approves another revision", live)
	require.False(t, repository.denies(t, "two"))
	approve(failed.Status.Rehearsal.Digest)
	repository.goesLive(t, "two")
	waitSource(t, repository.source)
	inForce := readSource(t, repository.source)
	require.Equal(t, failed.Status.Rehearsal.Digest, inForce.Status.Digest)
	require.Equal(t, v1alpha1.RehearsalApproved, inForce.Status.Rehearsal.Result)

	harmless := repository.push(t, repository.rule("three"))
	repository.goesLive(t, "three")
	passed := waitRehearsal(t, repository.source, v1alpha1.RehearsalPassed)
	require.Equal(t, harmless, passed.Status.Rehearsal.Revision)
	require.Positive(t, passed.Status.Rehearsal.Requests)
	require.Zero(t, passed.Status.Rehearsal.NewDenials)

	recording.Kill()
	restartManager(t) // before the source is removed
	restarted = true
}

// waitRehearsal waits for the result of the rehearsal of a source.
func waitRehearsal(t *testing.T, name string, result v1alpha1.RehearsalResult) (found *v1alpha1.PolicySource) {
	t.Helper()
	waitFor(t, "", "policysource/"+name, "the rehearsal to be "+string(result), func(source *v1alpha1.PolicySource) bool {
		found = source
		return source.Status.Rehearsal != nil && source.Status.Rehearsal.Result == result
	})
	return found
}

func readyOf(source *v1alpha1.PolicySource) (ready struct{ Reason, Message string }) {
	if found := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady); found != nil {
		ready.Reason, ready.Message = found.Reason, found.Message
	}
	return ready
}
