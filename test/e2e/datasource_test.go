package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// namesAllowed denies ConfigMaps in a namespace whose name is not in the DataSource names.
func namesAllowed(namespace string) string {
	return fmt.Sprintf(`# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: ConfigMap}]
#     namespaces: [%q]
#   external: [names]
package names

deny contains sprintf("name %%s is not allowed", [input.name]) if not input.name in data.external.names`, namespace)
}

// dataServer serves data with TLS.
type dataServer struct {
	*httptest.Server
	text atomic.Pointer[string]
}

func newDataServer(t *testing.T) *dataServer {
	t.Helper()
	s := &dataServer{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *s.text.Load()) }))
	t.Cleanup(s.Close)
	return s
}

// object is the DataSource names with changes of its spec.
func (s *dataServer) object(change func(spec, https map[string]any)) string {
	https := map[string]any{
		"url":      s.URL + "/names.json",
		"caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	spec := map[string]any{
		"https": https, "interval": "5s", "staleAfter": "10s",
		"schema": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
	}
	if change != nil {
		change(spec, https)
	}
	return asJSON(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "DataSource", "metadata": map[string]any{"name": "names"}, "spec": spec,
	})
}

// push publishes data, and has it fetched immediately.
func (s *dataServer) push(t *testing.T, text string) {
	t.Helper()
	s.text.Store(&text)
	mustKubectl(t, "", "annotate", "datasource", "names", "--overwrite", v1alpha1.ReconcileAtAnnotation+"="+time.Now().Format(time.RFC3339Nano))
}

// review asks one replica about a new ConfigMap. It returns the message of the denial, "" for none.
func review(t *testing.T, m *installation.Manager, namespace, name string) string {
	t.Helper()
	text := asJSON(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "1", "operation": "CREATE", "name": name, "namespace": namespace, "userInfo": map[string]any{"username": "ada"},
			"kind":     map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"},
			"resource": map[string]any{"group": "", "version": "v1", "resource": "configmaps"},
			"object":   json.RawMessage(configMap(namespace, name)),
		},
	})
	// Only the answer is of interest here: the API server checks the certificate.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	defer client.CloseIdleConnections()
	response, err := client.Post(m.WebhookURL+"/validate/fail", "application/json", bytes.NewBufferString(text))
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Response struct {
			Allowed bool
			Status  struct{ Message string }
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.NotEqual(t, answer.Response.Allowed, answer.Response.Status.Message != "")
	return answer.Response.Status.Message
}

