package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// fetchGit asks for the repository's refs, and for the one commit that is wanted
// where it is not known.
func fetchGit(ctx context.Context, request Request) (*Answer, error) {
	origin := request.Git
	if err := CheckGitURL(origin.URL); err != nil {
		return nil, err
	}
	if pinned := origin.Ref.Commit; pinned != "" && request.Known == pinnedRevision(pinned) {
		return &Answer{Revision: request.Known}, nil // a commit never changes
	}
	found, err := look(ctx, request)
	if err != nil {
		return nil, err
	}
	defer found.close()
	if found.revision == request.Known {
		return &Answer{Revision: found.revision}, nil
	}
	objects, err := found.objects(ctx)
	if err != nil {
		return nil, err
	}
	tag, commit, err := resolve(objects, found.target)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Revision: found.revision}
	if origin.Verify != nil {
		if answer.Signature, err = verifyGit(origin, tag, commit, request.Keys); err != nil {
			return nil, err
		}
	}
	if answer.Files, err = readTree(commit, origin.Path, request.Limits, request.selects); err != nil {
		return nil, err
	}
	return answer, nil
}

// CheckGitURL refuses a URL that cannot be fetched, or that contains a password: every reader of
// the PolicySource could read it.
func CheckGitURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil {
		return refuse(ReasonFetchFailed, "spec.git.url is not a valid URL: correct it")
	}
	switch parsed.Scheme {
	case "http", "https":
		if parsed.User != nil {
			return refuse(ReasonCredentialsInvalid, "spec.git.url holds credentials, which everybody who may read the PolicySource could read: put them into a Secret, and name it in spec.git.secretRef")
		}
	case "ssh":
		if _, set := parsed.User.Password(); set {
			return refuse(ReasonCredentialsInvalid, "spec.git.url holds a password: put an SSH key into a Secret, and name it in spec.git.secretRef")
		}
	case "file":
		if parsed.Host != "" || !filepath.IsAbs(parsed.Path) {
			return refuse(ReasonFetchFailed, "spec.git.url must be file:/// and an absolute path")
		}
		return nil
	default:
		return refuse(ReasonFetchFailed, "spec.git.url has the scheme %q: use https, http, ssh or file", parsed.Scheme)
	}
	if parsed.Hostname() == "" {
		return refuse(ReasonFetchFailed, "spec.git.url names no host: correct it")
	}
	return nil
}

// found is what a repository has for a ref, before its content is read.
type found struct {
	wanted
	// objects reads at least the target and the objects that it refers to.
	objects func(context.Context) (storer.EncodedObjectStorer, error)
	close   func()
}

func look(ctx context.Context, request Request) (*found, error) {
	if IsFile(request.Git.URL) {
		return lookOnDisk(request.Git)
	}
	return lookRemotely(ctx, request)
}

// lookOnDisk opens a repository where it lies: nothing has to be copied.
func lookOnDisk(origin *v1alpha1.GitOrigin) (*found, error) {
	parsed, err := url.Parse(origin.URL)
	if err != nil {
		return nil, err
	}
	repository, err := git.PlainOpenWithOptions(parsed.Path, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil, refuse(ReasonNotFound, "opening the repository %s: %v", parsed.Path, err)
	}
	head, err := repository.Reference(plumbing.HEAD, false)
	if err != nil {
		return nil, refuse(ReasonNotFound, "reading HEAD of the repository %s: %v", parsed.Path, err)
	}
	refs := refs{head.Target().Short(), func(name plumbing.ReferenceName) (hash, commit plumbing.Hash, ok bool) {
		ref, err := repository.Reference(name, true)
		if err != nil {
			return hash, commit, false
		}
		if tag, err := repository.TagObject(ref.Hash()); err == nil {
			return ref.Hash(), tag.Target, true
		}
		return ref.Hash(), ref.Hash(), true
	}}
	wanted, err := refs.find(origin.Ref)
	if err != nil {
		return nil, err
	}
	return &found{
		wanted: wanted, close: func() {},
		objects: func(context.Context) (storer.EncodedObjectStorer, error) { return repository.Storer, nil },
	}, nil
}

// lookRemotely asks a server for its refs, and keeps the session for the content.
func lookRemotely(ctx context.Context, request Request) (*found, error) {
	budget := &budget{left: request.Limits.TransferBytes, progress: request.progress}
	session, err := newSession(request, budget)
	if err != nil {
		return nil, describe(err, request, budget)
	}
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		_ = session.Close()
		return nil, describe(err, request, budget)
	}
	wanted, err := advertisedRefs(advertised).find(request.Git.Ref)
	if err != nil {
		_ = session.Close()
		return nil, err
	}
	return &found{
		wanted: wanted, close: func() { _ = session.Close() },
		objects: func(ctx context.Context) (storer.EncodedObjectStorer, error) {
			objects, err := download(ctx, session, advertised, wanted, budget)
			if err != nil {
				return nil, describe(err, request, budget)
			}
			return objects, nil
		},
	}, nil
}

