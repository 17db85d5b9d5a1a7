package origin

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/gitserver"
)

// TestMain lets the test's own program be the child that fetches.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == FetchArgument {
		os.Exit(FetchChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// fetchApart fetches in a child, as the manager does.
func fetchApart(t *testing.T, request Request) (*Answer, error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return NewFetcher(program, 1).Fetch(t.Context(), request)
}

// requireRefused expects an error about the origin.
func requireRefused(t *testing.T, err error, reason, message string) {
	t.Helper()
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, reason, refused.Reason, refused.Message)
	require.Contains(t, refused.Message, message)
}

// repository is a repository behind Git's own HTTP server.
type repository struct {
	*gitserver.Repository
	t   *testing.T
	url string
}

func newRepository(t *testing.T, wrap func(http.Handler) http.Handler) *repository {
	t.Helper()
	folder := t.TempDir()
	made, err := gitserver.NewRepository(t.Context(), folder, "policies")
	require.NoError(t, err)
	server, err := gitserver.Start(folder, "127.0.0.1:0", wrap)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	return &repository{made, t, server.URL + "/policies.git"}
}

func (r *repository) push(files map[string]string, options ...string) (hash string) {
	r.t.Helper()
	hash, err := r.Push(r.t.Context(), files, options...)
	require.NoError(r.t, err)
	return hash
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.Git(r.t.Context(), args...)
	require.NoError(r.t, err)
	return strings.TrimSpace(out)
}

func (r *repository) request() Request {
	return Request{Git: &v1alpha1.GitOrigin{URL: r.url}}
}

const module = "package team\n\ndeny contains \"no\"\n"

func TestRefs(t *testing.T) {
	r := newRepository(t, nil)
	first := r.push(map[string]string{"a.rego": module})
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message=One", "v1")
	second := r.push(map[string]string{"b.rego": module})
	r.git("push", "--quiet", "origin", "v1", "light", "HEAD:release/2")
	for name, c := range map[string]struct {
		ref      v1alpha1.GitRef
		revision string
		files    []string
	}{
		"the default branch":    {v1alpha1.GitRef{}, "main@sha1:" + second, []string{"a.rego", "b.rego"}},
		"a branch":              {v1alpha1.GitRef{Branch: "release/2"}, "release/2@sha1:" + second, []string{"a.rego", "b.rego"}},
		"a tag":                 {v1alpha1.GitRef{Tag: "v1"}, "v1@sha1:" + first, []string{"a.rego"}},
		"a lightweight tag":     {v1alpha1.GitRef{Tag: "light"}, "light@sha1:" + first, []string{"a.rego"}},
		"a tag before a branch": {v1alpha1.GitRef{Tag: "v1", Branch: "main"}, "v1@sha1:" + first, []string{"a.rego"}},
		"a commit at a tip":     {v1alpha1.GitRef{Commit: second}, "sha1:" + second, []string{"a.rego", "b.rego"}},
		"a commit of a branch":  {v1alpha1.GitRef{Commit: first, Branch: "main"}, "sha1:" + first, []string{"a.rego"}},
	} {
		for origin, url := range map[string]string{"HTTP": r.url, "disk": "file://" + r.Bare} {
			t.Run(name+" over "+origin, func(t *testing.T) {
				request := withLimits(Request{Git: &v1alpha1.GitOrigin{URL: url, Ref: c.ref}})
				got, err := fetch(t.Context(), request)
				require.NoError(t, err)
				require.Equal(t, c.revision, got.Revision)
				require.Equal(t, c.files, slices.Sorted(maps.Keys(got.Files)))
				request.Known = got.Revision
				again, err := fetch(t.Context(), request)
				require.NoError(t, err)
				require.Equal(t, &Answer{Revision: c.revision}, again, "what is known is not fetched again")
			})
		}
	}
	for name, c := range map[string]struct {
		ref     v1alpha1.GitRef
		message string
	}{
		"no such branch":        {v1alpha1.GitRef{Branch: "gone"}, "has no branch gone"},
		"no such tag":           {v1alpha1.GitRef{Tag: "gone"}, "has no tag gone"},
		"no branch of a commit": {v1alpha1.GitRef{Commit: first, Branch: "gone"}, "has no branch gone"},
		"not in the branch":     {v1alpha1.GitRef{Commit: strings.Repeat("1", 40), Branch: "main"}, "has no commit 1111"},
		"SHA-256":               {v1alpha1.GitRef{Commit: strings.Repeat("1", 64)}, "only SHA-1 repositories"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(t.Context(), withLimits(Request{Git: &v1alpha1.GitOrigin{URL: r.url, Ref: c.ref}}))
			requireRefused(t, err, ReasonNotFound, c.message)
		})
	}
}

