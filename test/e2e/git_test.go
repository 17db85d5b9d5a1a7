package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
	"github.com/lintel-policy/lintel/test/gitserver"
	"github.com/lintel-policy/lintel/test/installation"
)

// hookToken is the secret of the push receivers.
const hookToken = "push-token"

// gitRepository is a repository whose commits are signed, and the PolicySource that
// follows it.
type gitRepository struct {
	*gitserver.Repository
	source, namespace string
}

func newGitRepository(t *testing.T, folder, source, namespace string) *gitRepository {
	t.Helper()
	repository, err := gitserver.NewRepository(t.Context(), folder, source)
	require.NoError(t, err)
	key := filepath.Join(folder, source+".key")
	output, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", key).CombinedOutput()
	require.NoError(t, err, string(output))
	for _, setting := range [][]string{{"gpg.format", "ssh"}, {"user.signingKey", key}} {
		_, err := repository.Git(t.Context(), append([]string{"config"}, setting...)...)
		require.NoError(t, err)
	}
	managerSecret(t, source+"-token", "--from-literal=token="+hookToken)
	managerSecret(t, source+"-keys", "--from-file=ada.pub="+key+".pub")
	return &gitRepository{repository, source, namespace}
}

// rule denies ConfigMaps of one name.
func (r *gitRepository) rule(name string) map[string]string {
	return map[string]string{"lintel/team.rego": inNamespace(r.namespace, configMapKind, fmt.Sprintf("package %[2]s\ndeny contains %[1]q if input.name == %[1]q", name, r.packageName()))}
}

// packageName is the repository's own: the tests run in parallel, and a package belongs to one
// source.
func (r *gitRepository) packageName() string { return strings.ReplaceAll(r.source, "-", "_") }

// push pushes files with a signature, and notifies Lintel.
func (r *gitRepository) push(t *testing.T, files map[string]string) (revision string) {
	t.Helper()
	return r.pushWith(t, "-S", files)
}

func (r *gitRepository) pushWith(t *testing.T, signing string, files map[string]string) (revision string) {
	t.Helper()
	hash, err := r.Push(t.Context(), files, signing)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, notify(t, manager, r.source, hookToken))
	return "main@sha1:" + hash
}

// denies says whether creating a ConfigMap of a name meets the rule for it.
func (r *gitRepository) denies(t *testing.T, name string) bool {
	t.Helper()
	output, ok := kubectl(t, configMap(r.namespace, name), "create", "--dry-run=server", "-f", "-")
	return !ok && strings.Contains(output, "denied the request: "+name+" ["+r.packageName()+" deny, team.rego:")
}

// goesLive waits until a rule denies.
func (r *gitRepository) goesLive(t *testing.T, name string) {
	t.Helper()
	eventually(t, func() bool { return r.denies(t, name) }, "the rule for "+name+" to deny")
}

// staysOut waits until the status gives a reason, and expects the revision before to
// stay live, every replica ready, and an Event.
func (r *gitRepository) staysOut(t *testing.T, reason, message, live string) {
	t.Helper()
	var object *v1alpha1.PolicySource
	eventually(t, func() bool {
		object = readSource(t, r.source)
		ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == reason && strings.Contains(ready.Message, message)
	}, "Ready to be False with "+reason+" and "+message)
	require.Equal(t, live, object.Status.Revision)
	require.Contains(t, mustKubectl(t, "", "describe", "policysource", r.source), "the last good revision "+live+" stays live")
	require.NoError(t, manager.WaitReady(t.Context(), time.Minute))
	eventually(t, func() bool {
		events, _ := get(t, "events.events.k8s.io", "-n", "default", "-o", `jsonpath={range .items[*]}{.regarding.name} {.type} {.reason} {.note}{"\n"}{end}`)
		for line := range strings.Lines(events) {
			if strings.HasPrefix(line, r.source+" Warning "+reason) && strings.Contains(line, message) {
				return true
			}
		}
		return false
	}, "an Event that says so")
}