// download reads the objects of one commit into memory.
func download(ctx context.Context, session transport.UploadPackSession, advertised *packp.AdvRefs, wanted wanted, budget *budget) (storer.EncodedObjectStorer, error) {
	request := packp.NewUploadPackRequestFromCapabilities(advertised.Capabilities)
	request.Wants = []plumbing.Hash{wanted.ask}
	if wanted.ask == wanted.target && advertised.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	if advertised.Capabilities.Supports(capability.NoProgress) {
		if err := request.Capabilities.Set(capability.NoProgress); err != nil {
			return nil, err
		}
	}
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	objects := memory.NewStorage()
	err = packfile.UpdateObjectStorage(objects, packOf(request.Capabilities, budget.reader(response)))
	return objects, errors.Join(err, response.Close())
}

// packOf returns the pack of an answer that may contain other messages, too.
func packOf(capabilities *capability.List, answer io.Reader) io.Reader {
	switch {
	case capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	default:
		return answer
	}
}

// resolve follows an annotated tag to its commit.
func resolve(objects storer.EncodedObjectStorer, target plumbing.Hash) (*object.Tag, *object.Commit, error) {
	tag, err := object.GetTag(objects, target)
	if err != nil {
		commit, err := object.GetCommit(objects, target)
		if err != nil {
			return nil, nil, refuse(ReasonNotFound, "the repository has no commit %s: %v", target, err)
		}
		return nil, commit, nil
	}
	commit, err := tag.Commit()
	if err != nil {
		return nil, nil, refuse(ReasonNotFound, "tag %s does not point to a commit", tag.Name)
	}
	return tag, commit, nil
}

// refs are the refs of a repository.
type refs struct {
	defaultBranch string
	// lookup gives a hash, and the commit that it leads to where it is an annotated tag's.
	lookup func(plumbing.ReferenceName) (hash, commit plumbing.Hash, ok bool)
}

func advertisedRefs(advertised *packp.AdvRefs) refs {
	branch := "master" // where the server does not say, as Git assumes
	for _, symbolic := range advertised.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(symbolic, "HEAD:"); ok {
			branch = plumbing.ReferenceName(target).Short()
		}
	}
	return refs{branch, func(name plumbing.ReferenceName) (hash, commit plumbing.Hash, ok bool) {
		hash, ok = advertised.References[name.String()]
		if commit, isTag := advertised.Peeled[name.String()]; isTag {
			return hash, commit, ok
		}
		return hash, hash, ok
	}}
}

// wanted is what a ref stands for at the moment.
type wanted struct {
	revision string
	// target is the commit or annotated tag, and ask what to ask a server for: the
	// target itself, or a branch whose history holds it.
	target, ask plumbing.Hash
}

// find finds what a ref stands for. A commit is asked for by itself, unless the ref
// names the branch in whose history it is.
func (r refs) find(ref v1alpha1.GitRef) (wanted, error) {
	switch {
	case len(ref.Commit) == 64:
		return wanted{}, refuse(ReasonNotFound, "spec.git.ref.commit is a SHA-256 hash, and only SHA-1 repositories can be fetched: name a commit by its SHA-1 hash")
	case ref.Commit != "" && ref.Branch == "":
		return wanted{pinnedRevision(ref.Commit), plumbing.NewHash(ref.Commit), plumbing.NewHash(ref.Commit)}, nil
	case ref.Commit == "" && ref.Tag != "":
		hash, commit, ok := r.lookup(plumbing.NewTagReferenceName(ref.Tag))
		if !ok {
			return wanted{}, refuse(ReasonNotFound, "the repository has no tag %s: push it, or correct spec.git.ref.tag", ref.Tag)
		}
		return wanted{fmt.Sprintf("%s@sha1:%s", ref.Tag, commit), hash, hash}, nil
	}
	branch := cmp.Or(ref.Branch, r.defaultBranch)
	tip, _, ok := r.lookup(plumbing.NewBranchReferenceName(branch))
	switch {
	case !ok:
		return wanted{}, refuse(ReasonNotFound, "the repository has no branch %s: push it, or correct spec.git.ref.branch", branch)
	case ref.Commit != "":
		return wanted{pinnedRevision(ref.Commit), plumbing.NewHash(ref.Commit), tip}, nil
	}
	return wanted{fmt.Sprintf("%s@sha1:%s", branch, tip), tip, tip}, nil
}

func pinnedRevision(commit string) string { return "sha1:" + commit }

// IsFile says whether a URL is a repository on the manager's own disk.
func IsFile(text string) bool { return strings.HasPrefix(text, "file:") }
