// Package gitserver makes Git repositories and serves them over HTTP, with Git itself: a test
// against it is a test against a real remote.
package gitserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Server serves the bare repositories of a folder.
type Server struct {
	// URL is the base URL; a repository is below it by the name of its folder.
	URL    string
	folder string
	server *http.Server
}

// Start serves a folder at an address of loopback; "127.0.0.1:0" finds one. The wrapper,
// if any, is asked before Git is.
func Start(folder, address string, wrap func(http.Handler) http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving Git: %w", err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	var handler http.Handler = &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1"},
	}
	if wrap != nil {
		handler = wrap(handler)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), folder: folder, server: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Address is where the server listens.
func (s *Server) Address() string { return strings.TrimPrefix(s.URL, "http://") }

// Stop ends the server immediately.
func (s *Server) Stop() { _ = s.server.Close() }

// Repository is a bare repository, and a checkout of it to push from.
type Repository struct {
	// Bare is the folder of the bare repository, and Work that of the checkout.
	Bare, Work string
}

// NewRepository makes an empty repository with the branch main in a folder.
func NewRepository(ctx context.Context, folder, name string) (*Repository, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	r := &Repository{Bare: filepath.Join(folder, name+".git"), Work: filepath.Join(folder, name+".work")}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", r.Bare},
		{"-C", r.Bare, "config", "receive.denyDeleteCurrent", "ignore"},
		{"init", "--quiet", "--initial-branch=main", r.Work},
	} {
		if _, err := run(ctx, folder, args...); err != nil {
			return nil, err
		}
	}
	_, err := r.Git(ctx, "remote", "add", "origin", r.Bare)
	return r, err
}

// Git runs git in the checkout, without the settings of the user, and returns its output.
func (r *Repository) Git(ctx context.Context, args ...string) (string, error) {
	return run(ctx, r.Work, args...)
}

// Write writes files of the checkout.
func (r *Repository) Write(files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(r.Work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Commit writes files, commits everything and returns the hash; options are for git
// commit.
func (r *Repository) Commit(ctx context.Context, files map[string]string, options ...string) (string, error) {
	if err := r.Write(files); err != nil {
		return "", err
	}
	if _, err := r.Git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.Git(ctx, append([]string{"commit", "--quiet", "--allow-empty", "--message=Change policies"}, options...)...); err != nil {
		return "", err
	}
	hash, err := r.Git(ctx, "rev-parse", "HEAD")
	return strings.TrimSpace(hash), err
}

// Push commits files and pushes them to the branch main.
func (r *Repository) Push(ctx context.Context, files map[string]string, options ...string) (string, error) {
	hash, err := r.Commit(ctx, files, options...)
	if err != nil {
		return "", err
	}
	_, err = r.Git(ctx, "push", "--quiet", "--force", "origin", "HEAD:main")
	return hash, err
}

func run(ctx context.Context, folder string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	)
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, &stderr)
	}
	return out.String(), nil
}
