package e2e

import (
	"bufio"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	orlojv1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/test/installation"
)

// orlojKey encrypts the Secrets of the tests.
const orlojKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// postgres is the store.
var postgres *installation.Postgres

// startOrloj starts the store, and gives the manager of the tests Orloj's permissions and
// no others.
func startOrloj(ctx context.Context, _ string) (stop func() error, err error) {
	if output, err := cluster.Kubectl(ctx, "", "apply", "-f", "config/orloj/namespace.yaml"); err != nil {
		return nil, fmt.Errorf("making the namespace of the overlay: %w: %s", err, output)
	}
	if err := installation.PermitOrloj(ctx, cluster); err != nil {
		return nil, err
	}
	if postgres, err = installation.StartPostgres(ctx); err != nil {
		return nil, err
	}
	return postgres.Remove, nil
}

// orlojArgs are the manager's flags: with short intervals, so that little is waited for.
func orlojArgs() []string {
	return []string{
		"--orloj-postgres-dsn=" + postgres.DSN, "--orloj-secret-encryption-key=" + orlojKey, "--orloj-create-tables",
		"--orloj-status-sync-interval=1s", "--orloj-drift-interval=3s",
	}
}

// psql selects from the store as a person would.
func psql(t *testing.T, statements string) string {
	t.Helper()
	output, err := postgres.Psql(t.Context(), statements)
	require.NoError(t, err)
	return strings.TrimSpace(output)
}

// The examples of Orloj's product document.
const (
	summarizer = `
apiVersion: orloj.dev/v1
kind: Agent
metadata:
  name: summarizer
  namespace: default
spec:
  prompt: You are a concise summarizer.
  model_ref: gpt-4o
  limits:
    max_steps: 5
`
	apiTool = `
apiVersion: orloj.dev/v1
kind: Tool
metadata:
  name: my-api-tool
spec:
  type: http
  endpoint: "https://api.example.com"
  auth:
    secretRef: my-k8s-secret   # K8s-native Secret created by Sealed Secrets
`
	mapped = `
apiVersion: orloj.dev/v1
kind: Agent
metadata:
  name: summarizer
  namespace: gitops-manifests           # K8s governance namespace
  annotations:
    orloj.dev/target-namespace: production  # Orloj store namespace
spec:
  model_ref: gpt-4o
  prompt: "You are a concise summarizer."
`
)

// agentIn is a good Agent.
func agentIn(namespace, name, prompt string, annotations map[string]string) string {
	return asJSON(map[string]any{
		"apiVersion": "orloj.dev/v1", "kind": "Agent",
		"metadata": map[string]any{"name": name, "namespace": namespace, "annotations": annotations},
		"spec":     map[string]any{"model_ref": "gpt-4o", "prompt": prompt},
	})
}

func agentOf(t *testing.T, namespace, name string) *orlojv1.Agent {
	t.Helper()
	return read[orlojv1.Agent](t, namespace, "agents.orloj.dev/"+name)
}

// waitStored waits until an object says that its present spec is in the store.
func waitStored(t *testing.T, namespace, name string) {
	t.Helper()
	type stored struct {
		metav1.ObjectMeta `json:"metadata"`
		Status            orlojv1.Status
	}
	waitFor(t, namespace, name, "the object to be synced", func(o *stored) bool {
		return o.Status.Phase == orlojv1.PhaseSynced && o.Status.ObservedGeneration == o.Generation &&
			meta.IsStatusConditionTrue(o.Status.Conditions, orlojv1.ConditionReady)
	})
}

// allow lets the objects of a namespace target others.
func allow(t *testing.T, namespace, targets string) {
	t.Helper()
	mustKubectl(t, "", "annotate", "--overwrite", "namespace", namespace, "orloj.dev/allowed-target-namespaces="+targets)
}

// applyAllowed applies once the webhook has seen the permission, or is registered: both
// come a moment later.
func applyAllowed(t *testing.T, object string) {
	t.Helper()
	eventually(t, func() bool {
		_, ok := apply(t, object)
		return ok
	}, "the permission to be seen")
}

