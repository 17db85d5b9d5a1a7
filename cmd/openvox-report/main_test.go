package main

import (
	"bytes"
	"context"
	"errors"
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

// sink is an endpoint that stores the reports that it accepts.
type sink struct {
	*httptest.Server
	mutex   sync.Mutex
	taken   []string
	asked   int
	status  int
	headers http.Header
	path    string
	// answer, unless it is nil, answers a report before it is accepted.
	answer func(w http.ResponseWriter, r *http.Request, body string) bool
}

func newSink(t testing.TB) *sink {
	s := &sink{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s.mutex.Lock()
		s.asked++
		answer := s.answer
		s.mutex.Unlock()
		if answer != nil && answer(w, r, string(text)) {
			return
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.headers, s.path = r.Header, r.URL.Path
		if s.status < 300 {
			s.taken = append(s.taken, string(text))
		}
		w.WriteHeader(s.status)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) says(status int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.status = status
}

func (s *sink) has() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.taken)
}

func (s *sink) endpoint(name string) endpoints.Report {
	return endpoints.Report{Name: name, Endpoint: endpoints.Endpoint{URL: s.URL + "/hook", TimeoutSeconds: 5}}
}

// post is a Puppet server's spool, and a clock.
type post struct {
	t      testing.TB
	spools spoolFolders
	mutex  sync.Mutex
	clock  time.Time
	warned []string
}

func newPost(t testing.TB) *post {
	p := &post{t: t, clock: time.Now()}
	p.spools = spoolFolders{root: t.TempDir(), limits: usual, now: func() time.Time {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.clock = p.clock.Add(time.Microsecond)
		return p.clock
	}, warn: func(message string) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.warned = append(p.warned, message)
	}}
	return p
}

func (p *post) later(d time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.clock = p.clock.Add(d)
}

func (p *post) said() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	defer func() { p.warned = nil }()
	return strings.Join(p.warned, "\n")
}

func (p *post) send(report string, to ...endpoints.Report) error {
	return deliver(p.t.Context(), endpoints.ReportEndpoints{Endpoints: to}, p.spools, []byte(report))
}

func (p *post) waiting(name string) int {
	p.t.Helper()
	all, err := p.spools.of(&endpoints.Report{Name: name}).list()
	require.NoError(p.t, err)
	return len(all)
}

func one(i int) string { return fmt.Sprintf(`{"host":"web%d"}`, i) }

// TestDeliver: each endpoint gets the reports that it is configured for, with its credentials.
func TestDeliver(t *testing.T) {
	p, hook, db := newPost(t), newSink(t), newSink(t)
	a, b := hook.endpoint("a"), db.endpoint("b")
	a.URL += "?code=x"
	a.Auth, a.Headers = &endpoints.Auth{Type: endpoints.AuthBearer, Token: "t"}, []endpoints.Header{{Name: "X-Site", Value: "here"}}
	b.URL, b.Processor = db.URL+"/", endpoints.ProcessorPuppetDB
	report := string(sampleReport(t))
	require.NoError(t, p.send(report, a, b))
	require.Equal(t, []string{report}, hook.has())
	require.Equal(t, "/hook", hook.path)
	require.Equal(t, []string{"Bearer t", "here", "application/json"}, []string{hook.headers.Get("Authorization"), hook.headers.Get("X-Site"), hook.headers.Get("Content-Type")})
	require.Len(t, db.has(), 1)
	require.Contains(t, db.has()[0], `"command":"store report"`)
	require.Equal(t, "/pdb/cmd/v1", db.path)
	require.Empty(t, p.said())
	entries, err := os.ReadDir(p.spools.root)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is written where all is sent")
}

