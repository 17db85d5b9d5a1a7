package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

// build builds the program as it ships, unless LINTEL_PROGRAMS is a folder that has it.
func build(t testing.TB) (program string) {
	t.Helper()
	if folder := os.Getenv("LINTEL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, "openvox-enc")
	}
	program = filepath.Join(t.TempDir(), "openvox-enc")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// bench is an endpoint, and a program that asks it.
type bench struct {
	t      testing.TB
	server *httptest.Server
	answer func(http.ResponseWriter, *http.Request)
	file   endpoints.Classifier
	config string
	warned []string
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, config: filepath.Join(t.TempDir(), endpoints.ClassifierKey)}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.answer(w, r) }))
	t.Cleanup(b.server.Close)
	b.file = endpoints.Classifier{
		Endpoint: endpoints.Endpoint{URL: b.server.URL, TimeoutSeconds: 5}, Method: "GET", Path: "/node/{certname}", ResponseFormat: "yaml",
		Cache: endpoints.Cache{Enabled: true, Directory: t.TempDir()}, FactsDirectory: t.TempDir(),
	}
	b.says(http.StatusOK, foreman)
	return b
}

func (b *bench) says(status int, text string) {
	b.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func (b *bench) write() {
	b.t.Helper()
	text, err := b.file.Write()
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(b.config, text, 0o600))
}

// classify is what Puppet gets about web1.
func (b *bench) classify() (string, error) {
	b.t.Helper()
	b.write()
	b.warned = nil
	var out bytes.Buffer
	err := run([]string{"--config", b.config, "web1.example.com"}, &out, func(message string) { b.warned = append(b.warned, message) })
	return out.String(), err
}

// foreman is an answer of GET /node/<certname>?format=yml.
const foreman = `---
classes:
  ntp:
    servers:
    - 0.pool.example.com
  motd:
parameters:
  foreman_domain: example.com
  yes_or_no: 'yes'
  deep: {a: [1, 2.5, ~, true]}
environment: production
`

// enterprise is an answer of POST /classifier-api/v1/classified/nodes/<certname>.
const enterprise = `{"name": "web1.example.com", "groups": ["00000000-0000-4000-8000-000000000000"], "environment": "staging",
  "parameters": {"site": "here"}, "classes": {"apache": {"keepalive_timeout": 30, "log_level": "notice"}}}`