func TestOrlojExamplesAreStored(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() {
		for _, name := range []string{"agents.orloj.dev/summarizer", "tools.orloj.dev/my-api-tool"} {
			_, _ = cluster.Kubectl(context.Background(), "", "delete", name, "-n", "default", "--ignore-not-found")
		}
	})
	tutorial, err := os.ReadFile(filepath.Join(installation.Root(), "docs", "orloj", "tutorial.md"))
	require.NoError(t, err)
	require.Contains(t, string(tutorial), summarizer, "the tutorial applies this Agent")
	mustKubectl(t, summarizer, "apply", "-f", "-")
	mustKubectl(t, apiTool, "apply", "-f", "-")
	waitStored(t, "default", "agent/summarizer")
	waitStored(t, "default", "tool/my-api-tool")
	require.Equal(t, "Synced", mustGet(t, "agent", "summarizer", "-n", "default", "-o", "jsonpath={.status.phase}"))
	mustKubectl(t, "", "get", "agents,agentsystems,tools,mcpservers,modelendpoints,memories,agentpolicies,secrets.orloj.dev", "-n", "default")
	require.Regexp(t, `(?m)^my-api-tool +Synced +http `, mustKubectl(t, "", "get", "otool", "-n", "default"))

	uid := agentOf(t, "default", "summarizer").UID
	identity := mustGet(t, "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
	var payload map[string]any
	require.NoError(t, json.Unmarshal([]byte(psql(t, "SELECT payload FROM agents WHERE name = 'default/summarizer'")), &payload))
	created := payload["metadata"].(map[string]any)["createdAt"]
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, created)
	require.Equal(t, map[string]any{
		"apiVersion": "orloj.dev/v1", "kind": "Agent",
		"metadata": map[string]any{
			"name": "summarizer", "namespace": "default", "resourceVersion": "1", "generation": 1.0, "createdAt": created,
			// Defect O8: kubectl's copy of the object is not among them.
			"annotations": map[string]any{"orloj.dev/managed-by": "crd-sync", "lintel.dev/owner-uid": string(uid), "lintel.dev/cluster": identity},
		},
		"spec": map[string]any{
			"model_ref": "gpt-4o", "prompt": "You are a concise summarizer.", "memory": map[string]any{},
			"execution": map[string]any{"profile": "dynamic", "duplicate_tool_call_policy": "short_circuit", "on_contract_violation": "non_retryable_error", "tool_use_behavior": "run_llm_again"},
			"limits":    map[string]any{"max_steps": 5.0},
		},
		"status": map[string]any{"phase": "Pending"},
	}, payload)
	require.Equal(t, "bearer my-k8s-secret|low|none", psql(t, "SELECT payload->'spec'->'auth'->>'profile' || ' ' || (payload->'spec'->'auth'->>'secretRef'), risk_level, isolation_mode FROM tools WHERE name = 'default/my-api-tool'"))

	mustKubectl(t, "", "delete", "agent/summarizer", "-n", "default", "--timeout=30s")
	require.Equal(t, "0", psql(t, "SELECT count(*) FROM agents WHERE name = 'default/summarizer'"))
}

// TestOrlojSamplesAreStored also evaluates an object of each kind with kstatus (defect O18:
// without conditions, a client cannot see whether an object is healthy).
func TestOrlojSamplesAreStored(t *testing.T) {
	const namespace = "orloj-samples"
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "--ignore-not-found", "-f", "config/samples/orloj")
	})
	mustKubectl(t, "", "apply", "-f", "config/samples/orloj")
	for table, name := range map[string]string{
		"agents": "agents/researcher", "agent_systems": "agentsystems/research", "tools": "tools/search", "mcp_servers": "mcpservers/issues",
		"model_endpoints": "modelendpoints/gpt-4o", "memories": "memories/notes", "agent_policies": "agentpolicies/budget", "secrets": "secrets.orloj.dev/openai",
	} {
		waitStored(t, namespace, name)
		key := namespace + "/" + strings.Split(name, "/")[1]
		require.Equal(t, "1|1|crd-sync", psql(t, fmt.Sprintf("SELECT payload->'metadata'->>'resourceVersion', payload->'metadata'->>'generation', payload->'metadata'->'annotations'->>'orloj.dev/managed-by' FROM %s WHERE name = '%s'", table, key)), key)
	}
	stored := psql(t, "SELECT payload->'spec'->'data'->>'api-key' FROM secrets WHERE name = 'orloj-samples/openai'")
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("<your API key>")), decrypt(t, stored))
	require.NotContains(t, psql(t, "SELECT payload FROM secrets WHERE name = 'orloj-samples/openai'"), "your API key")

	// With orlojd's word in the row of one of them, as its controller writes it.
	setPhase(t, namespace+"/researcher", "Ready")
	waitPhase(t, namespace, "researcher", "True Ready")

	// The counters have seen all these writes, so writes that are not counted did not happen: for
	// rows, the last transaction that wrote them. The manager looks for drift every 3 s, and for
	// orlojd's word every second.
	require.NotEmpty(t, countOrlojWrites(t))
	atRest(t, 8*time.Second, func() string { return strings.Join(countOrlojWrites(t), "") }, func() string {
		return psql(t, "SELECT string_agg(name || ' ' || xmin, ', ' ORDER BY name) FROM (SELECT name, xmin::text FROM agents UNION ALL SELECT name, xmin::text FROM secrets UNION ALL SELECT name, xmin::text FROM tools) AS rows")
	})
}

