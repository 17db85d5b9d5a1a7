package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// checkout is a working tree of the repository.
type checkout struct {
	root string
	// git is the folder of Git's own files; empty without Git.
	git string
}

// findCheckout finds the working tree around the working directory.
func findCheckout() (checkout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return checkout{}, fmt.Errorf("finding the working directory: %w", err)
	}
	for root := dir; ; root = filepath.Dir(root) {
		content, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module "+modulePath+"\n") {
			return checkout{root: root, git: gitFolder(root)}, nil
		}
		if root == filepath.Dir(root) {
			return checkout{}, fmt.Errorf("no checkout of %s in or above %s", modulePath, dir)
		}
	}
}

// gitFolder is the folder of the working tree's own Git files.
func gitFolder(root string) string {
	output, err := exec.Command("git", "-C", root, "rev-parse", "--absolute-git-dir").Output()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return "" // the repository of a folder further up
	}
	return strings.TrimSpace(string(output))
}

// recordPath is in Git's folder, which git clean does not change.
func (c checkout) recordPath() string {
	if c.git == "" {
		return filepath.Join(c.root, ".cluster", "suites.json")
	}
	return filepath.Join(c.git, "lintel-suites.json")
}

// scratch is a folder for logs and programs.
func (c checkout) scratch(parts ...string) string {
	return filepath.Join(append([]string{c.root, ".cluster", "suites"}, parts...)...)
}

// commit is the abbreviated commit that is checked out, with a mark where files differ.
func (c checkout) commit() string {
	if c.git == "" {
		return ""
	}
	output, err := exec.Command("git", "-C", c.root, "describe", "--always", "--dirty=+changes", "--exclude=*", "--abbrev=12").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

// inputs are the files that suites depend on, and the tools.
type inputs struct {
	// files maps the paths of the checkout to a short digest of mode and content.
	files map[string]string
	// times maps them to the time of their last change: a file that was edited and restored
	// has the digest that it had.
	times map[string]time.Time
	// environment identifies the Go toolchain and the versions of tools.
	environment string
	// tools maps the names of tools to what identifies the installed version.
	tools map[string]string
}

// inputs reads the working tree: uncommitted changes count.
func (c checkout) inputs(ctx context.Context) (inputs, error) {
	paths, err := c.paths(ctx)
	if err != nil {
		return inputs{}, err
	}
	in := inputs{files: map[string]string{}, times: map[string]time.Time{}, tools: map[string]string{}}
	for _, p := range paths {
		digest, changed, err := digestFile(filepath.Join(c.root, p))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not staged
		}
		if err != nil {
			return inputs{}, fmt.Errorf("reading the inputs of suites: %w", err)
		}
		in.files[p], in.times[p] = digest, changed
	}
	all := []string{runtime.Version(), runtime.GOOS, runtime.GOARCH}
	for _, s := range catalog {
		for _, tool := range s.tools {
			in.tools[tool] = c.toolVersion(tool)
		}
	}
	for _, tool := range []string{"git", "gcc"} {
		in.tools[tool] = c.toolVersion(tool)
	}
	for tool, version := range in.tools {
		all = append(all, tool+" "+version)
	}
	slices.Sort(all)
	in.environment = digestText(strings.Join(all, "\n"))
	return in, nil
}

// paths are the files under version control or about to be. Without Git, they are all
// files but those that builds leave.
func (c checkout) paths(ctx context.Context) ([]string, error) {
	if c.git != "" {
		cmd := exec.CommandContext(ctx, "git", "-C", c.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		output, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the files of the checkout: %w", err)
		}
		var paths []string
		for p := range bytes.SplitSeq(bytes.TrimSuffix(output, []byte{0}), []byte{0}) {
			paths = append(paths, string(p))
		}
		slices.Sort(paths)
		return slices.Compact(paths), nil
	}
	var paths []string
	err := filepath.WalkDir(c.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(c.root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if relative == "bin" || relative == ".cluster" || relative == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		paths = append(paths, relative)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the files of the checkout: %w", err)
	}
	return paths, nil
}

// digestFile identifies the content and the kind of a file, and returns the time of its last
// change; a symbolic link is its target.
func digestFile(name string) (_ string, changed time.Time, _ error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", changed, err
	}
	changed = info.ModTime()
	digest := sha256.New()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return "", changed, err
		}
		fmt.Fprintf(digest, "link %s", target)
	case info.Mode().IsRegular():
		fmt.Fprintf(digest, "file %t ", info.Mode()&0o111 != 0)
		file, err := os.Open(name)
		if err != nil {
			return "", changed, err
		}
		defer file.Close()
		if _, err := io.Copy(digest, file); err != nil {
			return "", changed, err
		}
	default:
		fmt.Fprintf(digest, "other %s", info.Mode().Type())
	}
	return hex.EncodeToString(digest.Sum(nil))[:12], changed, nil
}

func digestText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

// previousRelease is the tool that stands for the newest tag before the commit: upgrades are
// tested from there.
const previousRelease = "the previous release"

// toolVersion identifies an installed program by its size and time of change, which a
// package's next version does not share. A name with a slash is a pattern of files.
func (c checkout) toolVersion(name string) string {
	if name == previousRelease {
		output, _ := exec.Command("git", "-C", c.root, "describe", "--tags", "--abbrev=0", "HEAD^").Output()
		return strings.TrimSpace(string(output))
	}
	var files []string
	if strings.Contains(name, "/") {
		files, _ = filepath.Glob(name)
	} else if found, err := exec.LookPath(name); err == nil {
		files = []string{found}
	}
	version := ""
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			version += fmt.Sprintf("%s %d %s\n", file, info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05"))
		}
	}
	return cmp.Or(version, "missing")
}

// of are the inputs of one suite, as the record keeps them.
func (in inputs) of(s suite) map[string]string {
	mine := map[string]string{
		"go":            digestText(runtime.Version() + runtime.GOOS + runtime.GOARCH),
		"its selection": digestText(s.selection()),
	}
	for _, tool := range s.tools {
		mine["tool "+tool] = digestText(in.tools[tool])
	}
	for p, digest := range in.files {
		if matches(s.inputs, p) {
			mine[p] = digest
		}
	}
	return mine
}

// unchangedSince says that no input of a suite was touched since the inputs were read.
func (in inputs) unchangedSince(before inputs, s suite) bool {
	return maps.Equal(in.of(s), before.of(s)) &&
		!slices.ContainsFunc(slices.Collect(maps.Keys(in.files)), func(p string) bool {
			return matches(s.inputs, p) && !in.times[p].Equal(before.times[p])
		})
}

// matches applies patterns in order; the last one that matches decides.
func matches(patterns []string, name string) bool {
	if len(patterns) == 0 {
		return true
	}
	matched := false
	for _, pattern := range patterns {
		positive, excluded := strings.CutPrefix(pattern, "!")
		if matchesOne(positive, name) {
			matched = !excluded
		}
	}
	return matched
}

func matchesOne(pattern, name string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(name, pattern)
	}
	if base, ok := strings.CutPrefix(pattern, "*/"); ok {
		name, pattern = path.Base(name), base
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