func TestOnlyWhatIsAskedForIsSent(t *testing.T) {
	sent := 0
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if request.Method == http.MethodPost {
				sent++
			}
			next.ServeHTTP(w, request)
		})
	})
	for i := range 3 {
		r.push(map[string]string{"a.rego": fmt.Sprintf("%s# %d\n", module, i)})
	}
	got, err := fetch(t.Context(), withLimits(r.request()))
	require.NoError(t, err)
	require.Equal(t, 1, sent)
	request := withLimits(r.request())
	request.Known = got.Revision
	_, err = fetch(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, 1, sent, "an unmoved branch costs one question")
}

func withLimits(request Request) Request {
	request.Limits = DefaultLimits
	return request
}

func TestTrees(t *testing.T) {
	link := func(target, name string) func(*repository) {
		return func(r *repository) { require.NoError(r.t, os.Symlink(target, filepath.Join(r.Work, name))) }
	}
	for name, c := range map[string]struct {
		files   map[string]string
		prepare func(*repository)
		path    string
		limits  func(*Limits)
		want    []string
		reason  string
		message string
	}{
		"policy files alone": {
			files: map[string]string{"a.rego": module, "README.md": "x", "limits/data.yaml": "a: 1", ".github/x.rego": module, "a_test.rego": module},
			want:  []string{"a.rego", "a_test.rego", "limits/data.yaml"},
		},
		"a folder":              {files: map[string]string{"a.rego": module, "policies/team/b.rego": module}, path: "policies", want: []string{"team/b.rego"}},
		"a folder with a slash": {files: map[string]string{"policies/b.rego": module}, path: "policies/", want: []string{"b.rego"}},
		"no such folder":        {files: map[string]string{"a.rego": module}, path: "policies", reason: ReasonNotFound, message: "has no folder policies"},
		"a file as folder":      {files: map[string]string{"a.rego": module}, path: "a.rego", reason: ReasonNotFound, message: "has no folder a.rego"},
		"a link inside":         {files: map[string]string{"lib/a.rego": module}, prepare: link("lib/a.rego", "b.rego"), want: []string{"b.rego", "lib/a.rego"}},
		"a link outside":        {files: map[string]string{"a.rego": module}, prepare: link("../../etc/passwd", "b.rego"), reason: ReasonContentRefused, message: "b.rego is a link that leaves the folder"},
		"an absolute link":      {files: map[string]string{"a.rego": module}, prepare: link("/etc/passwd", "b.rego"), reason: ReasonContentRefused, message: "b.rego is a link that leaves the folder"},
		"a link in a circle":    {files: map[string]string{"a.rego": module}, prepare: link("b.rego", "b.rego"), reason: ReasonContentRefused, message: "b.rego is a link that leaves"},
		"a link to a folder":    {files: map[string]string{"lib/a.rego": module}, prepare: link("lib", "other"), reason: ReasonContentRefused, message: "other is a link to a folder"},
		"a link of no policy":   {files: map[string]string{"a.rego": module}, prepare: link("/etc/passwd", "README"), want: []string{"a.rego"}},
		"a submodule":           {files: map[string]string{"a.rego": module}, prepare: addSubmodule, reason: ReasonContentRefused, message: "libs is a submodule"},
		"an LFS pointer":        {files: map[string]string{"data.json": lfsHeader + "v1\noid sha256:1\nsize 1\n"}, reason: ReasonContentRefused, message: "data.json is stored in Git LFS"},
		"no text":               {files: map[string]string{"a.rego": "\xff\xfe"}, reason: ReasonContentRefused, message: "a.rego is not UTF-8"},
		"one large file":        {files: map[string]string{"a.rego": strings.Repeat("#", 101)}, limits: func(l *Limits) { l.FileBytes = 100 }, reason: ReasonTooLarge, message: "a.rego has more than 100 bytes"},
		"large together":        {files: map[string]string{"a.rego": strings.Repeat("#", 60), "b.rego": strings.Repeat("#", 60)}, limits: func(l *Limits) { l.TotalBytes = 100 }, reason: ReasonTooLarge, message: "more than 100 bytes together"},
		"too many files":        {files: map[string]string{"a.md": "", "b.md": "", "c.md": ""}, limits: func(l *Limits) { l.Entries = 2 }, reason: ReasonTooLarge, message: "more than 2 files"},
		"too deep":              {files: map[string]string{strings.Repeat("d/", maxDepth+2) + "a.rego": module}, reason: ReasonTooLarge, message: "folders deep"},
		"a large other one":     {files: map[string]string{"a.rego": module, "movie.bin": strings.Repeat("#", 1000)}, limits: func(l *Limits) { l.FileBytes = 100 }, want: []string{"a.rego"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, nil)
			require.NoError(t, r.Write(c.files))
			if c.prepare != nil {
				c.prepare(r)
			}
			r.push(nil)
			request := withLimits(r.request())
			request.Git.Path = c.path
			if c.limits != nil {
				c.limits(&request.Limits)
			}
			got, err := fetch(t.Context(), request)
			if c.reason != "" {
				requireRefused(t, err, c.reason, c.message)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, slices.Sorted(maps.Keys(got.Files)))
		})
	}
}

