package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// comment is a comment of a pull request, as GitHub's API has it.
type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
}

// pullRequest serves the comments of one pull request.
type pullRequest struct {
	*httptest.Server
	mu       sync.Mutex
	comments []comment
	status   int // of the answers; 0 for success
}

func newPullRequest(t *testing.T) *pullRequest {
	p := &pullRequest{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *pullRequest) add(login, body string) {
	one := comment{ID: 1000 + len(p.comments), Body: body}
	one.User.Login = login
	p.comments = append(p.comments, one)
}

func (p *pullRequest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const comments = "/repos/shop/policies/issues/7/comments"
	var sent comment
	switch {
	case r.Header.Get("Authorization") != "Bearer t0ken", p.status != 0:
		w.WriteHeader(max(p.status, http.StatusUnauthorized))
		fmt.Fprint(w, "not permitted")
		return
	case r.Method == http.MethodGet && r.URL.Path == comments:
		var page int
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
		from := min((page-1)*100, len(p.comments))
		_ = json.NewEncoder(w).Encode(append([]comment{}, p.comments[from:min(from+100, len(p.comments))]...))
		return
	case json.NewDecoder(r.Body).Decode(&sent) != nil, sent.Body == "", len([]rune(sent.Body)) > 65536:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case r.Method == http.MethodPost && r.URL.Path == comments:
		p.add("github-actions[bot]", sent.Body)
		return
	case r.Method == http.MethodPatch:
		for i := range p.comments {
			if r.URL.Path == fmt.Sprintf("/repos/shop/policies/issues/comments/%d", p.comments[i].ID) {
				p.comments[i].Body = sent.Body
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// replayRunner is a runner for a pull request, with a report.
func replayRunner(t *testing.T, p *pullRequest, report string) (action, *runner) {
	t.Helper()
	a := readAction(t, "replay")
	r := &runner{t: t, temp: t.TempDir(), inputs: map[string]string{}, outputs: map[string]string{
		"github.api_url": p.URL, "github.repository": "shop/policies", "github.event.pull_request.number": "7",
	}}
	for name, input := range a.Inputs {
		r.inputs[name] = input.Default
	}
	r.inputs["token"] = "t0ken"
	path := filepath.Join(r.temp, "report.md")
	require.NoError(t, os.WriteFile(path, []byte(report), 0o600))
	r.outputs["steps.replay.outputs.report"] = path
	return a, r
}

func TestReplayActionReplays(t *testing.T) {
	a := readAction(t, "replay")
	install, replay, verdict := a.Runs.Steps[0], a.Runs.Steps[1], a.Runs.Steps[3]
	require.Equal(t, readAction(t, "check").Runs.Steps[0], install, "both actions install in the same way")
	for code, reported := range map[string]bool{"0": true, "1": true, "2": false} {
		t.Run(code, func(t *testing.T) {
			r := newRunner(t, a, map[string]string{
				"against": "policies\nmore policies\n", "baseline": "origin/main:policies", "records": "records", "arguments": "--since 3d",
			})
			require.NoError(t, os.WriteFile(filepath.Join(r.temp, "verdict"), []byte(code), 0o644))
			printed, err := r.run(install)
			require.NoError(t, err, printed)
			printed, err = r.run(replay)
			require.NoError(t, err, "the report is shown before the job fails: %s", printed)
			report := r.value(a.Outputs["report"].Value)
			assert.Equal(t, reported, report != "")
			if reported {
				for _, name := range []string{report, filepath.Join(r.temp, "summary")} {
					text, err := os.ReadFile(name)
					require.NoError(t, err)
					assert.Equal(t, "replay|--output|markdown|--since|3d|--against|policies|--against|more policies|--baseline|origin/main:policies|records\n", string(text))
				}
			}
			_, err = r.run(verdict)
			assert.Equal(t, code == "0", err == nil)
		})
	}
}

// TestReplayActionUpdatesItsComment also among many comments of others, and leaves those alone.
func TestReplayActionUpdatesItsComment(t *testing.T) {
	t.Parallel()
	const report = "### Replay: 2 requests newly denied\n\n| `\"a|b\"` | $HOME `id` \\n |\n"
	const marker = "<!-- lintel-replay: Replay of recorded requests -->"
	for name, others := range map[string]int{"no other comments": 0, "many others": 250} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPullRequest(t)
			for range others {
				p.add("jane", "looks good")
			}
			p.add("mallory", marker+"\nnothing is denied")
			before := len(p.comments)
			a, r := replayRunner(t, p, report)
			step := a.Runs.Steps[2]
			for _, text := range []string{report, "### Replay: 0 requests newly denied\n"} {
				require.NoError(t, os.WriteFile(r.outputs["steps.replay.outputs.report"], []byte(text), 0o600))
				printed, err := r.run(step)
				require.NoError(t, err, printed)
				require.Empty(t, printed)
				require.Len(t, p.comments, before+1)
				require.Equal(t, marker+"\n## Replay of recorded requests\n\n"+text, p.comments[before].Body)
			}
			require.Equal(t, marker+"\nnothing is denied", p.comments[before-1].Body)

			r.inputs["title"] = "Another --> use"
			printed, err := r.run(step)
			require.NoError(t, err, printed)
			require.Len(t, p.comments, before+2)
		})
	}
}

func TestReplayActionShortensItsComment(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t)
	a, r := replayRunner(t, p, strings.Repeat("é", 100_000))
	printed, err := r.run(a.Runs.Steps[2])
	require.NoError(t, err, printed)
	require.Empty(t, printed)
	require.Len(t, p.comments, 1)
	require.True(t, strings.HasSuffix(p.comments[0].Body, "\n\nThe report is longer: see the summary of the job."))
}

// TestReplayActionMayNotBePermittedToComment: the token of a pull request from a fork only reads.
func TestReplayActionMayNotBePermittedToComment(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t)
	p.status = http.StatusForbidden
	a, r := replayRunner(t, p, "report")
	printed, err := r.run(a.Runs.Steps[2])
	require.NoError(t, err, printed)
	require.Contains(t, printed, "::warning::the comments cannot be read: not permitted")
	require.NotContains(t, printed, "t0ken")
	require.Equal(t, "inputs.comment == 'true' && steps.replay.outputs.report != '' && github.event.pull_request.number != ''", a.Runs.Steps[2].If)
}
