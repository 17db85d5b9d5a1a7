package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// FetchHere fetches in this process, for a command whose user selects the origin. An error of the
// type *Error is about the origin.
func FetchHere(ctx context.Context, request Request) (*Answer, error) {
	request.Limits = cmp.Or(request.Limits, DefaultLimits)
	ctx, cancel := context.WithTimeout(ctx, request.Limits.Time)
	defer cancel()
	answer, err := fetch(ctx, request)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, tooSlow(request, phaseAsking)
	}
	return answer, err
}

// ReadRevision reads a folder of a revision, such as HEAD~1, of the repository that contains a
// folder. As in Git, path is relative to the root of the repository, or to the folder if it begins
// with ./ or ../. root is the folder of the working tree.
func ReadRevision(folder, revision, path string) (answer *Answer, root string, err error) {
	repository, err := git.PlainOpenWithOptions(folder, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil, "", refuse(ReasonNotFound, "the folder %s is not in a Git repository: %v", folder, err)
	}
	if tree, err := repository.Worktree(); err == nil {
		root = tree.Filesystem.Root()
	}
	if path == "." || path == ".." || strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") {
		if path, err = belowRoot(folder, root, path); err != nil {
			return nil, "", err
		}
	}
	hash, err := repository.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return nil, "", refuse(ReasonNotFound, "the repository has no revision %s: %v", revision, err)
	}
	commit, err := repository.CommitObject(*hash)
	if err != nil {
		return nil, "", refuse(ReasonNotFound, "%s is not a commit: %v", revision, err)
	}
	answer = &Answer{Revision: fmt.Sprintf("%s@sha1:%s", revision, hash)}
	if hash.String() == revision {
		answer.Revision = pinnedRevision(revision)
	}
	answer.Files, err = readTree(commit, path, DefaultLimits, Request{}.selects)
	return answer, root, err
}

// belowRoot returns a path relative to the root of a repository.
func belowRoot(folder, root, path string) (string, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = resolved
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	relative, err := filepath.Rel(root, filepath.Join(absolute, filepath.FromSlash(path)))
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return "", refuse(ReasonNotFound, "%s is outside of the repository %s", path, root)
	}
	return filepath.ToSlash(relative), nil
}

// FetchRef fetches a branch, a tag or a commit, whichever ref names: the default branch if it is
// empty.
func FetchRef(ctx context.Context, url, ref, path string) (*Answer, error) {
	request := Request{Git: &v1alpha1.GitOrigin{URL: url, Path: path}}
	if isHash(ref) {
		request.Git.Ref.Commit = ref
		return FetchHere(ctx, request)
	}
	request.Git.Ref.Branch = ref
	answer, err := FetchHere(ctx, request)
	var refused *Error
	if ref == "" || !errors.As(err, &refused) || refused.Reason != ReasonNotFound {
		return answer, err
	}
	request.Git.Ref = v1alpha1.GitRef{Tag: ref}
	tagged, errTag := FetchHere(ctx, request)
	if errTag != nil && strings.Contains(errTag.Error(), "has no tag") {
		if strings.Contains(err.Error(), "has no branch") {
			return nil, refuse(ReasonNotFound, "the repository has no branch or tag %s", ref)
		}
		return nil, err
	}
	return tagged, errTag
}

// isHash reports whether a ref is a full hash of a commit.
func isHash(ref string) bool {
	return len(ref) == 40 && strings.Trim(ref, "0123456789abcdef") == ""
}
