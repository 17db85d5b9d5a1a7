package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

// enforcingCluster is an API server with Lintel: the PolicySource pods denies the ConfigMap a of
// the namespace shop. exceptions answers lists of PolicyExceptions.
func enforcingCluster(t *testing.T, exceptions http.HandlerFunc) (kubeconfig string) {
	t.Helper()
	files := map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\npackage p\nimport rego.v1\ndeny contains \"no\""}
	digest := definition.Source{Files: files}.Digest()
	chunks, err := source.Pack(files)
	require.NoError(t, err)
	require.Len(t, chunks, 1)
	const (
		object    = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`
		namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`
	)
	answers := map[string]string{
		"/api":                                 `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                                `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"policy.lintel.dev","versions":[{"groupVersion":"policy.lintel.dev/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"policy.lintel.dev/v1alpha1","version":"v1alpha1"}}]}`,
		"/api/v1":                              `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["create","list","get"]},{"name":"namespaces","kind":"Namespace","namespaced":false,"verbs":["create","list","get"]}]}`,
		"/apis/policy.lintel.dev/v1alpha1":     `{"kind":"APIResourceList","groupVersion":"policy.lintel.dev/v1alpha1","resources":[{"name":"policysources","kind":"PolicySource","namespaced":false,"verbs":["create","list","get"]},{"name":"policyexceptions","kind":"PolicyException","namespaced":false,"verbs":["create","list","get"]}]}`,
		"/api/v1/namespaces":                   `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[` + namespace + `]}`,
		"/api/v1/namespaces/shop":              namespace,
		"/api/v1/configmaps":                   `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[` + object + `]}`,
		"/api/v1/namespaces/shop/configmaps/a": object,
		"/apis/policy.lintel.dev/v1alpha1/policysources": fmt.Sprintf(`{"kind":"PolicySourceList","apiVersion":"policy.lintel.dev/v1alpha1","metadata":{},"items":[{"apiVersion":"policy.lintel.dev/v1alpha1","kind":"PolicySource","metadata":{"name":"pods"},"spec":{},"status":{"digest":%q}}]}`, digest),
		"/api/v1/namespaces/lintel-system/configmaps/lintel-pods-" + definition.ShortRevision(digest) + "-0": fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"lintel-system","annotations":{"lintel.dev/chunks":"1"}},"binaryData":{"artifact":%q}}`, base64.StdEncoding.EncodeToString(chunks[0])),
	}
	server := &faultyServer{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		switch {
		case r.URL.Path == "/apis/policy.lintel.dev/v1alpha1/policyexceptions":
			exceptions(w, r)
		case known:
			fmt.Fprint(w, answer)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, status(http.StatusNotFound, "NotFound", ""))
		}
	}))}
	t.Cleanup(server.Close)
	return server.kubeconfig(t)
}

// exceptionList is a list of PolicyExceptions in YAML.
func exceptionList(t *testing.T, texts ...string) http.HandlerFunc {
	t.Helper()
	items := []map[string]any{}
	for _, text := range texts {
		var item map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &item))
		items = append(items, item)
	}
	list, err := json.Marshal(map[string]any{"kind": "PolicyExceptionList", "apiVersion": "policy.lintel.dev/v1alpha1", "metadata": map[string]any{}, "items": items})
	require.NoError(t, err)
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(list) }
}

// TestExceptionsOfACluster: those that are in force exempt objects in `lintel audit` and `lintel
// why --live`. Without permission to read them, both report it, and nothing is exempt.
func TestExceptionsOfACluster(t *testing.T) {
	t.Parallel()
	until := inFromNow(time.Hour)
	forbidden := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, status(http.StatusForbidden, "Forbidden", ""))
	}
	for name, c := range map[string]struct {
		exceptions http.HandlerFunc
		exempt     bool
		note       string
	}{
		"in force":  {exceptionList(t, fmt.Sprintf(exceptionText, until)), true, ""},
		"none":      {exceptionList(t), false, ""},
		"expired":   {exceptionList(t, fmt.Sprintf(exceptionText, "2020-01-01T00:00:00Z")), false, ""},
		"forbidden": {forbidden, false, "PolicyExceptions are not considered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := enforcingCluster(t, c.exceptions)
			audited := lintel(t, "", "audit", "--kubeconfig", kubeconfig, "-o", "json")
			r := decodeAudit(t, audited.stdout)
			explained := lintel(t, "", "why", "--live", "configmap/a", "-n", "shop", "--kubeconfig", kubeconfig)
			require.Len(t, r.Results, 1, audited.stderr)
			if c.exempt {
				assert.Equal(t, exitAllowed, audited.code, audited.stderr)
				assert.Equal(t, []int{0, 1}, []int{r.Summary.Violations, r.Summary.Skipped})
				assert.Equal(t, "friday", r.Results[0].Result.Exception)
				assert.Equal(t, exitAllowed, explained.code, explained.stdout+explained.stderr)
				assert.Contains(t, explained.stdout, "PolicyException friday")
			} else {
				assert.Equal(t, exitDenied, audited.code, audited.stderr)
				assert.Equal(t, []int{1, 0}, []int{r.Summary.Violations, r.Summary.Skipped})
				assert.Equal(t, exitDenied, explained.code, explained.stdout+explained.stderr)
			}
			for _, got := range []result{audited, explained} {
				assert.Contains(t, got.stdout+got.stderr, c.note)
			}
		})
	}
}
