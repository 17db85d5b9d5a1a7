package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/audit"
)

// faultyServer is an API server with 1,200 ConfigMaps, a Secret and a Namespace, whose lists fail
// as a test needs it.
type faultyServer struct {
	*httptest.Server
	// fault answers a request for ConfigMaps, the n-th one from 1, or returns false.
	fault func(n int, w http.ResponseWriter, r *http.Request) bool
	group string // a group whose kinds cannot be read

	mu       sync.Mutex
	requests []string // for ConfigMaps: their queries
	times    []time.Time
	all      []time.Time // of the requests for anything
}

const auditedObjects = 1200

func newFaultyServer(t *testing.T, fault func(n int, w http.ResponseWriter, r *http.Request) bool, group string) *faultyServer {
	t.Helper()
	s := &faultyServer{fault: fault, group: group}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *faultyServer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.all = append(s.all, time.Now())
	s.mu.Unlock()
	switch r.URL.Path {
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		groups := ""
		if s.group != "" {
			groups = fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":"%s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%s/v1","version":"v1"}}`, s.group, s.group, s.group)
		}
		fmt.Fprintf(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`, groups)
	case "/api/v1":
		var resources []string
		for name, kind := range map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "namespaces": "Namespace", "bindings": "Binding"} {
			verbs := `["create","list","get"]`
			if kind == "Binding" {
				verbs = `["create"]`
			}
			resources = append(resources, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%v,"verbs":%s}`, name, kind, kind != "Namespace", verbs))
		}
		fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[%s]}`, strings.Join(resources, ","))
	case "/api/v1/namespaces":
		fmt.Fprint(w, `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"shop","labels":{"audited":"yes"}}}]}`)
	case "/api/v1/secrets":
		fmt.Fprint(w, `{"kind":"SecretList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"token","namespace":"shop"}}]}`)
	case "/api/v1/configmaps":
		s.serveConfigMaps(w, r)
	default:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *faultyServer) serveConfigMaps(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests, s.times = append(s.requests, r.URL.Query().Get("limit")+" "+r.URL.Query().Get("continue")), append(s.times, time.Now())
	n := len(s.requests)
	s.mu.Unlock()
	if s.fault != nil && s.fault(n, w, r) {
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	start, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("continue"), "late-"))
	end, next := min(start+limit, auditedObjects), ""
	if end < auditedObjects {
		next = strconv.Itoa(end)
	}
	var items []string
	for i := start; i < end; i++ {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"c-%04d","namespace":"shop"}}`, i))
	}
	fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

// kubeconfig is a file that names the server.
func (s *faultyServer) kubeconfig(t *testing.T) string {
	t.Helper()
	return filepath.Join(folder(t, map[string]string{"kubeconfig": `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "` + s.URL + `"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`}), "kubeconfig")
}

func (s *faultyServer) audit(t *testing.T, args ...string) (audit.Report, result) {
	t.Helper()
	policies := folder(t, map[string]string{
		"maps.rego":    "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}], namespaceSelector: {matchLabels: {audited: \"yes\"}}}\npackage maps\nimport rego.v1\ndeny contains \"last\" if endswith(input.name, \"99\")",
		"secrets.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Secret}, {group: broken.example.com, kind: Thing}]}\npackage secrets\nimport rego.v1\nwarn contains \"a secret\"",
	})
	got := lintel(t, "", append([]string{"audit", "-p", policies, "--kubeconfig", s.kubeconfig(t), "--qps", "1000", "-o", "json"}, args...)...)
	return decodeAudit(t, got.stdout), got
}

func status(code int, reason, more string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{%s},"status":"Failure","message":"no","reason":%q,"code":%d}`, more, reason, code)
}

// failOn answers one request with a status.
func failOn(request, code int, reason, more string) func(int, http.ResponseWriter, *http.Request) bool {
	return func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n != request {
			return false
		}
		w.WriteHeader(code)
		fmt.Fprint(w, status(code, reason, more))
		return true
	}
}

// TestAuditOfACluster lists in pages, and goes on after what a server may answer.
func TestAuditOfACluster(t *testing.T) {
	all := []string{"500 ", "500 500", "500 1000"}
	for name, c := range map[string]struct {
		fault    func(int, http.ResponseWriter, *http.Request) bool
		requests []string
	}{
		"pages":                {nil, all},
		"410 with a token":     {failOn(3, http.StatusGone, "Expired", `"continue":"late-1000"`), append(all[:3:3], "500 late-1000")},
		"410 without a token":  {failOn(3, http.StatusGone, "Expired", ""), append(all[:3:3], all...)},
		"a throttling server":  {throttleOn(2), append([]string{"500 ", "500 500"}, all[1:]...)},
		"a page without items": {emptyPage, []string{"500 ", "500 0", "500 500", "500 1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFaultyServer(t, c.fault, "")
			r, got := s.audit(t)
			require.Equal(t, exitDenied, got.code, got.stderr)
			require.Empty(t, got.stderr)
			require.Equal(t, c.requests, s.requests)
			require.Equal(t, audit.Summary{Objects: auditedObjects + 1, Kinds: 2, Policies: 2, Violations: 12, Warnings: 1}, r.Summary)
			require.Empty(t, r.NotAudited)
			if name == "a throttling server" {
				require.GreaterOrEqual(t, s.times[2].Sub(s.times[1]), time.Second, "Retry-After")
			}
		})
	}
}