// TestAtOnce: an endpoint that hangs holds up no other.
func TestAtOnce(t *testing.T) {
	p, slow, quick := newPost(t), newSink(t), newSink(t)
	done := make(chan struct{})
	slow.answer = func(http.ResponseWriter, *http.Request, string) bool { <-done; return false }
	quick.answer = func(http.ResponseWriter, *http.Request, string) bool { close(done); return false }
	require.NoError(t, p.send(one(1), slow.endpoint("a"), quick.endpoint("b")), "the first waits for the second")
	require.Len(t, slow.has(), 1)
}

// TestHourOfDowntime: reports that arrive meanwhile are stored, and are sent afterwards in
// their order, each one once; other endpoints are not affected.
func TestHourOfDowntime(t *testing.T) {
	p, down, up := newPost(t), newSink(t), newSink(t)
	gone := down.endpoint("down")
	there := gone
	gone.URL = "http://127.0.0.1:1"
	var want []string
	for i := range 60 {
		require.NoError(t, p.send(one(i), gone, up.endpoint("up")))
		want = append(want, one(i))
		p.later(time.Minute)
	}
	require.Equal(t, want, up.has())
	require.Equal(t, 60, p.waiting("down"))
	require.Contains(t, p.said(), "endpoint down: the report is stored, and sent later: asking http://127.0.0.1:1: ")
	require.NoError(t, p.send(one(60), there, up.endpoint("up")))
	require.Equal(t, append(want, one(60)), down.has())
	require.Zero(t, p.waiting("down"))
	require.Empty(t, p.said())
}

// TestPause: an endpoint that has just failed is not called for a while, because the sender of
// the report waits.
func TestPause(t *testing.T) {
	p, s := newPost(t), newSink(t)
	s.says(http.StatusServiceUnavailable)
	for i := range 5 {
		require.NoError(t, p.send(one(i), s.endpoint("a")))
	}
	require.Equal(t, 1, s.asked)
	require.Equal(t, 5, p.waiting("a"))
	p.later(usual.pause)
	require.NoError(t, p.send(one(5), s.endpoint("a")))
	require.Equal(t, 1+maxUnavailable, s.asked)
	p.later(usual.pause)
	s.says(http.StatusAccepted)
	require.NoError(t, p.send(one(6), s.endpoint("a")))
	require.Equal(t, []string{one(0), one(1), one(2), one(3), one(4), one(5), one(6)}, s.has())
}

// TestOneThatIsNeverTaken: a report that is never accepted does not delay the others, and
// expires.
func TestOneThatIsNeverTaken(t *testing.T) {
	p, s := newPost(t), newSink(t)
	s.answer = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if body == one(0) {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return body == one(0)
	}
	for i := range 4 {
		require.NoError(t, p.send(one(i), s.endpoint("a")))
		p.later(usual.pause)
	}
	require.Equal(t, []string{one(1), one(2), one(3)}, s.has())
	require.Equal(t, 1, p.waiting("a"))
	p.later(usual.age)
	p.said()
	require.NoError(t, p.send(one(4), s.endpoint("a")))
	require.Zero(t, p.waiting("a"))
	require.Contains(t, p.said(), "endpoint a: 1 reports that it has not taken are lost")
}

// TestRefused: a report that an endpoint will never accept is not stored; one that it may
// accept later is.
func TestRefused(t *testing.T) {
	for status, final := range map[int]bool{400: true, 404: true, 413: true, 422: true, 304: true, 401: false, 403: false, 408: false, 429: false, 500: false, 503: false} {
		p, s := newPost(t), newSink(t)
		s.says(status)
		err := p.send(one(0), s.endpoint("a"))
		if final {
			require.EqualError(t, err, fmt.Sprintf("endpoint a does not get the report: %s has answered %d %s", s.URL, status, http.StatusText(status)))
			require.Zero(t, p.waiting("a"))
			continue
		}
		require.NoError(t, err, status)
		require.Equal(t, 1, p.waiting("a"), status)
		p.later(usual.pause)
		p.said()
		s.says(http.StatusBadRequest)
		require.ErrorContains(t, p.send(one(1), s.endpoint("a")), "endpoint a does not get the report: "+s.URL+" has answered 400 Bad Request")
		require.Zero(t, p.waiting("a"), "nothing is tried for ever")
		require.Equal(t, 1, strings.Count(p.said(), "is lost: "+s.URL+" has answered 400 Bad Request"))
	}
	p, s := newPost(t), newSink(t)
	db := s.endpoint("db")
	db.Processor = endpoints.ProcessorPuppetDB
	require.ErrorContains(t, p.send(one(0), db), "endpoint db does not get the report: not a Puppet report: ")
	require.Zero(t, p.waiting("db"))
}