// addSubmodule adds a commit of another repository as libs.
func addSubmodule(r *repository) {
	r.push(nil)
	_, err := r.Git(r.t.Context(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.Bare, "libs")
	require.NoError(r.t, err)
}

// TestATreeBomb has folders that hold one another, ten times over, twelve levels deep.
func TestATreeBomb(t *testing.T) {
	r := newRepository(t, nil)
	r.push(map[string]string{"a.rego": module})
	entry := "100644 blob " + r.git("hash-object", "-w", "a.rego") + "\ta.rego\n"
	for range 12 {
		tree := r.makeTree(entry)
		var below strings.Builder
		for i := range 10 {
			fmt.Fprintf(&below, "040000 tree %s\td%d\n", tree, i)
		}
		entry = below.String()
	}
	commit := r.git("commit-tree", "-m", "Bomb", r.makeTree(entry))
	r.git("push", "--quiet", "--force", "origin", commit+":refs/heads/main")
	_, err := fetchApart(t, r.request())
	requireRefused(t, err, ReasonTooLarge, "more than 20000 files and folders")
}

func (r *repository) makeTree(entries string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", "mktree")
	command.Dir, command.Stdin = r.Work, strings.NewReader(entries)
	out, err := command.Output()
	require.NoError(r.t, err)
	return strings.TrimSpace(string(out))
}

func TestEmptyAndMissingRepositories(t *testing.T) {
	r := newRepository(t, nil)
	_, err := fetchApart(t, r.request())
	requireRefused(t, err, ReasonNotFound, "is empty: push a commit")
	r.url = strings.Replace(r.url, "policies.git", "nothing.git", 1)
	_, err = fetchApart(t, r.request())
	requireRefused(t, err, ReasonNotFound, "is not a repository")
	_, err = fetchApart(t, Request{Git: &v1alpha1.GitOrigin{URL: "file://" + t.TempDir()}})
	requireRefused(t, err, ReasonNotFound, "opening the repository")
	_, err = fetchApart(t, Request{Git: &v1alpha1.GitOrigin{URL: "file://" + r.Bare}})
	requireRefused(t, err, ReasonNotFound, "has no branch main")
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.com/policies":           "",
		"ssh://git@git.example.com:2222/policies":    "",
		"file:///srv/policies.git":                   "",
		"https://ada:secret@git.example.com/p":       ReasonCredentialsInvalid,
		"https://token@git.example.com/p":            ReasonCredentialsInvalid,
		"ssh://git:secret@git.example.com/p":         ReasonCredentialsInvalid,
		"file://host/policies.git":                   ReasonFetchFailed,
		"git://git.example.com/policies":             ReasonFetchFailed,
		"https:///policies":                          ReasonFetchFailed,
		"https://git.example.com/\x7f":               ReasonFetchFailed,
		"ext::sh -c touch% pwned":                    ReasonFetchFailed,
		"ssh://git@git.example.com/policies;touch%0": ReasonFetchFailed,
	} {
		err := CheckGitURL(url)
		if want == "" {
			require.NoError(t, err, url)
			continue
		}
		requireRefused(t, err, want, "spec.git.url")
		require.NotContains(t, err.Error(), "secret@")
	}
}