// setPhase has orlojd's controller report a phase of an agent.
func setPhase(t *testing.T, key, phase string) {
	t.Helper()
	psql(t, fmt.Sprintf(`UPDATE agents SET status_phase = '%[2]s', updated_at = NOW(), payload = jsonb_set(jsonb_set(payload, '{status}', '{"phase":"%[3]s","observedGeneration":1}'),
		'{metadata,resourceVersion}', '"5"') WHERE name = '%[1]s'`, key, strings.ToLower(phase), phase))
}

// waitPhase waits until an agent reports it.
func waitPhase(t *testing.T, namespace, name, want string) *orlojv1.Agent {
	t.Helper()
	return waitFor(t, namespace, "agents.orloj.dev/"+name, "orlojd's phase to be told", func(agent *orlojv1.Agent) bool {
		return says(agent.Status.Conditions, orlojv1.ConditionStorePhase) == want
	})
}

// decrypt opens a stored value with the key, as orlojd does.
func decrypt(t *testing.T, value string) string {
	t.Helper()
	require.True(t, strings.HasPrefix(value, "enc:"), value)
	sealed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(value, "enc:"))
	require.NoError(t, err)
	key, err := hex.DecodeString(orlojKey)
	require.NoError(t, err)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	aead, err := cipher.NewGCM(block)
	require.NoError(t, err)
	plain, err := aead.Open(nil, sealed[:12], sealed[12:], nil)
	require.NoError(t, err)
	return string(plain)
}

// orlojWrite excludes deletions by the controller of Namespaces, of any test.
var orlojWrite = regexp.MustCompile(`^apiserver_request_total\{.*group="orloj.dev".*scope="resource".*verb="(APPLY|PATCH|POST|PUT|DELETE)"`)

func countOrlojWrites(t *testing.T) (counts []string) {
	t.Helper()
	for line := range strings.Lines(mustKubectl(t, "", "get", "--raw", "/metrics")) {
		if orlojWrite.MatchString(line) {
			counts = append(counts, line)
		}
	}
	return counts
}

func TestOrlojDefaultsAndDenies(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	output, ok := apply(t, asJSON(map[string]any{
		"apiVersion": "orloj.dev/v1", "kind": "Tool", "metadata": map[string]any{"name": "t", "namespace": namespace},
		"spec": map[string]any{"type": "cli", "risk_level": "extreme"},
	}))
	require.False(t, ok)
	for _, words := range []string{
		`admission webhook "objects.orloj.dev" denied the request`, "spec.cli.command: a value is needed, since spec.type is cli",
		`spec.risk_level: "extreme" is not one of critical, high, low, medium`,
	} {
		require.Contains(t, output, words)
	}
	output, ok = apply(t, agentIn(namespace, "status", "p", nil))
	require.False(t, ok)
	require.Contains(t, output, `metadata.name: "status" is a path of orlojd's API`)

	// The same words without a cluster.
	file := filepath.Join(t.TempDir(), "agent.json")
	require.NoError(t, os.WriteFile(file, []byte(agentIn(namespace, "status", "p", nil)), 0o600))
	offline, err := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), "check", "-f", file).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(offline), `metadata.name: "status" is a path of orlojd's API; take another name`)
	require.Contains(t, output, `metadata.name: "status" is a path of orlojd's API; take another name`)

	mustKubectl(t, "", "annotate", "namespace", namespace, "orloj.dev/plaintext-secrets=forbidden")
	eventually(t, func() bool {
		output, ok := apply(t, asJSON(map[string]any{
			"apiVersion": "orloj.dev/v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": namespace},
			"spec": map[string]any{"stringData": map[string]any{"k": "v"}},
		}))
		return !ok && strings.Contains(output, "forbids values in manifests (orloj.dev/plaintext-secrets)")
	}, "plain Secrets to be refused")
}