// throttleOn makes the client wait for a second.
func throttleOn(request int) func(int, http.ResponseWriter, *http.Request) bool {
	fail := failOn(request, http.StatusTooManyRequests, "TooManyRequests", "")
	return func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == request {
			w.Header().Set("Retry-After", "1")
		}
		return fail(n, w, r)
	}
}

func emptyPage(n int, w http.ResponseWriter, _ *http.Request) bool {
	if n == 1 {
		fmt.Fprint(w, `{"kind":"ConfigMapList","metadata":{"continue":"0"},"items":null}`)
	}
	return n == 1
}

// TestAuditReportsKindsThatCannotBeListed: the others are audited, and the exit code says so.
func TestAuditReportsKindsThatCannotBeListed(t *testing.T) {
	always := func(code int, reason string) func(int, http.ResponseWriter, *http.Request) bool {
		return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			fmt.Fprint(w, status(code, reason, ""))
			return true
		}
	}
	for name, c := range map[string]struct {
		fault func(int, http.ResponseWriter, *http.Request) bool
		group string
		want  audit.NotAudited
		code  int
	}{
		"forbidden":   {always(http.StatusForbidden, "Forbidden"), "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "no"}, exitError},
		"CRD removed": {always(http.StatusNotFound, "NotFound"), "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "no"}, exitError},
		"always expired": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Query().Get("continue") != "" && always(http.StatusGone, "Expired")(n, w, r)
		}, "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "no"}, exitDenied},
		"removed on the way": {failOn(2, http.StatusNotFound, "NotFound", ""), "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "no"}, exitDenied},
		"cut off": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `{"kind":"ConfigMapList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop"}},`)
			return true
		}, "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "reading a page: "}, exitError},
		"without an end": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `{"metadata":{"continue":"same"},"items":[]}`)
			return true
		}, "", audit.NotAudited{Resource: "configmaps", Kind: "ConfigMap", Reason: "the list does not continue"}, exitError},
		"a group": {nil, "broken.example.com", audit.NotAudited{Resource: "*.broken.example.com", Group: "broken.example.com"}, exitDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFaultyServer(t, c.fault, c.group)
			r, got := s.audit(t)
			require.Equal(t, c.code, got.code, got.stdout+got.stderr)
			require.Len(t, r.NotAudited, 1)
			require.Contains(t, r.NotAudited[0].Reason, c.want.Reason)
			r.NotAudited[0].Reason = c.want.Reason
			require.Equal(t, c.want, r.NotAudited[0])
			require.Equal(t, 1, r.Summary.Warnings, "Secrets are audited")
		})
	}
}

// TestAuditDiffOfKindsThatCannotBeListed: a violation that is not evaluated again is not fixed.
func TestAuditDiffOfKindsThatCannotBeListed(t *testing.T) {
	_, before := newFaultyServer(t, nil, "").audit(t)
	_, after := newFaultyServer(t, failOn(1, http.StatusForbidden, "Forbidden", ""), "").audit(t)
	files := folder(t, map[string]string{"before.json": before.stdout, "after.json": after.stdout})
	got := lintel(t, "", "audit", "diff", filepath.Join(files, "before.json"), filepath.Join(files, "after.json"))
	require.Equal(t, exitError, got.code)
	require.Contains(t, got.stdout, "0 new, 0 fixed, 0 unchanged, 12 unknown: the second run did not evaluate them\n")
}

// TestAuditIsBoundedByQPS counts the requests of all clients.
func TestAuditIsBoundedByQPS(t *testing.T) {
	const qps = 5
	s := newFaultyServer(t, nil, "")
	_, got := s.audit(t, "--qps", strconv.Itoa(qps))
	require.Equal(t, exitDenied, got.code, got.stderr)
	beyond := len(s.all) - 1 - qps // the first ones are a burst
	require.Positive(t, beyond)
	least := time.Duration(beyond) * time.Second / qps
	require.GreaterOrEqual(t, s.all[len(s.all)-1].Sub(s.all[0]), least-50*time.Millisecond)
}
