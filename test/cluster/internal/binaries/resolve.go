package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// Set maps names of programs and manifest folders to absolute paths.
type Set map[string]string

// Options say where to look before building.
type Options struct {
	// Root is the folder of this Go module.
	Root string
	// Assets is the folder KUBEBUILDER_ASSETS names; empty for none.
	Assets string
	// Cache is the folder that keeps what was built.
	Cache string
	// Progress receives a line for everything that takes time.
	Progress *Progress
}

// fromAssets are the programs that KUBEBUILDER_ASSETS customarily holds.
var fromAssets = []string{Etcd, APIServer, Kubectl}

// DefaultCache is the cache folder that all checkouts of one user share.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "lintel", "bin"), nil
}

// Resolve returns a path for each wanted name, building what is missing.
func Resolve(ctx context.Context, opts Options, wanted ...string) (Set, error) {
	found, err := inAssets(opts.Assets, wanted)
	if err != nil {
		return nil, err
	}
	b := &builder{Options: opts}
	if i := slices.IndexFunc(wanted, unknown); i >= 0 {
		return nil, fmt.Errorf("nothing here is named %q; there are %s", wanted[i], strings.Join(known(), ", "))
	}
	var all []share
	for _, m := range modules {
		missing := m.missing(wanted, found)
		if len(missing) == 0 {
			continue
		}
		dir, err := b.cacheFolder(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, share{m, missing, dir})
	}
	b.announce(all)
	for _, s := range all {
		if err := b.provide(ctx, s, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// inAssets returns the wanted programs that the folder holds. A folder that
// was named but cannot be read is an error: silence would build for minutes.
func inAssets(dir string, wanted []string) (Set, error) {
	found := Set{}
	if dir == "" {
		return found, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("KUBEBUILDER_ASSETS names %s, which is not a folder; correct or unset it", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving KUBEBUILDER_ASSETS: %w", err)
	}
	for _, name := range fromAssets {
		path := filepath.Join(dir, name)
		if slices.Contains(wanted, name) && executable(path) {
			found[name] = path
		}
	}
	return found, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (m module) missing(wanted []string, found Set) []string {
	var missing []string
	for _, name := range m.outputs() {
		if _, ok := found[name]; !ok && slices.Contains(wanted, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

func (m module) outputs() []string {
	var names []string
	for _, p := range m.programs {
		names = append(names, p.name)
	}
	for _, f := range m.copies {
		names = append(names, f.name)
	}
	return names
}

func known() []string {
	var names []string
	for _, m := range modules {
		names = append(names, m.outputs()...)
	}
	return names
}

func unknown(name string) bool { return !slices.Contains(known(), name) }

type builder struct {
	Options
	toolchain string
}

// share is what is wanted of a module, and the folder of the cache that it is kept in.
type share struct {
	module
	missing []string
	dir     string
}

func (b *builder) cacheFolder(ctx context.Context, m module) (string, error) {
	if b.toolchain == "" {
		version, err := b.output(ctx, b.Root, "env", "GOVERSION", "GOOS", "GOARCH")
		if err != nil {
			return "", fmt.Errorf("asking for the Go version: %w", err)
		}
		b.toolchain = strings.Join(strings.Fields(version), " ")
	}
	name, err := m.cacheName(b.Root, b.toolchain)
	return filepath.Join(b.Cache, name), err
}

// announce says how long building takes, before it begins.
func (b *builder) announce(all []share) {
	var names []string
	minutes := 0
	for _, s := range all {
		if !complete(s.dir, s.missing) {
			names = append(names, s.name)
			minutes += s.minutes
		}
	}
	if len(names) > 0 {
		b.Progress.Printf("building %s from source, once for this machine: about %d minutes on two cores, less where Go has compiled parts before",
			strings.Join(names, ", "), minutes)
	}
}

// provide adds a module's missing outputs to found.
func (b *builder) provide(ctx context.Context, s share, found Set) error {
	if !complete(s.dir, s.missing) {
		if err := b.buildLocked(ctx, s.module, s.dir, s.missing); err != nil {
			return err
		}
	}
	for _, name := range s.missing {
		found[name] = filepath.Join(s.dir, name)
	}
	return nil
}

func complete(dir string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}

// buildLocked builds what is still missing once the lock is held: another
// command may have built it meanwhile.
func (b *builder) buildLocked(ctx context.Context, m module, dir string, missing []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the cache folder: %w", err)
	}
	lock, err := process.WaitLock(ctx, dir+".lock", func() {
		b.Progress.Printf("waiting for another command that builds %s", m.name)
	})
	if err != nil {
		return fmt.Errorf("taking the build lock of %s: %w", m.name, err)
	}
	defer lock.Unlock()

	for _, p := range m.programs {
		if !slices.Contains(missing, p.name) || complete(dir, []string{p.name}) {
			continue
		}
		err := b.Progress.Step("building "+p.name, func() error { return b.build(ctx, m, p, dir) })
		if err != nil {
			return err
		}
	}
	for _, f := range m.copies {
		if !slices.Contains(missing, f.name) || complete(dir, []string{f.name}) {
			continue
		}
		if err := b.copyFolder(ctx, m, f, dir); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) build(ctx context.Context, m module, p program, dir string) error {
	// The name is fixed, so an interrupted build leaves one file at most, and
	// the lock makes it ours.
	partial := filepath.Join(dir, "."+p.name+".partial")
	_, err := b.output(ctx, filepath.Join(b.Root, m.dir),
		"build", "-trimpath", "-buildvcs=false", "-tags", m.tags, "-ldflags", p.ldflags, "-o", partial, p.pkg)
	if err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	if err := os.Rename(partial, filepath.Join(dir, p.name)); err != nil {
		return fmt.Errorf("keeping %s: %w", p.name, err)
	}
	return nil
}

func (b *builder) copyFolder(ctx context.Context, m module, f folder, dir string) error {
	moduleDir := filepath.Join(b.Root, m.dir)
	// The program may come from the cache while the module was cleaned away.
	if _, err := b.output(ctx, moduleDir, "mod", "download", f.module); err != nil {
		return fmt.Errorf("fetching module %s: %w", f.module, err)
	}
	source, err := b.output(ctx, moduleDir, "list", "-m", "-f", "{{.Dir}}", f.module)
	if err != nil {
		return fmt.Errorf("locating module %s: %w", f.module, err)
	}
	partial := filepath.Join(dir, "."+f.name+".partial")
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("clearing an interrupted copy: %w", err)
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return fmt.Errorf("creating the cache folder: %w", err)
	}
	for _, glob := range f.globs {
		paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(source), glob))
		if err != nil || len(paths) == 0 {
			return fmt.Errorf("module %s has no files %s", f.module, glob)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("copying %s: %w", f.name, err)
			}
			if err := os.WriteFile(filepath.Join(partial, filepath.Base(path)), content, 0o644); err != nil {
				return fmt.Errorf("copying %s: %w", f.name, err)
			}
		}
	}
	if err := os.Rename(partial, filepath.Join(dir, f.name)); err != nil {
		return fmt.Errorf("keeping %s: %w", f.name, err)
	}
	return nil
}

// output runs the go command in dir and returns its standard output. The whole
// process group ends with ctx, or compilers would run on after an interrupt.
func (b *builder) output(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	if err := process.RunGroup(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("the go command is not in PATH: %w", err)
		}
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, Tail(stderr.String(), 20))
	}
	return stdout.String(), nil
}

// Tail returns the last n lines of text, indented to stand out in a message.
func Tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "    " + strings.Join(lines, "\n    ")
}