// TestOrlojMapping is the mapping example of the product document: refused, with the
// command that an administrator runs, and stored after it.
func TestOrlojMapping(t *testing.T) {
	t.Parallel()
	makeNamespace(t, "gitops-manifests")
	output, ok := apply(t, mapped)
	require.False(t, ok)
	command := regexp.MustCompile(`kubectl (annotate --overwrite namespace \S+) '(\S+)'`).FindStringSubmatch(output)
	require.NotNil(t, command, output)
	require.Contains(t, output, `objects of namespace "gitops-manifests" may not be stored in Orloj's namespace "production"`)
	mustKubectl(t, "", append(strings.Fields(command[1]), command[2])...)
	applyAllowed(t, mapped)
	waitStored(t, "gitops-manifests", "agent/summarizer")
	require.Equal(t, "gitops-manifests|production", psql(t, "SELECT payload->'metadata'->'annotations'->>'orloj.dev/source-namespace', namespace FROM agents WHERE name = 'production/summarizer'"))

	// Another object on the same key.
	makeNamespace(t, "production")
	eventually(t, func() bool {
		output, ok = apply(t, agentIn("production", "summarizer", "mine", nil))
		return !ok
	}, "the second to be refused")
	require.Contains(t, output, "the store key production/summarizer belongs to Agent gitops-manifests/summarizer; give this object another name")

	// The permission is withdrawn: stored rows stay, and are no longer written.
	mustKubectl(t, "", "annotate", "namespace", "gitops-manifests", "orloj.dev/allowed-target-namespaces-")
	message := waitReason(t, "gitops-manifests", "summarizer", "NotAdmitted")
	require.Contains(t, message, "kubectl annotate --overwrite namespace gitops-manifests")
	require.Equal(t, "False Denied", says(agentOf(t, "gitops-manifests", "summarizer").Status.Conditions, orlojv1.ConditionAdmitted))
	psql(t, `UPDATE agents SET payload = jsonb_set(payload, '{spec,prompt}', '"edited"') WHERE name = 'production/summarizer'`)
	allow(t, "gitops-manifests", "prod*")
	waitStored(t, "gitops-manifests", "agent/summarizer")
	require.Equal(t, "You are a concise summarizer.", psql(t, "SELECT payload->'spec'->>'prompt' FROM agents WHERE name = 'production/summarizer'"))
}

// Defect O5: a row is left behind where the target of its object changes.
func TestOrlojMoves(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	allow(t, namespace, "moved-*")
	applyAllowed(t, agentIn(namespace, "a", "p", map[string]string{"orloj.dev/target-namespace": "moved-one"}))
	waitStored(t, namespace, "agent/a")
	mustKubectl(t, "", "annotate", "--overwrite", "-n", namespace, "agent/a", "orloj.dev/target-namespace=moved-two")
	rows := func() string {
		return psql(t, fmt.Sprintf("SELECT string_agg(name, ' ' ORDER BY name) FROM agents WHERE payload->'metadata'->'annotations'->>'orloj.dev/source-namespace' = '%s' OR namespace = '%s'", namespace, namespace))
	}
	eventually(t, func() bool { return rows() == "moved-two/a" }, "the row to move")
	mustKubectl(t, "", "annotate", "-n", namespace, "agent/a", "orloj.dev/target-namespace-")
	eventually(t, func() bool { return rows() == namespace+"/a" }, "the row to come home")

	// A row that a crash left behind is found by its owner.
	psql(t, fmt.Sprintf(`INSERT INTO agents (name, namespace, payload) SELECT 'moved-one/a', 'moved-one', jsonb_set(jsonb_set(payload, '{metadata,namespace}', '"moved-one"'),
		'{metadata,annotations,orloj.dev/source-namespace}', '"%[1]s"') FROM agents WHERE name = '%[1]s/a'`, namespace))
	eventually(t, func() bool { return rows() == namespace+"/a" }, "the stray row to go")
}

