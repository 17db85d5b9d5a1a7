package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	ozv1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/openzro"
)

// management is a double of openZro's server, or with OPENZRO_URL and OPENZRO_TOKEN a real
// one. Tests of faults are about the double alone.
var management *openzro.Management

// openZroKey is the file with the manager's default key.
var openZroKey string

// startOpenZro opens the server, and gives the manager of the tests openZro's permissions
// and no others.
func startOpenZro(ctx context.Context, folder string) (stop func() error, err error) {
	if err := installation.PermitOpenZro(ctx, cluster); err != nil {
		return nil, err
	}
	if management, err = openzro.Open(); err != nil {
		return nil, err
	}
	openZroKey = filepath.Join(folder, "openzro-api-key")
	stop = func() error { management.Close(); return nil }
	return stop, os.WriteFile(openZroKey, []byte(management.Token+"\n"), 0o600)
}

// openZroArgs are the manager's flags: with a short interval, so that little is waited
// for, and a default key for the namespaces that the test of it makes.
func openZroArgs() []string {
	return []string{
		"--openzro-management-url=" + management.URL, "--openzro-api-key-file=" + openZroKey, "--openzro-default-namespaces=e2e-openzro-default*", "--openzro-interval=2s",
		// At a real server, tenants of several tests have one account.
		"--openzro-adoptions=e2e-*=*", "--openzro-dns-zones=e2e-*=*.example",
		"--openzro-expose=" + originals + "=e2e *", "--openzro-sidecar-profiles=" + originals,
	}
}

// inParallel runs a test in parallel with others at the double, where each has accounts of
// its own.
func inParallel(t *testing.T) {
	if management.Double != nil {
		t.Parallel()
	}
}

// tenant is a namespace with a key of its own.
type tenant struct {
	namespace, token string
	// account is nil at a real server.
	account *openzro.Account
}

// newTenant makes one. A real server has two accounts, which are first and second.
func newTenant(t *testing.T, which string) tenant {
	t.Helper()
	made := tenant{namespace: "e2e-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + "-" + which}
	makeNamespace(t, made.namespace)
	switch {
	case management.Double != nil:
		made.account = management.Double.AddAccount(made.namespace)
		made.token = made.account.Token
	case which == "first":
		made.token = management.Token
	default:
		require.NotEmpty(t, management.OtherToken, "OPENZRO_OTHER_TOKEN is needed: a token of an administrator of another account")
		made.token = management.OtherToken
	}
	made.setKey(t, made.token)
	// The finalizers want the key until the end.
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "-n", made.namespace, openZroKinds, "--all", "--timeout=60s")
	})
	return made
}

const openZroKinds = "ozpolicies,ozhttproutes,oznetworkresources,ozresources,ozroutingpeers,ozsidecarprofiles,ozsetupkeys,ozgroups"

// setKey stores a token in the tenant's Secret.
func (x tenant) setKey(t *testing.T, token string) {
	t.Helper()
	mustKubectl(t, asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": ozv1.APIKeySecret, "namespace": x.namespace},
		"stringData": map[string]any{ozv1.APIKey: token, ozv1.APIManagementURL: management.URL},
	}), "apply", "--server-side", "-f", "-")
}

// object is one of openZro's kinds in the tenant's namespace.
func (x tenant) object(kind, name string, spec map[string]any) string {
	return asJSON(map[string]any{
		"apiVersion": "openzro.io/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": x.namespace}, "spec": spec,
	})
}

func (x tenant) apply(t *testing.T, kind, name string, spec map[string]any) {
	t.Helper()
	mustKubectl(t, x.object(kind, name, spec), "apply", "-f", "-")
}

// refused is what kubectl says of an object that is not admitted.
func (x tenant) refused(t *testing.T, kind, name string, spec map[string]any) string {
	t.Helper()
	output, ok := apply(t, x.object(kind, name, spec))
	require.False(t, ok, "%s was admitted", name)
	return output
}

func (x tenant) remove(t *testing.T, kind, name string) {
	t.Helper()
	mustKubectl(t, "", "delete", "-n", x.namespace, kind, name, "--timeout=60s")
}