// TestBounds: beyond the limit, the oldest reports are deleted, with a warning.
func TestBounds(t *testing.T) {
	for name, change := range map[string]func(*limits){"number": func(l *limits) { l.reports = 3 }, "bytes": func(l *limits) { l.bytes = int64(3*len(one(1)) + 5) }} {
		p, s := newPost(t), newSink(t)
		change(&p.spools.limits)
		s.says(http.StatusBadGateway)
		for i := range 5 {
			require.NoError(t, p.send(one(i), s.endpoint("a")), name)
		}
		require.Equal(t, 3, p.waiting("a"), name)
		require.Equal(t, 2, strings.Count(p.said(), "endpoint a: 1 reports that it has not taken are lost: a spool keeps"), name)
		s.says(http.StatusOK)
		p.later(usual.pause)
		require.NoError(t, p.send(one(5), s.endpoint("a")))
		require.Equal(t, []string{one(3), one(4), one(5)}, s.has(), name)
	}
	p, s := newPost(t), newSink(t)
	p.spools.limits.bytes = 3
	s.says(http.StatusBadGateway)
	require.ErrorContains(t, p.send(one(0), s.endpoint("a")), "has answered 502 Bad Gateway; and it is not kept: it has 15 bytes, and the spool keeps 3")
}

// TestTimeOfACall: earlier reports take no more of a call than is meant for them.
func TestTimeOfACall(t *testing.T) {
	p, s := newPost(t), newSink(t)
	p.spools.limits.resend = 50 * time.Millisecond
	s.says(http.StatusBadGateway)
	for i := range 50 {
		require.NoError(t, p.send(one(i), s.endpoint("a")))
	}
	s.says(http.StatusOK)
	s.answer = func(http.ResponseWriter, *http.Request, string) bool { time.Sleep(20 * time.Millisecond); return false }
	p.later(usual.pause)
	require.NoError(t, p.send(one(50), s.endpoint("a")))
	taken := len(s.has())
	require.Positive(t, taken)
	require.Less(t, taken, 10)
	require.Equal(t, 51-taken, p.waiting("a"))
}

// TestConcurrentCalls: no report is lost, and none is sent twice.
func TestConcurrentCalls(t *testing.T) {
	p, s := newPost(t), newSink(t)
	s.says(http.StatusBadGateway)
	for i := range 20 {
		require.NoError(t, p.send(one(i), s.endpoint("a")))
	}
	s.says(http.StatusOK)
	p.later(usual.pause)
	var working sync.WaitGroup
	problems := make([]error, 40)
	for i := range problems {
		working.Go(func() { problems[i] = p.send(one(20+i), s.endpoint("a")) })
	}
	working.Wait()
	require.NoError(t, errors.Join(problems...))
	require.NoError(t, p.send(one(60), s.endpoint("a")))
	var want []string
	for i := range 61 {
		want = append(want, one(i))
	}
	require.ElementsMatch(t, want, s.has())
	require.Zero(t, p.waiting("a"))
}