// Defect O6: two objects write one row in turns, and each deletes the other's.
func TestOrlojConcurrentPairs(t *testing.T) {
	t.Parallel()
	const pairs = 100
	namespaces := []string{"e2e-orloj-pairs-a", "e2e-orloj-pairs-b"}
	for _, namespace := range namespaces {
		makeNamespace(t, namespace)
		allow(t, namespace, "pairs")
		applyAllowed(t, agentIn(namespace, "probe-"+namespace, "p", map[string]string{"orloj.dev/target-namespace": "pairs"}))
	}
	agents := api.objects.Resource(schema.GroupVersionResource{Group: "orloj.dev", Version: "v1", Resource: "agents"})
	admitted := [2][pairs]bool{}
	for i := range pairs {
		var wait sync.WaitGroup
		for j, namespace := range namespaces {
			wait.Go(func() {
				_, err := agents.Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "orloj.dev/v1", "kind": "Agent",
					"metadata": map[string]any{"name": fmt.Sprintf("p%02d", i), "annotations": map[string]any{"orloj.dev/target-namespace": "pairs"}},
					"spec":     map[string]any{"model_ref": "m", "prompt": namespace},
				}}, metav1.CreateOptions{})
				admitted[j][i] = err == nil
				if err != nil {
					require.Contains(t, err.Error(), "the store key pairs/")
				}
			})
		}
		wait.Wait()
	}
	both := 0
	for i := range pairs {
		require.True(t, admitted[0][i] || admitted[1][i], "one of pair %d", i)
		if admitted[0][i] && admitted[1][i] {
			both++
		}
	}
	t.Logf("both of %d pairs were admitted", both)
	require.Positive(t, both)
	// Each has a status: the owner is synced, the loser names it.
	settled := func() (owners, losers int) {
		for _, namespace := range namespaces {
			list, err := agents.Namespace(namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, item := range list.Items {
				text, err := item.MarshalJSON()
				require.NoError(t, err)
				agent := orlojv1.Agent{}
				require.NoError(t, json.Unmarshal(text, &agent))
				switch says(agent.Status.Conditions, orlojv1.ConditionSynced) {
				case "True Synced":
					owners++
				case "False StoreKeyTaken":
					losers++
					other := namespaces[0]
					if namespace == other {
						other = namespaces[1]
					}
					require.Contains(t, agent.Status.SyncError, fmt.Sprintf("the row pairs/%s belongs to Agent %s/%s ", agent.Name, other, agent.Name))
					require.Empty(t, agent.Status.StoreKey)
				}
			}
		}
		return owners, losers
	}
	eventually(t, func() bool {
		owners, losers := settled()
		return owners == pairs+2 && losers == both
	}, "one owner for each row")
	require.Equal(t, fmt.Sprint(pairs), psql(t, `SELECT count(*) FROM agents WHERE name LIKE 'pairs/p__' AND payload->'metadata'->>'resourceVersion' = '1'
		AND payload->'spec'->>'prompt' = payload->'metadata'->'annotations'->>'orloj.dev/source-namespace'`), "nobody has written another's row")

	// All of one side go: the rows that they had are the other side's, if there is one.
	mustKubectl(t, "", "delete", "agents", "--all", "-n", namespaces[0], "--timeout=60s")
	left := 0
	for i := range pairs {
		if admitted[1][i] {
			left++
		}
	}
	eventually(t, func() bool {
		return psql(t, "SELECT count(*) FROM agents WHERE name LIKE 'pairs/p__'") == fmt.Sprint(left) &&
			psql(t, "SELECT count(*) FROM agents WHERE name LIKE 'pairs/p__' AND payload->'spec'->>'prompt' <> '"+namespaces[1]+"'") == "0"
	}, "the rows to pass on")
}

// Defect O7: other owners adopt rows silently, and deleted with the new owner.
func TestOrlojAdoptionAndRetention(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	psql(t, fmt.Sprintf(`INSERT INTO agents (name, namespace, payload, status_phase) VALUES ('%[1]s/a', '%[1]s',
		'{"apiVersion":"orloj.dev/v1","kind":"Agent","metadata":{"name":"a","namespace":"%[1]s","resourceVersion":"7","generation":3,"createdAt":"2020-01-01T00:00:00Z"},"spec":{"prompt":"old"},"status":{"phase":"Ready","observedGeneration":3}}', 'ready')`, namespace))
	mustKubectl(t, agentIn(namespace, "a", "new", map[string]string{"orloj.dev/deletion-policy": "Retain"}), "apply", "-f", "-")
	waitStored(t, namespace, "agent/a")
	require.Equal(t, "True RowExisted", says(agentOf(t, namespace, "a").Status.Conditions, orlojv1.ConditionAdopted))
	eventually(t, func() bool { return strings.Contains(eventsOf(t, namespace), "a Normal Adopted") }, "an Event")
	row := func() string {
		return psql(t, fmt.Sprintf("SELECT payload->'metadata'->>'resourceVersion', payload->'metadata'->>'generation', payload->'spec'->>'prompt', payload->'status'->>'phase', payload->'metadata'->'annotations'->>'orloj.dev/managed-by' FROM agents WHERE name = '%s/a'", namespace))
	}
	require.Equal(t, "8|4|new|Ready|crd-sync", row())
	mustKubectl(t, "", "delete", "agent/a", "-n", namespace, "--timeout=30s")
	require.Equal(t, "9|4|new|Ready|", row(), "it is nobody's again")
}