// TestPolicyFromGit follows one repository, served by Git over HTTP, through what
// happens to it.
func TestPolicyFromGit(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	folder := t.TempDir()
	repository := newGitRepository(t, folder, "team-git", namespace)
	server, err := gitserver.Start(folder, "127.0.0.1:0", nil)
	require.NoError(t, err)
	t.Cleanup(func() { server.Stop() })

	live := repository.pushedBefore(t, "one")
	applyGitSource(t, repository.source, map[string]any{
		"git": map[string]any{
			"url": server.URL + "/team-git.git", "ref": map[string]any{"branch": "main"}, "path": "lintel",
			"verify":   map[string]any{"secretRef": map[string]any{"name": "team-git-keys"}},
			"receiver": map[string]any{"secretRef": map[string]any{"name": "team-git-token"}},
		},
		"interval": "1h",
	})
	waitSource(t, repository.source)
	object := readSource(t, repository.source)
	require.Equal(t, live, object.Status.Revision)
	verified := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionSourceVerified)
	require.Equal(t, metav1.ConditionTrue, verified.Status)
	require.Contains(t, verified.Message, "ada")
	require.True(t, repository.denies(t, "one"))

	t.Run("a push is enforced", func(t *testing.T) {
		live = repository.push(t, repository.rule("two"))
		repository.goesLive(t, "two")
		require.False(t, repository.denies(t, "one"))
	})
	t.Run("a syntax error stays out", func(t *testing.T) {
		bad := repository.push(t, map[string]string{"lintel/team.rego": "package team\n\ndeny contains if {"})
		repository.staysOut(t, source.ReasonCompileFailed, "revision "+bad, live)
		require.Equal(t, "team.rego", readSource(t, repository.source).Status.Errors[0].File)
		require.True(t, repository.denies(t, "two"))
	})
	t.Run("fixing it goes live", func(t *testing.T) {
		live = repository.push(t, repository.rule("three"))
		repository.goesLive(t, "three")
		waitSource(t, repository.source)
		require.Empty(t, readSource(t, repository.source).Status.Errors)
	})
	t.Run("a failing test stays out", func(t *testing.T) {
		files := repository.rule("untested")
		files["lintel/team_test.rego"] = "package team_test\n\ntest_nothing if false\n"
		repository.push(t, files)
		repository.staysOut(t, source.ReasonTestsFailed, "test_nothing", live)
		require.True(t, repository.denies(t, "three"))
		files["lintel/team_test.rego"] = "package team_test\n\ntest_nothing if true\n"
		live = repository.push(t, files)
		repository.goesLive(t, "untested")
		waitSource(t, repository.source)
	})
	t.Run("an unsigned commit stays out", func(t *testing.T) {
		repository.pushWith(t, "--no-gpg-sign", repository.rule("unsigned"))
		repository.staysOut(t, origin.ReasonVerificationFailed, "is not signed", live)
		require.True(t, meta.IsStatusConditionFalse(readSource(t, repository.source).Status.Conditions, v1alpha1.ConditionSourceVerified))
		require.True(t, repository.denies(t, "untested"))
	})
	t.Run("a force-push replaces what was there", func(t *testing.T) {
		_, err := repository.Git(t.Context(), "checkout", "--quiet", "--orphan", "another-history")
		require.NoError(t, err)
		live = repository.push(t, repository.rule("forced"))
		repository.goesLive(t, "forced")
	})
	t.Run("a forged notification is refused", func(t *testing.T) {
		require.Equal(t, http.StatusUnauthorized, notify(t, manager, repository.source, "guess"))
		require.Equal(t, http.StatusNotFound, notify(t, manager, "nobody", hookToken))
	})
	t.Run("the annotation asks for a look", func(t *testing.T) {
		hash, err := repository.Push(t.Context(), repository.rule("annotated"), "-S")
		require.NoError(t, err)
		live = "main@sha1:" + hash
		mustKubectl(t, "", "annotate", "policysource", repository.source, v1alpha1.ReconcileAtAnnotation+"=now")
		repository.goesLive(t, "annotated")
		eventually(t, func() bool { return readSource(t, repository.source).Status.LastHandledReconcileAt == "now" }, "the annotation to be handled")
	})
	t.Run("while suspended nothing goes live", func(t *testing.T) {
		suspend := func(value string) {
			mustKubectl(t, "", "patch", "policysource", repository.source, "--type=merge", "-p", `{"spec":{"suspend":`+value+`}}`)
		}
		suspend("true")
		eventually(t, func() bool {
			ready := meta.FindStatusCondition(readSource(t, repository.source).Status.Conditions, v1alpha1.ConditionReady)
			return ready.Status == metav1.ConditionTrue && ready.Reason == "Suspended"
		}, "the source to say that it is suspended")
		next := repository.push(t, repository.rule("suspended"))
		mustKubectl(t, "", "annotate", "--overwrite", "policysource", repository.source, v1alpha1.ReconcileAtAnnotation+"=later")
		require.True(t, repository.denies(t, "annotated"))
		require.Equal(t, live, readSource(t, repository.source).Status.Revision)
		suspend("false")
		repository.goesLive(t, "suspended")
		live = next
	})
	t.Run("a branch that disappears leaves the last good revision", func(t *testing.T) {
		_, err := repository.Git(t.Context(), "push", "--quiet", "origin", "HEAD:elsewhere", ":main")
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, notify(t, manager, repository.source, hookToken))
		repository.staysOut(t, origin.ReasonNotFound, "has no branch main", live)
		require.True(t, repository.denies(t, "suspended"))
	})
}

