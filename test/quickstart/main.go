// Command quickstart shows Lintel at work on a real control plane: an object that is
// rejected, one that is defaulted and one that is admitted with a warning, as a user
// would see them.
//
// In a terminal the cluster stays until Ctrl-C; otherwise, and with ONCE=1, it ends
// after the transcript. One checkout has one such cluster at a time. It has what the
// transcript needs, and with COMPONENTS=all everything; CLUSTER=current uses an existing
// cluster instead, and leaves it as it was. SYSTEMS=openclaw switches OpenClaw on, to play
// with it, GATEKEEPER=1 the manager's --gatekeeper, and FLAGS has further flags of the manager. With NODES=real, Pods run: Lintel is installed by its chart, and not as a process
// next to the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/lintel-policy/lintel/test/installation"
)

func main() {
	os.Exit(exitCode(filepath.Join(installation.Root(), ".cluster", "run")))
}

// exitCode is 130 after Ctrl-C before the cluster was up, as in a shell; later, Ctrl-C
// is the usual end.
func exitCode(stateDir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, stateDir)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && !errors.Is(err, errNotStopped) && !errors.Is(err, errNotRemoved):
		say("interrupted; everything has been stopped")
		return 130
	}
	fmt.Fprintln(os.Stderr, "quickstart:", err)
	return 1
}

// errNotStopped says that processes of the cluster may be left.
var errNotStopped = errors.New("the cluster may still run")

// run holds the lock of the checkout's cluster while it shows everything: a second
// run would take the cluster of the first for its own, and stop it.
func run(ctx context.Context, stateDir string) error {
	r, err := readRequest(os.Getenv)
	if err != nil {
		return err
	}
	release, err := takeLock(stateDir + ".lock")
	if errors.Is(err, errTaken) {
		return runsAlready(stateDir)
	}
	if err != nil {
		return err
	}
	defer release()
	return show(ctx, r, stateDir)
}

// runsAlready returns an error that explains the use of the other run's cluster.
func runsAlready(stateDir string) error {
	kubeconfig := filepath.Join(stateDir, "kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		return errors.New("make run is at work in this checkout already, and its cluster is still starting: wait for it")
	}
	return fmt.Errorf("make run is at work in this checkout already; end it with Ctrl-C there, or use its cluster:\n\n  export KUBECONFIG=%s", kubeconfig)
}

// site is the cluster that everything is shown in.
type site struct {
	*installation.Cluster
	// end removes what this run started or installed.
	end func(context.Context) error
	// note says what the user will miss in it.
	note string
}

// endLimit bounds how long ending may take.
const endLimit = 2 * time.Minute

func show(ctx context.Context, r request, stateDir string) (err error) {
	start, install := startOwn, besideTheCluster
	if r.current {
		start = useCurrent
	}
	if r.pods {
		install = inPods
	}
	s, err := start(ctx, r, stateDir)
	if err != nil {
		return err
	}
	var farewell string
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), endLimit)
		defer cancel()
		err = errors.Join(err, s.end(ending))
		if err == nil && farewell != "" {
			say(farewell)
		}
	}()
	t := &transcript{ctx: ctx, cluster: s.Cluster}
	if err := t.beforeLintel(); err != nil {
		return err
	}
	say("installing Lintel …")
	lintel, err := install(ctx, r, s)
	if err != nil {
		return err
	}
	defer lintel.stop()
	err = whileItRuns(ctx, lintel, func(ctx context.Context) error {
		t.ctx = ctx
		if err := t.installed(r.pods); err != nil {
			return err
		}
		if err := t.withLintel(); err != nil {
			return err
		}
		if farewell = r.farewell(); farewell != "" {
			return nil
		}
		handOver(os.Stdout, s, lintel.log)
		<-ctx.Done()
		return nil
	})
	if err = goOnWithout(ctx, err, func() bool { return isRemoved(ctx, s.Cluster) }); err == nil && farewell == "" {
		say("\nstopping …")
	}
	return err
}

// goOnWithout keeps the cluster until Ctrl-C where the manager has ended because the user
// has removed Lintel: that is something to try, too.
func goOnWithout(ctx context.Context, err error, removed func() bool) error {
	if err == nil || ctx.Err() != nil || !removed() {
		return err
	}
	say("\nLintel has been removed from the cluster, so its manager has ended. The cluster is yours until Ctrl-C, without Lintel; to have it again, run make run anew.")
	<-ctx.Done()
	return nil
}

// isRemoved says whether Lintel's namespace is gone, or going.
func isRemoved(ctx context.Context, cluster *installation.Cluster) bool {
	phase, err := cluster.Kubectl(ctx, "", "get", "namespace", installation.Namespace, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
	return err == nil && phase != "Active"
}

// program is what whileItRuns watches.
type program interface {
	Ended() <-chan struct{}
	Failure() error
}

// whileItRuns calls do with a context that ends with the program. If the program ended by
// itself, that is the error: it caused all other errors.
func whileItRuns(ctx context.Context, p program, do func(context.Context) error) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Ended():
			cancel(p.Failure())
		case <-watched.Done():
		}
	}()
	err := do(watched)
	if ctx.Err() == nil && watched.Err() != nil {
		return context.Cause(watched)
	}
	return err
}

// handOver explains to the user how to continue in another terminal. log is the path of the
// manager's log.
func handOver(w io.Writer, s *site, log string) {
	path := ""
	for _, program := range []string{s.Binaries.Kubectl, s.Binaries.Lintel} {
		path += filepath.Dir(program) + string(filepath.ListSeparator)
	}
	fmt.Fprintf(w, `
The cluster is yours until Ctrl-C. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s$PATH    # kubectl and lintel
  kubectl get policysources

%sThe manager's log: %s
`, s.Kubeconfig, path, s.note, log)
}

// progress is where programs write what takes time: to a terminal itself, so that they
// update their lines in place.
func progress(ctx context.Context) io.Writer {
	if isTerminal(os.Stderr) {
		return os.Stderr
	}
	return untilDone{ctx, os.Stderr}
}

// untilDone writes until the context is done: the messages of an interrupted program do not
// interest the user who interrupted it.
type untilDone struct {
	ctx context.Context
	to  io.Writer
}

func (w untilDone) Write(text []byte) (int, error) {
	if w.ctx.Err() != nil {
		return len(text), nil
	}
	return w.to.Write(text)
}

func say(text string) { fmt.Fprintln(os.Stderr, text) }

// isTerminal reports whether a user may press Ctrl-C.
func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