// TestOrlojSharesAStore: the row of an object of another cluster is left to it, until that
// one lets it go.
func TestOrlojSharesAStore(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	psql(t, fmt.Sprintf(`INSERT INTO agents (name, namespace, payload, status_phase) VALUES ('%[1]s/a', '%[1]s',
		'{"apiVersion":"orloj.dev/v1","kind":"Agent","metadata":{"name":"a","namespace":"%[1]s","annotations":{"orloj.dev/managed-by":"crd-sync","lintel.dev/owner-uid":"theirs","lintel.dev/cluster":"elsewhere"},
		"resourceVersion":"7","generation":3},"spec":{"prompt":"theirs"},"status":{"phase":"Ready"}}', 'ready')`, namespace))
	mustKubectl(t, agentIn(namespace, "a", "mine", nil), "apply", "-f", "-")
	message := waitReason(t, namespace, "a", "OtherCluster")
	require.Contains(t, message, "of another cluster (elsewhere; this one is ")
	require.Equal(t, "theirs", psql(t, fmt.Sprintf("SELECT payload->'spec'->>'prompt' FROM agents WHERE name = '%s/a'", namespace)))
	psql(t, fmt.Sprintf("DELETE FROM agents WHERE name = '%s/a'", namespace))
	waitStored(t, namespace, "agent/a")
	require.Equal(t, "mine", psql(t, fmt.Sprintf("SELECT payload->'spec'->>'prompt' FROM agents WHERE name = '%s/a'", namespace)))
}

// Defects O12 and O13: edits and deletions in the store persist.
func TestOrlojRepairsDrift(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, agentIn(namespace, "a", "p", nil), "apply", "-f", "-")
	waitStored(t, namespace, "agent/a")
	prompt := func() string {
		return psql(t, fmt.Sprintf("SELECT payload->'spec'->>'prompt' FROM agents WHERE name = '%s/a'", namespace))
	}
	require.Equal(t, "p", prompt())
	psql(t, fmt.Sprintf(`UPDATE agents SET payload = jsonb_set(payload, '{spec,prompt}', '"edited"') #- '{metadata,annotations}' WHERE name = '%s/a'`, namespace))
	eventually(t, func() bool { return prompt() == "p" }, "the edit to be undone")
	require.NotContains(t, says(agentOf(t, namespace, "a").Status.Conditions, orlojv1.ConditionAdopted), "True", "it was this object's own")
	psql(t, fmt.Sprintf("DELETE FROM agents WHERE name = '%s/a'", namespace))
	eventually(t, func() bool { return prompt() == "p" }, "the row to be there again")
	eventually(t, func() bool { return strings.Contains(eventsOf(t, namespace), "a Normal DriftRepaired") }, "an Event")

	// Defect O4: an object whose row is gone cannot be deleted.
	psql(t, fmt.Sprintf("DELETE FROM agents WHERE name = '%s/a'", namespace))
	mustKubectl(t, "", "delete", "agent/a", "-n", namespace, "--timeout=30s")
}

// Defects O1, O2 and O3: status of row and object fight, and mean different things. That
// both are at rest is tested with the samples.
func TestOrlojStatus(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, agentIn(namespace, "a", "p", nil), "apply", "-f", "-")
	waitStored(t, namespace, "agent/a")
	setPhase(t, namespace+"/a", "Ready")
	agent := waitPhase(t, namespace, "a", "True Ready")
	require.Equal(t, orlojv1.PhaseSynced, agent.Status.Phase)
	synced := agent.Status.LastSyncedAt
	mustKubectl(t, agentIn(namespace, "a", "q", nil), "apply", "-f", "-")
	waitFor(t, namespace, "agents.orloj.dev/a", "the generation of the object", func(agent *orlojv1.Agent) bool { return agent.Status.ObservedGeneration == 2 })
	require.Equal(t, "6|2|Ready", psql(t, fmt.Sprintf("SELECT payload->'metadata'->>'resourceVersion', payload->'metadata'->>'generation', payload->'status'->>'phase' FROM agents WHERE name = '%s/a'", namespace)))
	setPhase(t, namespace+"/a", "Error")
	agent = waitPhase(t, namespace, "a", "False Error")
	require.Equal(t, orlojv1.PhaseSynced, agent.Status.Phase, "the object is in the store all the same")
	require.False(t, agent.Status.LastSyncedAt.Before(synced))
}

func TestOrlojNamespaceGoesWithItsObjects(t *testing.T) {
	t.Parallel()
	const namespace = "e2e-orloj-goes"
	makeNamespace(t, namespace)
	for i := range 20 {
		mustKubectl(t, agentIn(namespace, fmt.Sprint("a", i), "p", nil), "apply", "-f", "-")
	}
	waitStored(t, namespace, "agent/a19")
	mustKubectl(t, "", "delete", "namespace", namespace, "--timeout=60s")
	require.Equal(t, "0", psql(t, "SELECT count(*) FROM agents WHERE namespace = '"+namespace+"'"))
}