// TestAnswers: Puppet gets the supported fields of each system's answer.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct{ format, text, want string }{
		"Foreman":           {"yaml", foreman, `{"classes":{"ntp":{"servers":["0.pool.example.com"]},"motd":null},"parameters":{"foreman_domain":"example.com","yes_or_no":"yes","deep":{"a":[1,2.5,null,true]}},"environment":"production"}`},
		"Puppet Enterprise": {"json", enterprise, `{"classes":{"apache":{"keepalive_timeout":30,"log_level":"notice"}},"parameters":{"site":"here"},"environment":"staging"}`},
		"Puppet Enterprise, the environment of the agent": {"json", `{"name": "a", "groups": [], "environment": "agent-specified", "classes": {"ntp": {}}, "parameters": {}}`, `{"classes":{"ntp":{}},"parameters":{}}`},
		"Puppet Enterprise, as documented": {
			"json", `{"groups": [{"id": "9c0c7d07", "name": "a group"}], "environment": "staging", "classes": ["apache", "motd"], "parameters": {"apache": {"log_level": "notice", "limits": {"a": 1e21}}}}`,
			`{"classes":{"apache":{"log_level":"notice","limits":{"a":1.0e21}},"motd":null},"parameters":{},"environment":"staging"}`,
		},
		"Puppet Enterprise, names and variables": {"json", `{"groups": [], "classes": ["ntp"], "parameters": {"site": {"a": "b"}}}`, `{"classes":["ntp"],"parameters":{"site":{"a":"b"}}}`},
		"names":                                  {"yaml", "classes: [ntp, motd]", `{"classes":["ntp","motd"],"parameters":{}}`},
		"nothing":                                {"json", "{}", `{"classes":{},"parameters":{}}`},
		"nulls":                                  {"json", `{"classes": null, "parameters": null}`, `{"classes":{},"parameters":{}}`},
		"great numbers":                          {"json", `{"parameters": {"a": 12345678901234567890, "b": 1e+21, "c": ["x 1e5"]}}`, `{"classes":{},"parameters":{"a":12345678901234567890,"b":1.0e+21,"c":["x 1e5"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.file.ResponseFormat = c.format
			b.says(http.StatusOK, c.text)
			got, err := b.classify()
			require.NoError(t, err)
			require.JSONEq(t, c.want, got)
			if name == "great numbers" {
				require.Contains(t, got, `"b": 1.0e+21,`)
				require.Contains(t, got, `"x 1e5"`)
			}
			require.Empty(t, b.warned)
		})
	}
}

// TestRequests: what each system is asked, as it is documented to be.
func TestRequests(t *testing.T) {
	b := newBench(t)
	var asked, accept, body string
	b.answer = func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		asked, accept, body = r.Method+" "+r.RequestURI, r.Header.Get("Accept"), string(text)
		fmt.Fprint(w, "{}")
	}
	ask := func() {
		_, err := b.classify()
		require.NoError(t, err)
	}
	b.file.Path = "/node/{certname}?format=yml"
	ask()
	require.Equal(t, "GET /node/web1.example.com?format=yml", asked)
	require.Contains(t, accept, "yaml")
	require.Empty(t, body)

	b.file.Method, b.file.Path, b.file.Body, b.file.ResponseFormat = "POST", "/classifier-api/v1/classified/nodes/{certname}", endpoints.BodyPuppetEnterprise, "json"
	ask()
	require.Equal(t, "POST /classifier-api/v1/classified/nodes/web1.example.com", asked)
	require.Equal(t, "application/json", accept)
	require.JSONEq(t, `{"fact": {}, "trusted": {"certname": "web1.example.com"}}`, body)
	require.Equal(t, []string{"web1.example.com is classified without facts: the server has none of it yet in " + b.file.FactsDirectory}, b.warned)

	stored := filepath.Join(b.file.FactsDirectory, "web1.example.com.json")
	require.NoError(t, os.WriteFile(stored, []byte(`{"name":"web1.example.com","values":{"os":{"family":"Debian"},"n":12345678901234567890},"timestamp":"2026-01-01T00:00:00Z"}`), 0o600))
	ask()
	require.Equal(t, `{"fact":{"os":{"family":"Debian"},"n":12345678901234567890},"trusted":{"certname":"web1.example.com"}}`, body)
	require.Empty(t, b.warned)
	b.file.Body = endpoints.BodyFacts
	ask()
	require.Equal(t, `{"certname":"web1.example.com","facts":{"os":{"family":"Debian"},"n":12345678901234567890}}`, body)
	b.file.Body = endpoints.BodyCertname
	ask()
	require.Equal(t, `{"certname":"web1.example.com"}`, body)

	b.file.Body, b.file.Cache.Enabled = endpoints.BodyFacts, false
	for _, text := range []string{"{", `{"name":"other","values":{}}`, `{"name":"web1.example.com"}`} {
		require.NoError(t, os.WriteFile(stored, []byte(text), 0o600))
		_, err := b.classify()
		require.ErrorContains(t, err, "reading the facts: "+stored)
	}
}

// faults are answers that say nothing about a node.
func faults(b *bench) map[string]func() {
	text := func(status int, text string) func() { return func() { b.says(status, text) } }
	return map[string]func(){
		"has answered 500 Internal Server Error": text(500, foreman), "has answered 403 Forbidden": text(403, ""), "has answered 204 No Content": text(204, ""),
		"it is empty": text(200, " \n"),
		"it is not yaml with classes, parameters and environment":  text(200, "<!DOCTYPE html><html><body>Log in</body></html>"),
		"it is not yaml with classes, parameters and environment ": text(200, "null"),
		"control characters are not allowed":                       text(200, "\x00{{{"),
		"it has none of classes, parameters and environment":       text(200, "error: internal"),
		"classes are neither":                                      text(200, "classes: 7"), "classes are neither ": text(200, "classes: [{a: b}]"),
		"parameters is not a mapping": text(200, "parameters: [a]"), "environment is not a string": text(200, "environment: [a]"),
		"the answer has more than": text(200, strings.Repeat("# much\n", maxAnswer/7+1)),
		"there is no answer after": func() {
			b.file.TimeoutSeconds = 1
			b.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		},
		"EOF": func() { b.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) } },
		"it leads to another server": func() {
			b.answer = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://other.example.com/", http.StatusFound)
			}
		},
		"connection refused": func() { b.file.URL = "http://127.0.0.1:1" },
	}
}

// TestFaults: without a cache they are errors that name the fault; with a cache the last answer
// is used, with a warning.
func TestFaults(t *testing.T) {
	for want := range faults(newBench(t)) {
		t.Run(want, func(t *testing.T) {
			b := newBench(t)
			first, err := b.classify()
			require.NoError(t, err)
			faults(b)[want]()

			got, err := b.classify()
			require.NoError(t, err)
			require.Equal(t, first, got)
			require.Len(t, b.warned, 1)
			require.Contains(t, b.warned[0], "web1.example.com is classified by the answer of 20")
			require.Contains(t, b.warned[0], strings.TrimSpace(want))

			b.file.Cache.Enabled = false
			got, err = b.classify()
			require.Empty(t, got)
			require.ErrorContains(t, err, "web1.example.com is not classified: ")
			require.ErrorContains(t, err, strings.TrimSpace(want))
			require.NotErrorAs(t, err, new(*unknownNode))

			b.file.Cache = endpoints.Cache{Enabled: true, Directory: t.TempDir()}
			_, err = b.classify()
			require.ErrorContains(t, err, strings.TrimSpace(want), "an empty cache has no answer")
		})
	}
}

// TestUnknownNode: 404 is an answer, which invalidates the cached one.
func TestUnknownNode(t *testing.T) {
	b := newBench(t)
	_, err := b.classify()
	require.NoError(t, err)
	b.says(http.StatusNotFound, foreman)
	got, err := b.classify()
	require.Empty(t, got)
	require.ErrorAs(t, err, new(*unknownNode))
	require.EqualError(t, err, "web1.example.com is not classified: "+b.server.URL+" does not know the node (404)")
	b.says(http.StatusInternalServerError, "")
	_, err = b.classify()
	require.ErrorContains(t, err, "500", "what was known before is forgotten")
}

// TestCache: each node has its own file, which is complete at any time and unreadable for other
// users; a file that cannot be written causes a warning.
func TestCache(t *testing.T) {
	b := newBench(t)
	b.write()
	var working sync.WaitGroup
	var failed atomic.Int32
	for i := range 40 {
		working.Go(func() {
			name := fmt.Sprintf("web%d", i%4)
			if run([]string{"--config", b.config, name}, io.Discard, func(string) { failed.Add(1) }) != nil {
				failed.Add(1)
			}
		})
	}
	working.Wait()
	require.Zero(t, failed.Load())
	entries, err := os.ReadDir(b.file.Cache.Directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode())
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"node-web0", "node-web1", "node-web2", "node-web3"}, names)

	require.NoError(t, os.WriteFile(filepath.Join(b.file.Cache.Directory, "node-web1.example.com"), []byte(`{"classes":`), 0o600))
	b.says(http.StatusBadGateway, "")
	_, err = b.classify()
	require.ErrorContains(t, err, "has answered 502 Bad Gateway; the cache has no answer, either: ")
	require.ErrorContains(t, err, "node-web1.example.com is damaged; delete it")

	b.says(http.StatusOK, foreman)
	b.file.Cache.Directory = filepath.Join(b.file.Cache.Directory, "none")
	got, err := b.classify()
	require.NoError(t, err)
	require.NotEmpty(t, got)
	require.Len(t, b.warned, 1)
	require.Contains(t, b.warned[0], "the answer about web1.example.com is not kept: ")
}

// TestProgram: its exit status, and the one line that it writes.
func TestProgram(t *testing.T) {
	program, b := build(t), newBench(t)
	b.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/node/web1":
			fmt.Fprint(w, foreman)
		case "/node/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	b.write()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("url: https://a\nmethods: GET\n"), 0o600))
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"classified":     {[]string{"--config", b.config, "web1"}, 0, ""},
		"unknown":        {[]string{"--config", b.config, "web2"}, 1, "web2 is not classified: " + b.server.URL + " does not know the node (404)"},
		"broken":         {[]string{"--config", b.config, "broken"}, 2, "broken is not classified: " + b.server.URL + " has answered 500 Internal Server Error"},
		"path":           {[]string{"--config", b.config, "../../etc/passwd"}, 2, `"../../etc/passwd" is not a certname`},
		"dots":           {[]string{"--config", b.config, ".."}, 2, `".." is not a certname`},
		"lines":          {[]string{"--config", b.config, "a\nb"}, 2, `"a\nb" is not a certname`},
		"long":           {[]string{"--config", b.config, strings.Repeat("a", 254)}, 2, `"` + strings.Repeat("a", 254) + `" is not a certname`},
		"empty":          {[]string{"--config", b.config, ""}, 2, `"" is not a certname`},
		"option":         {[]string{"--config", b.config, "-rf"}, 2, "flag provided but not defined: -rf; usage: "},
		"none":           {[]string{"--config", b.config}, 2, "0 certnames are specified instead of one; usage: "},
		"two":            {[]string{"--config", b.config, "a", "b"}, 2, "2 certnames are specified instead of one; usage: "},
		"no file":        {[]string{"--config", b.config + "x", "a"}, 2, "a is not classified: reading the NodeClassifier: open "},
		"unknown fields": {[]string{"--config", bad, "a"}, 2, "a is not classified: " + bad + ` is not a valid configuration: error unmarshaling JSON: while decoding JSON: json: unknown field "methods"`},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), program, c.args...)
			var stdout, stderr strings.Builder
			command.Stdout, command.Stderr = &stdout, &stderr
			_ = command.Run()
			require.Equal(t, c.status, command.ProcessState.ExitCode(), stderr.String())
			if c.status == 0 {
				require.True(t, json.Valid([]byte(stdout.String())))
				require.Empty(t, stderr.String())
				return
			}
			require.Empty(t, stdout.String())
			require.True(t, strings.HasPrefix(stderr.String(), "openvox-enc: "+c.want), stderr.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %s", stderr.String())
		})
	}
}

// TestLinksNoKubernetes: it is started for each catalog.
func TestLinksNoKubernetes(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for _, name := range strings.Fields(string(output)) {
		require.False(t, slices.ContainsFunc([]string{"k8s.io/", "github.com/open-policy-agent/", "sigs.k8s.io/controller-runtime"}, func(p string) bool { return strings.HasPrefix(name, p) }), name)
	}
}

// FuzzRead: for any answer of an endpoint, Puppet gets JSON with a mapping, or nothing.
func FuzzRead(f *testing.F) {
	f.Add([]byte(foreman), true)
	f.Add([]byte(enterprise), false)
	f.Fuzz(func(t *testing.T, text []byte, isYAML bool) {
		format := map[bool]string{true: "yaml", false: "json"}[isYAML]
		out, err := read(text, format)
		if err != nil {
			return
		}
		var whole classification
		require.NoError(t, json.Unmarshal(out, &whole))
		require.NoError(t, json.Unmarshal(whole.Parameters, &map[string]any{}))
	})
}

// BenchmarkProgram is the whole process, as a Puppet server starts it, with an endpoint on
// loopback: by HTTP, by HTTPS with a certificate of the Puppet CA, and by HTTPS with one that
// only the system knows, whose CAs are all read.
func BenchmarkProgram(b *testing.B) {
	program, plain, secure := build(b), newBench(b), httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, foreman) }))
	defer secure.Close()
	folder := b.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	system, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	require.NoError(b, err)
	for name, text := range map[string][]byte{"ca.pem": ca, "system.pem": append(system, ca...)} {
		require.NoError(b, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	for _, c := range []struct{ name, url, ca, env string }{
		{"http", plain.server.URL, "", ""}, {"puppet", secure.URL, filepath.Join(folder, "ca.pem"), ""}, {"system", secure.URL, "", filepath.Join(folder, "system.pem")},
	} {
		plain.file.URL, plain.file.SSL.CAFile = c.url, c.ca
		plain.write()
		b.Run(c.name, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				command := exec.CommandContext(context.Background(), program, "--config", plain.config, "web1.example.com")
				if c.env != "" {
					command.Env = append(os.Environ(), "SSL_CERT_FILE="+c.env, "SSL_CERT_DIR="+folder+"/none")
				}
				require.NoError(b, command.Run())
				used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
}