// TestPolicyFromABareRepository reads a repository of the manager's own disk, which is
// asked for again and again. It is not parallel: when other sources change, the Ready
// condition of this one is written, too.
func TestPolicyFromABareRepository(t *testing.T) {
	repository := newGitRepository(t, t.TempDir(), "team-file", newNamespace(t))
	repository.pushedBefore(t, "one")
	applyGitSource(t, repository.source, map[string]any{
		"git":      map[string]any{"url": "file://" + repository.Bare, "path": "lintel"},
		"interval": "5s",
	})
	waitSource(t, repository.source)
	repository.goesLive(t, "one")
	hash, err := repository.Push(t.Context(), repository.rule("two"))
	require.NoError(t, err)
	repository.goesLive(t, "two")

	before := waitFor(t, "", "policysource/"+repository.source, "the second revision to be reported", func(source *v1alpha1.PolicySource) bool {
		return strings.HasSuffix(source.Status.Revision, hash) && meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady)
	})
	looks := fetches(t, repository.source)
	eventually(t, func() bool { return fetches(t, repository.source) > looks+1 }, "the repository to be looked at twice more")
	require.JSONEq(t, asJSON(before), asJSON(readSource(t, repository.source)), "a look that finds nothing new writes nothing")
}

// TestPolicyFromARegistry follows a tag of an artifact.
func TestPolicyFromARegistry(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	repository, err := remote.NewRepository(host + "/lintel/policies")
	require.NoError(t, err)
	repository.PlainHTTP = true
	follower := &gitRepository{source: "team-oci", namespace: namespace}
	push := func(name string) string {
		text := follower.rule(name)["lintel/team.rego"]
		var layer bytes.Buffer
		zipped := gzip.NewWriter(&layer)
		writer := tar.NewWriter(zipped)
		require.NoError(t, writer.WriteHeader(&tar.Header{Name: "/team.rego", Mode: 0o600, Size: int64(len(text))}))
		_, err := io.WriteString(writer, text)
		require.NoError(t, errors.Join(err, writer.Close(), zipped.Close()))
		blob, err := oras.PushBytes(t.Context(), repository, ocispec.MediaTypeImageLayerGzip, layer.Bytes())
		require.NoError(t, err)
		manifest, err := oras.PackManifest(t.Context(), repository, oras.PackManifestVersion1_0, ocispec.MediaTypeImageConfig, oras.PackManifestOptions{Layers: []ocispec.Descriptor{blob}})
		require.NoError(t, err)
		require.NoError(t, repository.Tag(t.Context(), manifest, "stable"))
		return "stable@" + manifest.Digest.String()
	}
	first := push("one")
	applyGitSource(t, follower.source, map[string]any{
		"oci":      map[string]any{"url": "oci://" + host + "/lintel/policies", "ref": map[string]any{"tag": "stable"}, "insecure": true},
		"interval": "5s",
	})
	waitSource(t, follower.source)
	require.Equal(t, first, readSource(t, follower.source).Status.Revision)
	follower.goesLive(t, "one")
	push("two")
	follower.goesLive(t, "two")
}

// pushedBefore pushes the first rule, before a PolicySource follows the repository.
func (r *gitRepository) pushedBefore(t *testing.T, name string) (revision string) {
	t.Helper()
	hash, err := r.Push(t.Context(), r.rule(name), "-S")
	require.NoError(t, err)
	return "main@sha1:" + hash
}

// fetches counts the looks at a source that found what there is.
func fetches(t *testing.T, source string) (count int) {
	t.Helper()
	if text, ok := metric(t, `lintel_source_fetches_total{result="success",source="`+source+`"}`); ok {
		_, err := fmt.Sscan(text, &count)
		require.NoError(t, err)
	}
	return count
}

// notify sends a push notification as GitHub does.
func notify(t *testing.T, m *installation.Manager, source, token string) (status int) {
	t.Helper()
	const body = `{"ref":"refs/heads/main"}`
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(body))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.Receiver+"/hook/"+source, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// managerSecret creates a Secret in the manager's namespace, which is deleted with the test.
func managerSecret(t *testing.T, name string, content ...string) {
	t.Helper()
	mustKubectl(t, "", append([]string{"create", "secret", "generic", name, "-n", installation.Namespace}, content...)...)
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "secret", name, "-n", installation.Namespace)
	})
}

// applyGitSource applies a PolicySource that goes with the test.
func applyGitSource(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	t.Cleanup(func() { removeSource(context.Background(), name) })
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": map[string]any{"name": name}, "spec": spec,
	})
	require.NoError(t, err)
	mustKubectl(t, string(text), "apply", "--server-side", "-f", "-")
}
