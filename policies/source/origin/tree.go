package origin

import (
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	// maxDepth bounds folders in folders.
	maxDepth = 64
	// maxLinks bounds links that lead to links.
	maxLinks = 8
	// lfsHeader begins a file that stands for one in Git LFS.
	lfsHeader = "version https://git-lfs.github.com/spec/"
)

// readTree reads the selected files below a folder of a commit. It follows links to
// files of that folder, as reading a checkout would, and refuses those that leave it.
func readTree(commit *object.Commit, folder string, limits Limits, selects func(name string) bool) (map[string]string, error) {
	root, err := commit.Tree()
	if err != nil {
		return nil, refuse(ReasonFetchFailed, "reading the tree of commit %s: %v", commit.Hash, err)
	}
	if folder = path.Clean("/" + folder)[1:]; folder != "" {
		if root, err = root.Tree(folder); err != nil {
			return nil, refuse(ReasonNotFound, "commit %s has no folder %s: correct the path", commit.Hash, folder)
		}
	}
	t := &tree{limits: limits, selects: selects, entries: map[string]object.TreeEntry{}, blobs: root}
	if err := t.list(root, "", 0); err != nil {
		return nil, err
	}
	return t.read()
}

// tree is the content of a folder of a commit, by path.
type tree struct {
	limits  Limits
	selects func(name string) bool
	entries map[string]object.TreeEntry
	names   []string // in the order of the tree
	blobs   *object.Tree
}

// list lists the entries that are not hidden. Folders may share their content, so that a small
// repository can have more entries than any disk: their number is bounded here.
func (t *tree) list(folder *object.Tree, prefix string, depth int) error {
	if depth > maxDepth {
		return refuse(ReasonTooLarge, "%s is more than %d folders deep: name a smaller folder as path", shortPath(prefix), maxDepth)
	}
	for _, entry := range folder.Entries {
		name := prefix + entry.Name
		switch {
		case !isName(entry.Name):
			return refuse(ReasonContentRefused, "%q has a name that no file may have", name)
		case strings.HasPrefix(entry.Name, "."):
			continue
		case entry.Mode == filemode.Submodule:
			return refuse(ReasonContentRefused, "%s is a submodule, which is not fetched: add its files to the repository, or give it a PolicySource of its own", name)
		}
		if t.names = append(t.names, name); len(t.names) > t.limits.Entries {
			return refuse(ReasonTooLarge, "there are more than %d files and folders: name a smaller folder as path", t.limits.Entries)
		}
		t.entries[name] = entry
		if entry.Mode != filemode.Dir {
			continue
		}
		below, err := folder.Tree(entry.Name)
		if err != nil {
			return refuse(ReasonFetchFailed, "reading folder %s: %v", name, err)
		}
		if err := t.list(below, name+"/", depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) read() (map[string]string, error) {
	collected := newCollection(t.limits)
	for _, name := range t.names {
		entry := t.entries[name]
		if entry.Mode == filemode.Dir {
			continue
		}
		if entry.Mode == filemode.Symlink {
			var err error
			if entry, err = t.follow(name); err != nil {
				return nil, err
			}
		}
		if !t.selects(name) {
			continue
		}
		blob, err := t.blob(name, entry.Hash)
		if err != nil {
			return nil, err
		}
		reader, err := blob.Reader()
		if err != nil {
			return nil, refuse(ReasonFetchFailed, "reading file %s: %v", name, err)
		}
		err = collected.add(name, blob.Size, reader)
		if err := errors.Join(err, reader.Close()); err != nil {
			return nil, err
		}
	}
	return collected.files, nil
}

// blob is the content of an entry.
func (t *tree) blob(name string, hash plumbing.Hash) (*object.Blob, error) {
	file, err := t.blobs.TreeEntryFile(&object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: hash})
	if err != nil {
		return nil, refuse(ReasonFetchFailed, "reading file %s: %v", name, err)
	}
	return &file.Blob, nil
}

// follow returns the file that a link points to. A link that is neither a policy file nor points
// to one is ignored.
func (t *tree) follow(name string) (object.TreeEntry, error) {
	at := name
	for range maxLinks {
		entry, ok := t.entries[at]
		switch {
		case !ok && !t.selects(name):
			return object.TreeEntry{}, nil
		case !ok:
			return entry, leavesFolder(name)
		case entry.Mode == filemode.Dir:
			return entry, refuse(ReasonContentRefused, "%s is a link to a folder, which is not followed: replace it by the folder", name)
		case entry.Mode != filemode.Symlink:
			return entry, nil
		}
		target, err := t.target(at, entry.Hash)
		if err != nil {
			return entry, err
		}
		if path.IsAbs(target) {
			at = target // which no entry is
		} else {
			at = path.Join(path.Dir(at), target)
		}
	}
	return object.TreeEntry{}, leavesFolder(name)
}

func leavesFolder(name string) error {
	return refuse(ReasonContentRefused, "%s is a link that leaves the folder or leads nowhere: replace it by the file", name)
}

func (t *tree) target(name string, hash plumbing.Hash) (string, error) {
	blob, err := t.blob(name, hash)
	if err != nil {
		return "", err
	}
	reader, err := blob.Reader()
	if err != nil {
		return "", refuse(ReasonFetchFailed, "reading link %s: %v", name, err)
	}
	defer reader.Close()
	const longest = 4096
	text, err := io.ReadAll(io.LimitReader(reader, longest))
	if err != nil {
		return "", refuse(ReasonFetchFailed, "reading link %s: %v", name, err)
	}
	return string(text), nil
}

func isName(name string) bool {
	return name != "" && name != "." && name != ".." && utf8.ValidString(name) && !strings.ContainsAny(name, "/\\\x00")
}

// shortPath is a path for a message.
func shortPath(name string) string {
	const longest = 80
	if len(name) <= longest {
		return name
	}
	return name[:longest] + "…"
}

// collection gathers policy files within limits.
type collection struct {
	limits Limits
	total  int64
	files  map[string]string
}

func newCollection(limits Limits) *collection {
	return &collection{limits: limits, files: map[string]string{}}
}

// add reads one file whose size was said to be this.
func (c *collection) add(name string, size int64, content io.Reader) error {
	if size > c.limits.FileBytes {
		return c.fileTooLarge(name)
	}
	text, err := io.ReadAll(io.LimitReader(content, c.limits.FileBytes+1))
	switch {
	case err != nil:
		return refuse(ReasonFetchFailed, "reading file %s: %v", name, err)
	case int64(len(text)) > c.limits.FileBytes:
		return c.fileTooLarge(name)
	case !utf8.Valid(text):
		return refuse(ReasonContentRefused, "%s is not UTF-8 text: save it as UTF-8", name)
	case strings.HasPrefix(string(text), lfsHeader):
		return refuse(ReasonContentRefused, "%s is stored in Git LFS, which Lintel does not fetch: put the file itself into the repository", name)
	}
	if c.total += int64(len(text)); c.total > c.limits.TotalBytes {
		return refuse(ReasonTooLarge, "the policy files have more than %d bytes together: name a smaller folder as path, or keep data elsewhere", c.limits.TotalBytes)
	}
	c.files[name] = string(text)
	return nil
}

func (c *collection) fileTooLarge(name string) error {
	return refuse(ReasonTooLarge, "%s has more than %d bytes: split it, or keep data elsewhere", name, c.limits.FileBytes)
}
