package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// upOptions are the flags of up, checked.
type upOptions struct {
	dir stateDir
	// origins say where programs come from; the cache and progress are added.
	origins binaries.Options
	without []string
	also    []string
	owner   *process.Identity
	apiPort int
	timeout time.Duration
	nodes   string
}

// up returns a running cluster: the one that runs in the state directory, or a
// new one.
func up(ctx context.Context, opts upOptions, progress *binaries.Progress) (*state, error) {
	if err := opts.dir.claim(); err != nil {
		return nil, err
	}
	lock, err := process.WaitLock(ctx, opts.dir.commandLock(), func() {
		progress.Printf("waiting for another command on %s", opts.dir)
	})
	if err != nil {
		return nil, fmt.Errorf("taking the state directory: %w", err)
	}
	defer lock.Unlock()

	running, err := opts.dir.running()
	if err != nil {
		return nil, err
	}
	if running {
		st, err := reuse(ctx, opts, progress)
		if !errors.Is(err, errEnding) {
			return st, err
		}
		if err := awaitEnd(ctx, opts.dir, progress); err != nil {
			return nil, err
		}
	}
	if err := clearStale(opts.dir, progress); err != nil {
		return nil, err
	}
	if opts.nodes == realNodes {
		if err := checkRealNodes(); err != nil {
			return nil, err
		}
	}
	paths, err := resolve(ctx, opts, progress, opts.wanted())
	if err != nil {
		return nil, err
	}
	st, err := start(ctx, opts, paths, progress)
	for range portAttempts - 1 {
		// Between the choice of a free port and its use, another cluster may have taken it.
		if opts.apiPort != 0 || err == nil || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			break
		}
		progress.Printf("a port is in use, starting again with other ports …")
		st, err = start(ctx, opts, paths, progress)
	}
	return st, err
}

// portAttempts is how many sets of ports are tried.
const portAttempts = 3

// start starts a cluster on ports that are free.
func start(ctx context.Context, opts upOptions, paths binaries.Set, progress *binaries.Progress) (*state, error) {
	st, doors, err := prepare(opts, paths)
	if err == nil {
		st, err = launchSupervisor(ctx, opts, doors, progress)
	}
	for _, door := range doors {
		_ = door.Close()
	}
	if err != nil {
		// Logs stay: the error names them.
		return nil, errors.Join(err, opts.dir.clean())
	}
	return st, nil
}

// wanted are the programs and manifests of a cluster.
func (o upOptions) wanted() []string {
	names := []string{binaries.Etcd, binaries.APIServer, binaries.Kubectl}
	for _, name := range optional {
		switch {
		case slices.Contains(o.without, name) || o.nodes == realNodes && name == binaries.Kwok:
		case name == binaries.Kwok:
			names = append(names, name, binaries.KwokStages)
		case name == binaries.CertManager:
			names = append(names, name, binaries.CertManagerCRDs)
		default:
			names = append(names, name)
		}
	}
	if o.nodes == realNodes {
		names = append(names, nodePrograms...)
	}
	return append(names, o.also...)
}

func resolve(ctx context.Context, opts upOptions, progress *binaries.Progress, names []string) (binaries.Set, error) {
	cache, err := binaries.DefaultCache()
	if err != nil {
		return nil, err
	}
	origins := opts.origins
	origins.Cache, origins.Progress = cache, progress
	return binaries.Resolve(ctx, origins, names...)
}

// prepare writes everything the supervisor starts from, and opens the ports that
// lead to a real node.
func prepare(opts upOptions, paths binaries.Set) (*state, []*os.File, error) {
	chosen, err := choosePorts(opts.apiPort)
	if err != nil {
		return nil, nil, err
	}
	var doors []*os.File
	if opts.nodes == realNodes {
		if doors, err = openDoors(chosen); err != nil {
			return nil, nil, err
		}
	}
	st, err := write(opts, paths, chosen)
	return st, doors, err
}

// write writes the state and the credentials.
func write(opts upOptions, paths binaries.Set, chosen ports) (*state, error) {
	st := &state{Phase: phaseStarting, Ports: chosen, Binaries: paths, Without: opts.without, Nodes: opts.nodes}
	if opts.owner != nil {
		st.Owners = []process.Identity{*opts.owner}
	}
	if err := os.RemoveAll(opts.dir.path("logs")); err != nil {
		return nil, fmt.Errorf("deleting old logs: %w", err)
	}
	if err := os.MkdirAll(opts.dir.path("logs"), 0o700); err != nil {
		return nil, fmt.Errorf("creating the log folder: %w", err)
	}
	if err := writeCredentials(opts.dir, chosen.server()); err != nil {
		return nil, err
	}
	if opts.nodes == realNodes {
		st.Cgroup = "lintel-" + randomToken()[:8]
		if err := writeNodeConfiguration(opts.dir, st); err != nil {
			return nil, err
		}
	}
	return st, opts.dir.save(st)
}