func TestHTTPCredentials(t *testing.T) {
	protect := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			user, password, _ := request.BasicAuth()
			if user+":"+password != "ada:right" && request.Header.Get("Authorization") != "Bearer right" {
				w.Header().Set("WWW-Authenticate", "Basic")
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, request)
		})
	}
	r := newRepository(t, protect)
	r.push(map[string]string{"a.rego": module})
	for name, c := range map[string]struct {
		credentials map[string]string
		reason      string
		message     string
	}{
		"a password":        {map[string]string{"username": "ada", "password": "right\n"}, "", ""},
		"a token":           {map[string]string{"bearerToken": "right"}, "", ""},
		"none":              {nil, ReasonAuthenticationFailed, "refuses the credentials"},
		"a wrong password":  {map[string]string{"username": "ada", "password": "wrong"}, ReasonAuthenticationFailed, "refuses the credentials"},
		"something else":    {map[string]string{"identity": "x"}, ReasonCredentialsInvalid, "has neither password"},
		"no authority":      {map[string]string{"ca.crt": "x", "bearerToken": "right"}, ReasonCredentialsInvalid, "ca.crt"},
		"a wrong token":     {map[string]string{"bearerToken": "wrong"}, ReasonAuthenticationFailed, "refuses the credentials"},
		"an empty password": {map[string]string{"username": "ada", "password": ""}, ReasonCredentialsInvalid, "has neither password"},
	} {
		t.Run(name, func(t *testing.T) {
			request := r.request()
			request.Credentials = secretData(c.credentials)
			_, err := fetchApart(t, request)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			requireRefused(t, err, c.reason, c.message)
			require.NotContains(t, err.Error(), "wrong")
		})
	}
}

func secretData(entries map[string]string) map[string][]byte {
	data := map[string][]byte{}
	for key, value := range entries {
		data[key] = []byte(value)
	}
	return data
}

// TestCredentialsStayWithTheirHost has a server that sends its callers to another.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	var seen []string
	other := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			seen = append(seen, request.Header.Get("Authorization"))
			next.ServeHTTP(w, request)
		})
	})
	other.push(map[string]string{"a.rego": module})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, strings.TrimSuffix(other.url, "/policies.git")+request.URL.RequestURI(), http.StatusFound)
	}))
	defer server.Close()
	request := withLimits(Request{Git: &v1alpha1.GitOrigin{URL: server.URL + "/policies.git"}, Credentials: secretData(map[string]string{"password": "secret"})})
	_, err := fetch(t.Context(), request)
	if err != nil {
		requireRefused(t, err, ReasonFetchFailed, "")
	}
	require.NotEmpty(t, seen, "the redirect was followed")
	for _, authorization := range seen {
		require.Empty(t, authorization)
	}
}