// list is a collection at the server, as the tenant sees it.
func list[T any](t *testing.T, x tenant, path string) (all []T) {
	t.Helper()
	answer, err := management.Send(t.Context(), x.token, http.MethodGet, path, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s: %s", path, answer.Body)
	require.NoError(t, answer.Into(&all))
	return all
}

// makeAtServer makes something at the server by another way.
func makeAtServer[T any](t *testing.T, x tenant, path string, body map[string]any) (made T) {
	t.Helper()
	answer, err := management.Send(t.Context(), x.token, http.MethodPost, path, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s: %s", path, answer.Body)
	require.NoError(t, answer.Into(&made))
	return made
}

// status is what the objects of all kinds say of themselves.
type status struct {
	ozv1.Status
	NetworkID string `json:"networkID"`
	State     string `json:"state"`
}

// objectWithStatus is one of any kind.
type objectWithStatus struct {
	Metadata struct{ Generation int64 }
	Status   status
}

func (x tenant) status(t *testing.T, kind, name string) (s status, generation int64) {
	t.Helper()
	o := read[objectWithStatus](t, x.namespace, kind+"/"+name)
	return o.Status, o.Metadata.Generation
}

// await waits until the present spec has come to a reason, and is the message.
func (x tenant) await(t *testing.T, kind, name, reason string) (message string) {
	t.Helper()
	waitFor(t, x.namespace, kind+"/"+name, "the object to be "+reason, func(o *objectWithStatus) bool {
		ready := meta.FindStatusCondition(o.Status.Conditions, ozv1.ConditionReady)
		if ready == nil || o.Status.ObservedGeneration != o.Metadata.Generation || ready.ObservedGeneration != o.Metadata.Generation || ready.Reason != reason {
			return false
		}
		message = ready.Message
		return (ready.Status == "True") == (reason == ozv1.ReasonReconciled)
	})
	return message
}

func (x tenant) reconciled(t *testing.T, kind, name string) {
	t.Helper()
	x.await(t, kind, name, ozv1.ReasonReconciled)
}

// groupNamed is a group at the server.
func (x tenant) groupNamed(t *testing.T, name string) (found openzro.Group, there bool) {
	t.Helper()
	all := list[openzro.Group](t, x, "groups")
	at := slices.IndexFunc(all, func(g openzro.Group) bool { return g.Name == name })
	if at < 0 {
		return found, false
	}
	return all[at], true
}

func (x tenant) policies(t *testing.T) map[string]openzro.Policy {
	t.Helper()
	all := map[string]openzro.Policy{}
	for _, p := range list[openzro.Policy](t, x, "policies") {
		all[p.Name] = p
	}
	return all
}

// everything is what the server has of the tenant, by the names.
func (x tenant) everything(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, path := range []string{"groups", "setup-keys", "policies", "networks", "networks/resources", "networks/routers"} {
		all[path] = []string{}
		for _, one := range list[map[string]any](t, x, path) {
			all[path] = append(all[path], fmt.Sprint(one["id"], " ", one["name"]))
		}
		slices.Sort(all[path])
	}
	settings, err := json.Marshal(list[openzro.AccountAnswer](t, x, "accounts")[0].Settings)
	require.NoError(t, err)
	all["settings"] = []string{string(settings)}
	return all
}

func names(groups []openzro.GroupSize) (names []string) {
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// secret is what a Secret of the tenant holds.
func (x tenant) secret(t *testing.T, name string) map[string]string {
	t.Helper()
	var secret corev1.Secret
	require.NoError(t, json.Unmarshal([]byte(mustGet(t, "secret", name, "-n", x.namespace, "-o", "json")), &secret))
	values := map[string]string{}
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return values
}

// managerLog is what the manager has said so far, its decisions among it.
func managerLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(manager.Log)
	require.NoError(t, err)
	return string(text)
}

// TestOpenZroAnotherAccount: a token of another account changes nothing in either, until it
// is acknowledged.
func TestOpenZroAnotherAccount(t *testing.T) {
	inParallel(t)
	x, y := newTenant(t, "first"), newTenant(t, "second")
	before := y.everything(t)
	x.apply(t, "OZGroup", "g", map[string]any{"name": "e2e account"})
	x.apply(t, "OZSetupKey", "k", map[string]any{"name": "e2e account", "autoGroups": []string{"e2e account"}})
	x.reconciled(t, "ozgroup", "g")
	x.reconciled(t, "ozsetupkey", "k")
	held := x.everything(t)
	group, _ := x.groupNamed(t, "e2e account")
	s, _ := x.status(t, "ozgroup", "g")
	x.setKey(t, y.token)
	message := x.await(t, "ozgroup", "g", ozv1.ReasonAccountChanged)
	require.Contains(t, message, s.Account)
	require.Contains(t, message, group.ID)
	x.await(t, "ozsetupkey", "k", ozv1.ReasonAccountChanged)
	require.Equal(t, before, y.everything(t))
	require.Equal(t, held, x.everything(t))

	other := list[openzro.AccountAnswer](t, y, "accounts")[0].ID
	mustKubectl(t, "", "annotate", "-n", x.namespace, "secret", ozv1.APIKeySecret, ozv1.AccountAnnotation+"="+other)
	x.reconciled(t, "ozgroup", "g")
	x.reconciled(t, "ozsetupkey", "k")
	s, _ = x.status(t, "ozgroup", "g")
	require.Equal(t, []ozv1.LeftBehind{{Account: s.LeftBehind[0].Account, Kind: "group", ID: group.ID}}, s.LeftBehind)
	require.Equal(t, other, s.Account)
	require.Equal(t, held, x.everything(t))
	x.remove(t, "ozsetupkey", "k")
	x.remove(t, "ozgroup", "g")
	require.Equal(t, before, y.everything(t))
	for _, key := range list[openzro.SetupKey](t, x, "setup-keys") {
		if key.Name == "e2e account" {
			x.deleteAtServer(t, "setup-keys/"+key.ID)
		}
	}
	x.deleteAtServer(t, "groups/"+group.ID)
}