// launchSupervisor starts the supervisor in a session of its own, relays its
// progress and releases it when the cluster is ready.
func launchSupervisor(ctx context.Context, opts upOptions, doors []*os.File, progress *binaries.Progress) (*state, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	log, err := os.OpenFile(opts.dir.log("supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the supervisor's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, "supervise", "--state-dir="+string(opts.dir), "--timeout="+opts.timeout.String())
	cmd.Dir, cmd.Stderr = "/", log
	cmd.ExtraFiles = doors
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to the supervisor: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to the supervisor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	// Closing its input without the keep word makes the supervisor end the
	// cluster; it then reports and closes its output.
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()

	if err := follow(out, progress); err != nil {
		_ = in.Close()
		_ = cmd.Wait()
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		return nil, err
	}
	if _, err := io.WriteString(in, keepWord+"\n"); err != nil {
		_ = cmd.Wait()
		return nil, fmt.Errorf("releasing the supervisor: %w", err)
	}
	_ = in.Close()
	return opts.dir.load()
}

// follow prints the supervisor's progress and returns nil once it is ready.
func follow(out io.Reader, progress *binaries.Progress) error {
	start := time.Now()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading from the supervisor: %w", err)
		}
		switch {
		case e.Ready:
			progress.Printf("cluster ready in %s", time.Since(start).Round(100*time.Millisecond))
			return nil
		case e.Error != "":
			return errors.New("starting the cluster: " + e.Error)
		default:
			progress.Printf("%s …", e.Progress)
		}
	}
	return errors.New("the supervisor ended without saying why; see supervisor.log in the logs folder of the state directory")
}

// errEnding says that what runs in the state directory is about to be gone.
var errEnding = errors.New("the cluster is ending")

// awaitEnd returns once the supervisor that is ending has released the folder.
func awaitEnd(ctx context.Context, dir stateDir, progress *binaries.Progress) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endGrace, fmt.Errorf("it still runs after %s; run down", endGrace))
	defer cancel()
	lock, err := process.WaitLock(ctx, dir.supervisorLock(), func() {
		progress.Printf("waiting for a cluster that is ending")
	})
	if err != nil {
		return fmt.Errorf("waiting for the cluster in %s to end: %w", dir, err)
	}
	lock.Unlock()
	return nil
}

// reuse answers with the running cluster if it satisfies the request.
func reuse(ctx context.Context, opts upOptions, progress *binaries.Progress) (*state, error) {
	st, err := opts.dir.load()
	if err != nil {
		return nil, err
	}
	switch {
	case st == nil || st.Phase != phaseReady:
		// Its up held the command lock until it was ready, so that up is gone.
		return nil, errEnding
	case (opts.nodes == realNodes) != (st.Nodes == realNodes):
		return nil, fmt.Errorf("the cluster in %s was not started with --nodes=%s; run down first, or choose another --state-dir", opts.dir, opts.nodes)
	case len(opts.lacking(st)) > 0:
		lacking := strings.Join(opts.lacking(st), ",")
		return nil, fmt.Errorf("the cluster in %s runs without %s; run down first, or add --without %s", opts.dir, lacking, lacking)
	case opts.apiPort != 0 && opts.apiPort != st.Ports.APIServer:
		return nil, fmt.Errorf("the cluster in %s serves on port %d; run down first, or leave --api-port out", opts.dir, st.Ports.APIServer)
	}
	if err := st.Control.send(ctx, order{Owner: opts.owner, Disown: opts.owner == nil}); err != nil {
		return nil, err
	}
	progress.Printf("cluster already running")
	further, err := resolve(ctx, opts, progress, opts.also)
	if err != nil {
		return nil, err
	}
	maps.Copy(st.Binaries, further)
	return st, nil
}

// lacking are the components that are asked for and that the cluster was started without.
func (o upOptions) lacking(st *state) []string {
	return slices.DeleteFunc(slices.Clone(optional), func(name string) bool {
		return slices.Contains(o.without, name) || st.has(name)
	})
}