// TestSpoolThatCannotBeUsed: a report that is sent is all that is needed.
func TestSpoolThatCannotBeUsed(t *testing.T) {
	p, s := newPost(t), newSink(t)
	p.spools.root = filepath.Join(p.spools.root, "file")
	require.NoError(t, os.WriteFile(p.spools.root, nil, 0o600))
	require.NoError(t, p.send(one(0), s.endpoint("a")))
	require.Contains(t, p.said(), "endpoint a: the report is sent, but could not have been stored: ")
	s.says(http.StatusBadGateway)
	err := p.send(one(1), s.endpoint("a"))
	require.ErrorContains(t, err, "has answered 502 Bad Gateway; and it is not kept: ")
	require.Len(t, s.has(), 1)
}

// TestFiles: other users cannot read reports, and the incomplete file of an interrupted call is
// not a report.
func TestFiles(t *testing.T) {
	p, s := newPost(t), newSink(t)
	s.says(http.StatusBadGateway)
	require.NoError(t, p.send(one(0), s.endpoint("a")))
	folder := filepath.Join(p.spools.root, "a")
	require.NoError(t, os.WriteFile(filepath.Join(folder, newPrefix+"1"), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "README"), []byte("x"), 0o600))
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	all, err := p.spools.of(new(s.endpoint("a"))).list()
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.EqualValues(t, len(one(0)), all[0].size)
	info, err = os.Stat(filepath.Join(folder, all[0].file))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	// The reports of a removed endpoint stay for a while, because it may be added again.
	other := newSink(t).endpoint("b")
	require.NoError(t, p.send(one(1), other))
	require.Equal(t, 1, p.waiting("a"))
	p.later(usual.age + time.Second)
	require.NoError(t, p.send(one(2), other))
	require.Zero(t, p.waiting("a"))
}

// build builds the program as it ships, unless LINTEL_PROGRAMS is a folder that has it.
func build(t testing.TB) (program string) {
	t.Helper()
	if folder := os.Getenv("LINTEL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, "openvox-report")
	}
	program = filepath.Join(t.TempDir(), "openvox-report")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

func write(t testing.TB, all ...endpoints.Report) (path string) {
	t.Helper()
	text, err := endpoints.ReportEndpoints{Endpoints: all}.Write()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), endpoints.ReportsKey)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// TestProgram: its exit status, and its output.
func TestProgram(t *testing.T) {
	program, taking, refusing := build(t), newSink(t), newSink(t)
	refusing.says(http.StatusBadRequest)
	gone := taking.endpoint("gone")
	gone.URL = "http://127.0.0.1:1/secret"
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("endpoint: []"), 0o600))
	good := write(t, taking.endpoint("a"))
	for name, c := range map[string]struct {
		args   []string
		report string
		status int
		want   []string
	}{
		"taken":     {[]string{"--config", good}, one(1), 0, nil},
		"nobody":    {[]string{"--config", write(t)}, one(1), 0, nil},
		"kept":      {[]string{"--config", write(t, gone, taking.endpoint("a"))}, one(1), 0, []string{"endpoint gone: the report is stored, and sent later: asking http://127.0.0.1:1: dial"}},
		"lost":      {[]string{"--config", write(t, gone, refusing.endpoint("r")), "--spool", "/proc/none"}, one(1), 2, []string{"endpoint gone does not get the report: ", "endpoint r does not get the report: "}},
		"refused":   {[]string{"--config", write(t, refusing.endpoint("r"), taking.endpoint("a"))}, one(1), 2, []string{"endpoint r does not get the report: " + refusing.URL + " has answered 400 Bad Request"}},
		"no JSON":   {[]string{"--config", good}, "--- !ruby", 2, []string{"the report is not sent: the report is not valid JSON: "}},
		"no host":   {[]string{"--config", good}, "{}", 2, []string{"the report is not sent: it names no host"}},
		"empty":     {[]string{"--config", good}, "", 2, []string{"the report is not sent: the report is not valid JSON: "}},
		"no file":   {[]string{"--config", good + "x"}, one(1), 2, []string{"the report is not sent: reading the ReportProcessors: open "}},
		"bad file":  {[]string{"--config", bad}, one(1), 2, []string{"the report is not sent: " + bad + ` is not a valid configuration: error unmarshaling JSON: while decoding JSON: json: unknown field "endpoint"`}},
		"a file":    {[]string{"--config", good, "testdata/report.json"}, "", 0, nil},
		"two files": {[]string{"--config", good, "x", "y"}, one(1), 2, []string{"2 reports are specified instead of one; usage: "}},
		"lost file": {[]string{"--config", good, "testdata/none"}, one(1), 2, []string{"the report is not sent: open testdata/none: "}},
		"no flag":   {[]string{"--url", "x"}, one(1), 2, []string{"flag provided but not defined: -url; usage: "}},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), program, append([]string{"--spool", t.TempDir()}, c.args...)...)
			command.Stdin = strings.NewReader(c.report)
			var stdout, stderr strings.Builder
			command.Stdout, command.Stderr = &stdout, &stderr
			_ = command.Run()
			require.Equal(t, c.status, command.ProcessState.ExitCode(), stderr.String())
			require.Empty(t, stdout.String())
			require.NotContains(t, stderr.String(), "secret", "paths may be secrets")
			for _, want := range c.want {
				require.Contains(t, stderr.String(), want)
			}
			if len(c.want) == 0 {
				require.Empty(t, stderr.String())
			}
		})
	}
}

