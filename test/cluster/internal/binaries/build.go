package binaries

import (
	"bytes"
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

// flavour is how programs are compiled.
type flavour struct {
	name    string
	gcflags string
	// cost is how long compiling takes, compared with the fast flavour.
	cost float64
}

// Without optimization, inlining and debugging information, the API server compiles in
// three quarters of the time. It is slower then, which a transcript does not notice.
var (
	optimized = flavour{name: "optimized", cost: 1.4}
	fast      = flavour{name: "fast", gcflags: "all=-N -l -dwarf=false", cost: 1}
)

// manifests are not compiled, and kept on their own, so that copying
// them never waits for a build.
var manifests = flavour{name: "manifests"}

// task has the programs of a module to build.
type task struct {
	module
	flavour
	programs []program
	copies   []folder
	dir      string
	packages int // that have to be compiled
}

// build adds programs that are built already, and builds the rest.
func (r *resolver) build(ctx context.Context) error {
	var tasks []task
	err := r.Progress.Watch("looking for what is compiled already", nil, func() error {
		for _, m := range allModules {
			more, err := r.plan(ctx, m)
			if err != nil {
				return err
			}
			tasks = append(tasks, more...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	e := newEstimate(r.Cache, tasks)
	r.announce(tasks, e)
	for _, t := range tasks {
		if err := r.carryOut(ctx, t, e); err != nil {
			return err
		}
	}
	return e.record()
}

// plan returns the programs of a module that have to be built, and adds the rest from the
// cache.
func (r *resolver) plan(ctx context.Context, m module) ([]task, error) {
	missing := slices.DeleteFunc(r.missing(), func(name string) bool { return !slices.Contains(m.outputs(), name) })
	if len(missing) == 0 {
		return nil, nil
	}
	dirs, err := r.cacheFolders(ctx, m)
	if err != nil {
		return nil, err
	}
	t := task{module: m, flavour: optimized}
	for _, p := range m.programs {
		if slices.Contains(missing, p.name) && (m.checkout || !r.reuseBuilt(p.name, dirs)) {
			t.programs = append(t.programs, p)
		}
	}
	copies := task{module: m, dir: dirs[manifests]}
	for _, f := range m.copies {
		switch {
		case !slices.Contains(missing, f.name):
		case complete(copies.dir, []string{f.name}):
			r.useFolder(f.name, copies.dir)
		default:
			copies.copies = append(copies.copies, f)
		}
	}
	var tasks []task
	if len(t.programs) > 0 {
		if t.flavour, t.packages, err = r.choose(ctx, t); err != nil {
			return nil, err
		}
		t.dir = dirs[t.flavour]
		tasks = append(tasks, t)
	}
	if len(copies.copies) > 0 {
		tasks = append(tasks, copies)
	}
	return tasks, nil
}

// reuseBuilt takes a program that was built before.
func (r *resolver) reuseBuilt(name string, dirs map[flavour]string) bool {
	for _, f := range []flavour{optimized, fast} {
		if dir, ok := dirs[f]; ok && complete(dir, []string{name}) {
			r.use(name, filepath.Join(dir, name), "compiled before")
			return true
		}
	}
	return false
}

// choose returns the flavour that takes the least time, and how many packages have to be
// compiled for it: where tests have compiled parts of a program, the optimized one.
func (r *resolver) choose(ctx context.Context, t task) (flavour, int, error) {
	packages, err := r.uncompiled(ctx, t, optimized)
	if err != nil || !r.Fast || packages == 0 {
		return optimized, packages, err
	}
	others, err := r.uncompiled(ctx, t, fast)
	if err != nil {
		return optimized, packages, err
	}
	if float64(others)*fast.cost < float64(packages)*optimized.cost {
		return fast, others, nil
	}
	return optimized, packages, nil
}

// uncompiled counts the packages of a task that Go's cache does not have. A build that cannot
// be planned has none: the build reports the error.
func (r *resolver) uncompiled(ctx context.Context, t task, f flavour) (int, error) {
	args := buildArgs(t, f, "-n")
	for _, p := range t.programs {
		args = append(args, p.pkg)
	}
	var plan strings.Builder
	cmd := r.command(filepath.Join(r.Root, t.module.dir), args...)
	cmd.Stderr = &plan
	if err := process.RunGroup(ctx, cmd); ctx.Err() != nil {
		return 0, context.Cause(ctx)
	} else if err != nil {
		return 0, nil
	}
	return strings.Count(plan.String(), "/compile "), nil
}

// cacheFolders are the folders for a module's programs, by flavour.
func (r *resolver) cacheFolders(ctx context.Context, m module) (map[flavour]string, error) {
	if m.checkout {
		dir := filepath.Join(r.Root, "..", "..", ".cluster", "bin")
		return map[flavour]string{optimized: dir, fast: dir}, nil
	}
	if r.toolchain == "" {
		version, err := r.output(ctx, r.Root, nil, "env", "GOVERSION", "GOOS", "GOARCH")
		if err != nil {
			return nil, fmt.Errorf("asking for the Go version: %w", err)
		}
		r.toolchain = strings.Join(strings.Fields(version), " ")
	}
	name, err := m.cacheName(r.Root, r.toolchain)
	if err != nil {
		return nil, err
	}
	dirs := map[flavour]string{
		optimized: filepath.Join(r.Cache, name),
		manifests: filepath.Join(r.Cache, name+"-"+manifests.name),
	}
	if r.Fast {
		dirs[fast] = filepath.Join(r.Cache, name+"-"+fast.name)
	}
	return dirs, nil
}

// announce says how long building takes, before it begins.
func (r *resolver) announce(tasks []task, e *estimate) {
	var names []string
	for _, t := range tasks {
		for _, p := range t.programs {
			if t.packages > 0 {
				names = append(names, p.name)
			}
		}
	}
	if len(names) > 0 {
		r.Progress.Printf("compiling %s from source, once for this machine: %d packages, about %s",
			strings.Join(names, ", "), e.total, roughly(e.left()))
	}
}

// carryOut builds the programs that are still missing under the lock.
func (r *resolver) carryOut(ctx context.Context, t task, e *estimate) error {
	return r.Progress.locked(ctx, t.dir, t.module.name, func() error {
		for _, p := range t.programs {
			e.number++
			if t.checkout || !complete(t.dir, []string{p.name}) {
				what := fmt.Sprintf("building %s (%d of %d)", p.name, e.number, e.programs)
				err := r.Progress.Watch(what, e.String, func() error { return r.compile(ctx, t, p, e) })
				if err != nil {
					return err
				}
			}
			r.use(p.name, filepath.Join(t.dir, p.name), t.origin())
		}
		for _, f := range t.copies {
			if !complete(t.dir, []string{f.name}) {
				if err := r.copyFolder(ctx, t.module, f, t.dir); err != nil {
					return err
				}
			}
			r.useFolder(f.name, t.dir)
		}
		return nil
	})
}

func (t task) origin() string {
	if t.checkout {
		return "compiled from this checkout"
	}
	return "compiled from Go modules"
}

func (r *resolver) compile(ctx context.Context, t task, p program, e *estimate) error {
	final := filepath.Join(t.dir, p.name)
	// The name is fixed, so an interrupted build leaves one file at most, and
	// the lock makes it ours.
	partial := filepath.Join(t.dir, "."+p.name+".partial")
	if t.checkout {
		// Go links a program again only where it finds no current one.
		partial = final
	}
	args := append(buildArgs(t, t.flavour, "-v"), "-ldflags", p.ldflags, "-o", partial, p.pkg)
	if _, err := r.output(ctx, filepath.Join(r.Root, t.module.dir), e.compiled, args...); err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	if partial == final {
		return nil
	}
	if err := os.Rename(partial, final); err != nil {
		return fmt.Errorf("keeping %s: %w", p.name, err)
	}
	return nil
}

func buildArgs(t task, f flavour, mode string) []string {
	args := []string{"build", mode, "-trimpath", "-buildvcs=false", "-tags", t.tags}
	if f.gcflags != "" {
		args = append(args, "-gcflags", f.gcflags)
	}
	return args
}

func (r *resolver) copyFolder(ctx context.Context, m module, f folder, dir string) error {
	moduleDir := filepath.Join(r.Root, m.dir)
	// The program may come from the cache while the module was cleaned away.
	if _, err := r.output(ctx, moduleDir, nil, "mod", "download", f.module); err != nil {
		return fmt.Errorf("fetching module %s: %w", f.module, err)
	}
	source, err := r.output(ctx, moduleDir, nil, "list", "-m", "-f", "{{.Dir}}", f.module)
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

// compilerGOGC trades memory of each compiler, up to two hundred megabytes more, for time.
const compilerGOGC = "400"

// command is a go command whose results depend on nothing but its arguments.
func (r *resolver) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	if os.Getenv("GOGC") == "" {
		// The compiler spends a tenth of its time and more on garbage otherwise.
		cmd.Env = append(cmd.Env, "GOGC="+compilerGOGC)
	}
	return cmd
}

// output runs the go command in dir and returns its standard output; line is called with
// each line of its standard error. The whole process group ends with ctx, or compilers
// would run on after an interrupt.
func (r *resolver) output(ctx context.Context, dir string, line func(string), args ...string) (string, error) {
	var stdout strings.Builder
	stderr := &lineWriter{line: line}
	cmd := r.command(dir, args...)
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := process.RunGroup(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("the go command is not in PATH: %w", err)
		}
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, Tail(stderr.all.String(), 20))
	}
	return stdout.String(), nil
}

// lineWriter keeps what is written and calls line with each whole line.
type lineWriter struct {
	line    func(string)
	all     bytes.Buffer
	scanned int
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.all.Write(p)
	for w.line != nil {
		rest := w.all.Bytes()[w.scanned:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		w.line(string(rest[:end]))
		w.scanned += end + 1
	}
	return len(p), nil
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
