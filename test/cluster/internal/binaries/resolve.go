package binaries

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set maps names of programs and manifest folders to absolute paths.
type Set map[string]string

// Way is a way to get programs.
type Way string

// The ways, in their customary order.
const (
	// Assets are the programs of the folder that KUBEBUILDER_ASSETS names.
	Assets Way = "assets"
	// Path are those on PATH.
	Path Way = "path"
	// Download are the releases of Kubernetes and etcd.
	Download Way = "download"
	// Build compiles Go modules.
	Build Way = "build"
)

// AllWays are all of them.
var AllWays = []Way{Assets, Path, Download, Build}

// Options say where programs come from.
type Options struct {
	// Root is the folder of this Go module.
	Root string
	// From are the ways that are tried, one after the other; none means Assets and Build.
	From []Way
	// Assets is the folder KUBEBUILDER_ASSETS names; empty for none.
	Assets string
	// Mirror is where downloads come from instead of their own hosts; see Releases.
	Mirror string
	// Releases is the file that pins downloads; empty for the one of this program.
	Releases string
	// Fast prefers a short build to a fast program.
	Fast bool
	// Cache is the folder of downloads and builds.
	Cache string
	// Progress receives a line for everything that takes time.
	Progress *Progress
}

// DefaultCache is the cache folder that all checkouts of one user share.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "lintel", "bin"), nil
}

// Resolve returns a path for each wanted name: the first way that has it gives it.
func Resolve(ctx context.Context, opts Options, wanted ...string) (Set, error) {
	if i := slices.IndexFunc(wanted, unknown); i >= 0 {
		return nil, fmt.Errorf("nothing here is named %q; there are %s", wanted[i], strings.Join(known(), ", "))
	}
	if len(opts.From) == 0 {
		opts.From = []Way{Assets, Build}
	}
	r := &resolver{Options: opts, wanted: wanted, found: Set{}, origins: map[string]string{}}
	if err := r.resolve(ctx); err != nil {
		return nil, err
	}
	if missing := r.missing(); len(missing) > 0 {
		return nil, fmt.Errorf("no way to get %s: tried %v", strings.Join(missing, ", "), opts.From)
	}
	r.summarize()
	return r.found, nil
}

// resolver looks for the wanted programs, with one method after the other.
type resolver struct {
	Options
	wanted    []string
	found     Set
	origins   map[string]string
	toolchain string
}

func (r *resolver) resolve(ctx context.Context) error {
	if places, err := r.places(); err != nil {
		return err
	} else if err := r.find(ctx, places); err != nil {
		return err
	}
	if slices.Contains(r.From, Download) {
		if err := r.download(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(r.From, Build) {
		return r.build(ctx)
	}
	return nil
}

func (r *resolver) places() ([]place, error) {
	var places []place
	if slices.Contains(r.From, Assets) && r.Assets != "" {
		assets, err := assetsPlace(r.Assets)
		if err != nil {
			return nil, err
		}
		places = append(places, assets)
	}
	if slices.Contains(r.From, Path) {
		places = append(places, pathPlace())
	}
	return places, nil
}

// missing are the wanted names that no way has given yet, in the order of the modules.
func (r *resolver) missing() []string {
	return slices.DeleteFunc(known(), func(name string) bool {
		_, found := r.found[name]
		return found || !slices.Contains(r.wanted, name)
	})
}

// use takes a program from where it is.
func (r *resolver) use(name, path, origin string) {
	r.found[name], r.origins[name] = path, origin
}

// useFolder takes a folder of manifests.
func (r *resolver) useFolder(name, dir string) { r.found[name] = filepath.Join(dir, name) }

// explain prints why the ways before are not enough, where there is a choice.
func (r *resolver) explain(format string, args ...any) {
	if slices.Contains(r.From, Path) || slices.Contains(r.From, Download) {
		r.Progress.Printf(format, args...)
	}
}

// summarize prints where the control plane comes from, where there is a choice.
func (r *resolver) summarize() {
	byOrigin := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.origins)) {
		byOrigin[r.origins[name]] = append(byOrigin[r.origins[name]], name)
	}
	for _, origin := range slices.Sorted(maps.Keys(byOrigin)) {
		r.explain("using %s: %s", strings.Join(byOrigin[origin], ", "), origin)
	}
}

// ParseWays reads names of ways.
func ParseWays(names []string) ([]Way, error) {
	var ways []Way
	for _, name := range names {
		if !slices.Contains(AllWays, Way(name)) {
			return nil, fmt.Errorf("%q is not a way to get programs; use %v", name, AllWays)
		}
		ways = append(ways, Way(name))
	}
	// Their order is fixed.
	return slices.DeleteFunc(slices.Clone(AllWays), func(w Way) bool { return !slices.Contains(ways, w) }), nil
}

func known() []string {
	var names []string
	for _, m := range allModules {
		names = append(names, m.outputs()...)
	}
	return names
}

func unknown(name string) bool { return !slices.Contains(known(), name) }

func complete(dir string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}

// Tail returns the last n lines of text, indented to stand out in a message.
func Tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "    " + strings.Join(lines, "\n    ")
}

// contextual returns why ctx ended, or err.
func contextual(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
