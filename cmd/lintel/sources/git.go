package sources

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// gitPrefix is that of the location of a repository: git+https://host/repository?ref=REF&path=FOLDER.
const gitPrefix = "git+"

// ReadWithGit is Read. A path may also be a folder of a Git revision: git+URL?ref=REF&path=FOLDER,
// or REVISION:FOLDER of the repository that contains the current folder.
func ReadWithGit(ctx context.Context, paths, names []string) ([]Source, error) {
	return readAll(paths, names, func(location string) ([]Source, error) {
		switch {
		case strings.HasPrefix(location, gitPrefix):
			return readRepository(ctx, location)
		case isRevision(location):
			return readRevision(location)
		}
		return readPath(location)
	})
}

// isRevision reports whether a location is a revision and not a file, nor a drive of Windows.
func isRevision(location string) bool {
	if _, err := os.Lstat(location); err == nil {
		return false
	}
	return strings.Index(location, ":") > 1
}

// readRepository fetches a folder of a repository.
func readRepository(ctx context.Context, location string) ([]Source, error) {
	parsed, err := url.Parse(strings.TrimPrefix(location, gitPrefix))
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid URL: use git+https://host/repository?ref=REF&path=FOLDER", location)
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%s: the parameters are not valid: %w", location, err)
	}
	for name, values := range query {
		if !slices.Contains([]string{"ref", "path"}, name) || len(values) > 1 {
			return nil, fmt.Errorf("%s: parameter %q: valid are ref and path, each once", location, name)
		}
	}
	if parsed.User != nil && parsed.Scheme != "ssh" {
		return nil, fmt.Errorf("the URL of %s contains credentials: clone the repository, and give REVISION:FOLDER", parsed.Redacted())
	}
	parsed.RawQuery = ""
	answer, err := origin.FetchRef(ctx, parsed.String(), query.Get("ref"), query.Get("path"))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	name := strings.TrimSuffix(path.Base(parsed.Path), ".git")
	if folder := path.Clean("/" + query.Get("path")); folder != "/" {
		name = path.Base(folder)
	}
	folder := path.Clean("/" + query.Get("path"))[1:]
	return ofRevision(location, name, filepath.FromSlash(path.Join(".", folder)), answer)
}

// readRevision reads a folder of a revision of the repository that contains the current folder.
func readRevision(location string) ([]Source, error) {
	revision, folder, _ := strings.Cut(location, ":")
	answer, root, err := origin.ReadRevision(".", revision, folder)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	shown := filepath.Join(root, filepath.FromSlash(folder))
	if strings.HasPrefix(folder, ".") {
		shown = filepath.FromSlash(folder)
	} else if here, err := os.Getwd(); err == nil { // as a user in this folder opens it
		if relative, err := filepath.Rel(here, shown); err == nil {
			shown = relative
		}
	}
	absolute, err := filepath.Abs(shown)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", location, err)
	}
	return ofRevision(location, filepath.Base(absolute), shown, answer)
}

// ofRevision is the source of a fetched folder.
func ofRevision(location, name, folder string, answer *origin.Answer) ([]Source, error) {
	files := answer.Files
	for file := range files {
		if !definition.IsPolicyFile(file) {
			delete(files, file)
		}
	}
	read := Source{Source: definition.Source{Name: name, Revision: answer.Revision, Files: files, AdmissionPolicies: true}, Origin: location, Folder: folder}
	if !hasPolicies(files) {
		return nil, read.Without("policies", "there is no .rego file, no ConstraintTemplate, no admission policy of Kubernetes and no ValidatingPolicy of Kyverno in it", source.PassedOver(files))
	}
	return []Source{read}, nil
}