func TestCertificates(t *testing.T) {
	r := newRepository(t, nil)
	r.push(map[string]string{"a.rego": module})
	backend := strings.TrimSuffix(r.url, "/policies.git")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		relay(w, request, backend)
	}))
	defer server.Close()
	request := Request{Git: &v1alpha1.GitOrigin{URL: server.URL + "/policies.git"}}
	_, err := fetchApart(t, request)
	requireRefused(t, err, ReasonFetchFailed, "put the authority's certificate into the Secret as ca.crt")
	request.Credentials = map[string][]byte{"ca.crt": certificateOf(server)}
	_, err = fetchApart(t, request)
	require.NoError(t, err)
}

// TestHostileServers holds a fetch to its limits, for any behavior of the server.
func TestHostileServers(t *testing.T) {
	t.Run("one that never answers", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }))
		defer server.Close()
		requireBounded(t, server.URL, func(l *Limits) { l.Time = time.Second }, ReasonFetchFailed, "took longer than 1s")
	})
	t.Run("one that never ends", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			for i := 0; request.Context().Err() == nil; i++ {
				line := fmt.Sprintf("%040x refs/heads/b%d\n", i+1, i)
				if i == 0 {
					line = strings.Replace(line, "\n", "\x00ofs-delta\n", 1)
				}
				if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		requireBounded(t, server.URL, func(l *Limits) { l.TransferBytes = 4 << 20 }, ReasonTooLarge, "sends more than 4194304 bytes")
	})
	t.Run("one that drips", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			fmt.Fprint(w, "001e# service=git-upload-pack\n0000fff0")
			for {
				select {
				case <-request.Context().Done():
					return
				case <-ticker.C:
					fmt.Fprint(w, "0")
					w.(http.Flusher).Flush()
				}
			}
		}))
		defer server.Close()
		requireBounded(t, server.URL, func(l *Limits) { l.Time = time.Second }, ReasonFetchFailed, "took longer than 1s")
	})
	t.Run("one that talks nonsense", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }))
		defer server.Close()
		requireBounded(t, server.URL, func(*Limits) {}, ReasonFetchFailed, "fetching from "+server.URL)
	})
	t.Run("one that hangs up", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = connection.(*net.TCPConn).SetLinger(0) // a reset, not an end
				_ = connection.Close()
			}
		}))
		defer server.Close()
		var messages []string
		for range 2 {
			_, err := fetch(t.Context(), withLimits(Request{Git: &v1alpha1.GitOrigin{URL: server.URL}}))
			requireRefused(t, err, ReasonFetchFailed, "connection reset by peer")
			messages = append(messages, err.Error())
		}
		require.Equal(t, messages[0], messages[1], "what is the same is said in the same words")
	})
	t.Run("one that is not there", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		requireBounded(t, server.URL, func(*Limits) {}, ReasonFetchFailed, "connection refused")
	})
	t.Run("one with a pack that unpacks to far more", func(t *testing.T) {
		r := newRepository(t, nil)
		bomb, err := os.Create(filepath.Join(r.Work, "movie.bin"))
		require.NoError(t, err)
		require.NoError(t, errors.Join(bomb.Truncate(160<<20), bomb.Close()))
		r.push(map[string]string{"a.rego": module})
		requireBounded(t, r.url, func(*Limits) {}, ReasonTooLarge, "needs more than 128 MiB of memory")
	})
}

// requireBounded fetches in a child under limits.
func requireBounded(t *testing.T, url string, limit func(*Limits), reason, message string) {
	t.Helper()
	request := withLimits(Request{Git: &v1alpha1.GitOrigin{URL: url}})
	limit(&request.Limits)
	_, err := fetchApart(t, request)
	requireRefused(t, err, reason, message)
}