// TestOrlojOutage stops PostgreSQL while objects are created, changed and deleted.
func TestOrlojOutage(t *testing.T) {
	outage, err := time.ParseDuration(os.Getenv("ORLOJ_OUTAGE"))
	if err != nil {
		outage = 8 * time.Second
	}
	namespace := newNamespace(t)
	create := func(from, to int, prompt string) {
		var objects strings.Builder
		for i := from; i < to; i++ {
			objects.WriteString(agentIn(namespace, fmt.Sprintf("a%03d", i), prompt, nil) + "\n")
		}
		mustKubectl(t, objects.String(), "apply", "-f", "-")
	}
	create(0, 100, "old")
	waitStored(t, namespace, "agent/a099")
	stopped := make(chan struct{})
	go func() {
		postgres.Stop() // in the middle of what follows
		close(stopped)
	}()
	create(50, 150, "new")
	<-stopped
	down := time.Now()
	mustKubectl(t, "", "delete", "agents", "-n", namespace, "--wait=false", "a000", "a001", "a002", "a003", "a004", "a005", "a006", "a007", "a008", "a009")
	output, ok := apply(t, agentIn(namespace, "status", "p", nil))
	require.False(t, ok, "the webhook still decides")
	require.Contains(t, output, "is a path of orlojd's API")
	mustKubectl(t, agentIn(namespace, "a150", "new", nil), "apply", "-f", "-")
	message := waitReason(t, namespace, "a150", "StoreUnavailable")
	require.Contains(t, message, "PostgreSQL cannot be reached")
	require.Equal(t, "False StoreUnavailable", says(agentOf(t, namespace, "a150").Status.Conditions, orlojv1.ConditionStoreAvailable))
	require.Contains(t, allMetricsOf(t, manager), "\nlintel_orloj_store_up 0\n")
	response, err := http.Get(manager.Health + "/readyz")
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, "a database that is down is not unreadiness")
	require.NotEmpty(t, agentOf(t, namespace, "a000").DeletionTimestamp, "a deletion waits")
	rest := time.NewTimer(max(0, outage-time.Since(down)))
	<-rest.C

	require.NoError(t, postgres.Start(t.Context()))
	started := time.Now()
	rows := func() string {
		return psql(t, fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE payload->'spec'->>'prompt' = 'new'), count(DISTINCT payload->'metadata'->'annotations'->>'lintel.dev/owner-uid'), max((payload->'metadata'->>'resourceVersion')::int) FROM agents WHERE namespace = '%s'", namespace))
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, "141|101|141|2", rows()) }, 2*time.Minute, 100*time.Millisecond,
		"all to be stored, once, and what was deleted to be gone")
	t.Logf("all is stored %s after PostgreSQL was started again", time.Since(started).Round(100*time.Millisecond))
	eventually(t, func() bool {
		phases := mustGet(t, "agents", "-n", namespace, "-o", "jsonpath={.items[*].status.phase}")
		return strings.Count(phases, "Synced") == 141 && !strings.Contains(phases, "SyncError")
	}, "all to say so")
	require.Contains(t, allMetricsOf(t, manager), "\nlintel_orloj_store_up 1\n")
	require.Empty(t, says(agentOf(t, namespace, "a150").Status.Conditions, orlojv1.ConditionStoreAvailable))
}

// TestOrlojGuard writes through the program to a resource that the manager has stored.
func TestOrlojGuard(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, agentIn(namespace, "a", "p", nil), "apply", "-f", "-")
	waitStored(t, namespace, "agent/a")
	// orlojd's answer to a read is the stored payload.
	writes := make(chan string, 10)
	orlojd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes <- r.Method
			return
		}
		payload, err := postgres.Psql(r.Context(), fmt.Sprintf("SELECT payload FROM agents WHERE name = '%s/a'", namespace))
		if err != nil || r.URL.Path != "/v1/agents/a" || r.URL.Query().Get("namespace") != namespace {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, payload)
	}))
	t.Cleanup(orlojd.Close)
	for mode, want := range map[string]string{"off": "200 ", "warn": "200 true", "reject": "409 true", "nonsense": "200 true"} {
		guard := exec.CommandContext(t.Context(), filepath.Join(programs, "lintel"), "orloj-guard", "--upstream", orlojd.URL, "--listen", "127.0.0.1:0")
		guard.Env = append(os.Environ(), "ORLOJ_CRD_CONFLICT_POLICY="+mode)
		log, err := guard.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, guard.Start())
		line, err := bufio.NewReader(log).ReadString('\n')
		require.NoError(t, err)
		var started struct{ Address string }
		require.NoError(t, json.Unmarshal([]byte(line), &started))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+started.Address+"/v1/agents/a?namespace="+namespace, strings.NewReader("{}"))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, want, fmt.Sprint(response.StatusCode, " ", response.Header.Get("X-Orloj-CRD-Managed")), mode)
		require.NoError(t, guard.Process.Kill())
		_ = guard.Wait()
	}
	require.Len(t, writes, 3, "all but the rejected one have arrived")
}