// TestProgramsAtOnce: processes keep each other from sending a report twice, too.
func TestProgramsAtOnce(t *testing.T) {
	program, s, p := build(t), newSink(t), newPost(t)
	s.says(http.StatusBadGateway)
	for i := range 10 {
		require.NoError(t, p.send(one(i), s.endpoint("a")))
	}
	s.says(http.StatusOK)
	require.NoError(t, os.Remove(filepath.Join(p.spools.root, "a", failedFile)))
	config := write(t, s.endpoint("a"))
	run := func(i int) error {
		command := exec.CommandContext(t.Context(), program, "--config", config, "--spool", p.spools.root)
		command.Stdin = strings.NewReader(one(i))
		return command.Run()
	}
	var working sync.WaitGroup
	problems := make([]error, 10)
	for i := range problems {
		working.Go(func() { problems[i] = run(10 + i) })
	}
	working.Wait()
	require.NoError(t, errors.Join(problems...))
	require.NoError(t, run(20))
	var want []string
	for i := range 21 {
		want = append(want, one(i))
	}
	require.ElementsMatch(t, want, s.has())
}

// TestLinksNoKubernetes: it is started for each report.
func TestLinksNoKubernetes(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for _, name := range strings.Fields(string(output)) {
		require.False(t, slices.ContainsFunc([]string{"k8s.io/", "github.com/open-policy-agent/", "sigs.k8s.io/controller-runtime"}, func(p string) bool { return strings.HasPrefix(name, p) }), name)
	}
}

// FuzzStoreReport: the same input gives the same command each time.
func FuzzStoreReport(f *testing.F) {
	f.Add([]byte(`{"host":"a","time":"2026-01-02T03:04:05Z","metrics":{"time":{"values":[["total","Total",1.5]]}},"resource_statuses":{"A[b]":{"title":"b","events":[{"desired_value":["x"]}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := storeReport(text, received)
		if err != nil {
			return
		}
		second, err := storeReport(text, received)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// BenchmarkProgram is the whole process, as a Puppet server starts it, with an endpoint on
// loopback.
func BenchmarkProgram(b *testing.B) {
	program, s := build(b), newSink(b)
	endpoint, report := s.endpoint("a"), sampleReport(b)
	endpoint.Processor = endpoints.ProcessorPuppetDB
	config, spool := write(b, endpoint), b.TempDir()
	var used time.Duration
	for b.Loop() {
		command := exec.CommandContext(context.Background(), program, "--config", config, "--spool", spool)
		command.Stdin = bytes.NewReader(report)
		require.NoError(b, command.Run())
		used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}