// TestExternalData follows a DataSource and a policy that reads it on two replicas: missing, fetched,
// changed, broken, stale, and deleted.
func TestExternalData(t *testing.T) {
	namespace := newNamespace(t)
	second, err := installation.StartManager(t.Context(), cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: "manager-data", WebhookURL: manager.WebhookURL, Args: append(coreArgs(), "--systems="),
	})
	require.NoError(t, err)
	t.Cleanup(second.Stop)
	both := []*installation.Manager{manager, second}
	decides := func(allowed, denied, what string) {
		t.Helper()
		for _, m := range both {
			eventually(t, func() bool {
				return review(t, m, namespace, allowed) == "" && strings.Contains(review(t, m, namespace, denied), "name "+denied+" is not allowed")
			}, what)
		}
	}
	ready := func(object string) string {
		if object == "datasource/names" {
			return says(read[v1alpha1.DataSource](t, "", object).Status.Conditions, v1alpha1.ConditionReady)
		}
		return says(read[v1alpha1.PolicySource](t, "", object).Status.Conditions, v1alpha1.ConditionReady)
	}

	// Without the data, the policy denies, and the status reports why.
	t.Cleanup(func() { removeSource(context.Background(), "names") })
	mustKubectl(t, installation.PolicySource("names", map[string]string{"policy.rego": namesAllowed(namespace)}, nil), "apply", "--server-side", "-f", "-")
	eventually(t, func() bool { return ready("policysource/names") == "False ExternalDataMissing" }, "the missing data to be reported")
	output, ok := apply(t, configMap(namespace, "one"))
	require.False(t, ok)
	require.Contains(t, output, "policy names cannot be evaluated: it reads data.external[\"names\"], and DataSource names does not exist or has no data yet")

	server := newDataServer(t)
	text := `["one"]`
	server.text.Store(&text)
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "datasource", "names", "--ignore-not-found")
	})
	for what, change := range map[string]func(spec, https map[string]any){
		"caBundle or verify is required":          func(_, https map[string]any) { delete(https, "caBundle") },
		"url must begin with https://":            func(_, https map[string]any) { https["url"] = "http://127.0.0.1/names.json" },
		"without credentials":                     func(_, https map[string]any) { https["url"] = "https://u:p@127.0.0.1/names.json" },
		"exactly one of https, git and oci":       func(spec, _ map[string]any) { delete(spec, "https"); spec["file"] = "x" },
		"file is required with git and oci":       func(spec, _ map[string]any) { spec["file"] = "names.json" },
		"staleAfter must be longer than interval": func(spec, _ map[string]any) { spec["interval"] = "10s" },
		"interval must be at least 5s":            func(spec, _ map[string]any) { spec["interval"] = "1s" },
		"should be less than or equal to 4194304": func(spec, _ map[string]any) { spec["maxBytes"] = 1 << 30 },
		"git.receiver is not available": func(spec, _ map[string]any) {
			delete(spec, "https")
			spec["file"] = "x"
			spec["git"] = map[string]any{"url": "https://a/b", "receiver": map[string]any{"secretRef": map[string]any{"name": "x"}}}
		},
		"require a signature with git.verify, or use https://": func(spec, _ map[string]any) {
			delete(spec, "https")
			spec["file"] = "x"
			spec["git"] = map[string]any{"url": "http://a/b"}
		},
		"oci.insecure needs a signature": func(spec, _ map[string]any) {
			delete(spec, "https")
			spec["file"] = "x"
			spec["oci"] = map[string]any{"url": "oci://a/b", "insecure": true}
		},
		"no part of it may be empty or begin with a dot": func(spec, _ map[string]any) {
			delete(spec, "https")
			spec["file"] = "../x"
			spec["oci"] = map[string]any{"url": "oci://a/b"}
		},
	} {
		output, ok := apply(t, server.object(change))
		require.False(t, ok, what)
		require.Contains(t, output, what)
	}
	mustKubectl(t, server.object(nil), "apply", "-f", "-")
	waitFor(t, "", "datasource/names", "the data to be served by both replicas", func(source *v1alpha1.DataSource) bool {
		return says(source.Status.Conditions, v1alpha1.ConditionReady) == "True Serving" && len(source.Status.Replicas) == 2
	})
	eventually(t, func() bool { return ready("policysource/names") == "True Serving" }, "the policy to have its data")
	decides("one", "two", "the data to decide on both replicas")

	// A push changes the verdicts of both replicas.
	server.push(t, `["two"]`)
	decides("two", "one", "new data to decide on both replicas")
	eventually(t, func() bool { return ready("datasource/names") == "True Serving" }, "the new data to be reported")
	source := read[v1alpha1.DataSource](t, "", "datasource/names")
	for _, replica := range source.Status.Replicas {
		require.Equal(t, source.Status.Digest, replica.Digest, replica.Name)
	}
	for _, m := range both {
		info := fmt.Sprintf("lintel_data_source_info{data_source=\"names\",revision=%q}", source.Status.Revision)
		value, _ := metricOf(t, m, info)
		require.Equal(t, "1", value, info)
	}

	// A broken push keeps the last good data in force and is reported, until the data is stale.
	for reason, text := range map[string]string{"SchemaMismatch": `["one", 2]`, "TooFewEntries": "[]", "DataUnreadable": "<html>sign in</html>"} {
		server.push(t, text)
		awaited := waitFor(t, "", "datasource/names", reason, func(source *v1alpha1.DataSource) bool {
			return says(source.Status.Conditions, v1alpha1.ConditionReady) == "False "+reason
		})
		require.Equal(t, source.Status.Digest, awaited.Status.Digest)
		require.Contains(t, meta.FindStatusCondition(awaited.Status.Conditions, v1alpha1.ConditionReady).Message, "the last good data, revision "+source.Status.Revision+", stays in force")
		decides("two", "one", "the last good data to stay in force")
	}
	awaitCondition(t, "", "datasource/names", v1alpha1.ConditionStale, "True NotChecked")
	for _, m := range both {
		eventually(t, func() bool {
			value, _ := metricOf(t, m, `lintel_data_source_stale{data_source="names"}`)
			return value == "1"
		}, "the metric of stale data")
	}
	eventually(t, func() bool {
		events := eventsOf(t, "default")
		return strings.Contains(events, "names Warning SchemaMismatch") && strings.Contains(events, "names Warning NotChecked")
	}, "Events about the broken push and the stale data")

	// Without the DataSource, the policy denies again.
	mustKubectl(t, "", "delete", "datasource", "names")
	eventually(t, func() bool { return ready("policysource/names") == "False ExternalDataMissing" }, "the deleted data to be reported")
	for _, m := range both {
		eventually(t, func() bool {
			return strings.Contains(review(t, m, namespace, "two"), "does not exist or has no data yet")
		}, "the policy to fail closed")
	}
	eventually(t, func() bool {
		return mustGet(t, "configmaps", "-n", installation.Namespace, "-l", "lintel.dev/data-source=names", "-o", "name") == ""
	}, "the stored data to be deleted")
}