// TestOrlojOverlay: also defect O14, a budget that keeps nodes from being drained.
func TestOrlojOverlay(t *testing.T) {
	t.Parallel()
	text := mustKubectl(t, "", "kustomize", "config/orloj")
	require.NotContains(t, text, installation.Namespace)
	mustKubectl(t, text, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
	var deployment appsv1.Deployment
	var budget policyv1.PodDisruptionBudget
	var definitions []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		var kind metav1.PartialObjectMetadata
		require.NoError(t, yaml.Unmarshal([]byte(document), &kind))
		switch kind.Kind {
		case "CustomResourceDefinition":
			definitions = append(definitions, kind.Name)
		case "Deployment":
			require.NoError(t, yaml.Unmarshal([]byte(document), &deployment))
		case "PodDisruptionBudget":
			require.NoError(t, yaml.Unmarshal([]byte(document), &budget))
		}
	}
	require.ElementsMatch(t, []string{
		"agentpolicies.orloj.dev", "agents.orloj.dev", "agentsystems.orloj.dev", "mcpservers.orloj.dev", "memories.orloj.dev",
		"modelendpoints.orloj.dev", "secrets.orloj.dev", "tools.orloj.dev", "datasources.policy.lintel.dev", "policyexceptions.policy.lintel.dev", "policysources.policy.lintel.dev",
	}, definitions, "none of other systems")
	require.Equal(t, "orloj/orloj-operator", deployment.Namespace+"/"+deployment.Name)
	require.Equal(t, "orloj-operator", deployment.Spec.Template.Spec.ServiceAccountName)
	require.Less(t, budget.Spec.MinAvailable.IntValue(), int(*deployment.Spec.Replicas), "a node can be drained")
	require.Nil(t, budget.Spec.MaxUnavailable)
	require.Equal(t, budget.Spec.Selector.MatchLabels["app.kubernetes.io/name"], deployment.Spec.Template.Labels["app.kubernetes.io/name"])
	container := deployment.Spec.Template.Spec.Containers[0]
	require.Contains(t, container.Args, "--systems=orloj")
	require.Contains(t, container.Args, "--leader-elect")
	require.Equal(t, "100m 128Mi 500m 256Mi", fmt.Sprint(container.Resources.Requests.Cpu(), " ", container.Resources.Requests.Memory(),
		" ", container.Resources.Limits.Cpu(), " ", container.Resources.Limits.Memory()))
	require.Contains(t, mustKubectl(t, "", "kustomize", "config/orloj/monitoring"), "kind: ServiceMonitor")
}

func TestOrlojMayDoNoMore(t *testing.T) {
	t.Parallel()
	const account = "system:serviceaccount:orloj:orloj-operator"
	mustKubectl(t, "", "create", "clusterrolebinding", "e2e-orloj", "--clusterrole=orloj-operator", "--serviceaccount=orloj:orloj-operator")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrolebinding/e2e-orloj")
	})
	may := func(verb, resource string) bool { return isPermitted(t, account, "default", verb, resource) }
	for _, resource := range []string{"agents.orloj.dev", "secrets.orloj.dev", "memories.orloj.dev"} {
		for _, verb := range []string{"get", "list", "watch", "update", "patch"} {
			require.True(t, may(verb, resource), "%s %s", verb, resource)
		}
		for _, verb := range []string{"create", "delete", "deletecollection"} {
			require.False(t, may(verb, resource), "%s %s", verb, resource)
		}
	}
	require.True(t, may("patch", "agents.orloj.dev/status"))
	for _, verb := range []string{"get", "list", "watch"} {
		require.False(t, may(verb, "secrets"), "Secrets of Kubernetes are none of its business")
	}
	require.False(t, may("patch", "namespaces"))
}

// waitReason waits until the condition Synced is False for a reason, and is its message.
func waitReason(t *testing.T, namespace, name, reason string) (message string) {
	t.Helper()
	waitFor(t, namespace, "agents.orloj.dev/"+name, "the agent not to be synced: "+reason, func(agent *orlojv1.Agent) bool {
		if says(agent.Status.Conditions, orlojv1.ConditionSynced) != "False "+reason {
			return false
		}
		message = meta.FindStatusCondition(agent.Status.Conditions, orlojv1.ConditionSynced).Message
		return agent.Status.Phase == orlojv1.PhaseSyncError && agent.Status.SyncError == message
	})
	return message
}
