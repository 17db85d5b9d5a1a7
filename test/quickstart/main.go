// Command quickstart shows Lintel at work on a real control plane: an object that is
// rejected, one that is defaulted and one that is admitted with a warning, as a user
// would see them.
//
// In a terminal the cluster stays until Ctrl-C; otherwise, and with ONCE=1, it ends
// after the transcript. One checkout has one such cluster at a time. SYSTEMS=openclaw
// switches OpenClaw on, to play with it. With NODES=real, Pods run: Lintel is installed by
// its chart, and not as a process beside the cluster.
package main

import (
	"cmp"
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
	case ctx.Err() != nil && !errors.Is(err, errNotStopped):
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
	release, err := takeLock(stateDir + ".lock")
	if errors.Is(err, errTaken) {
		return runsAlready(stateDir)
	}
	if err != nil {
		return err
	}
	defer release()
	return show(ctx, stateDir)
}

// runsAlready tells how to use the cluster of the other run.
func runsAlready(stateDir string) error {
	kubeconfig := filepath.Join(stateDir, "kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		return errors.New("make run is at work in this checkout already, and its cluster is still starting: wait for it")
	}
	return fmt.Errorf("make run is at work in this checkout already; end it with Ctrl-C there, or use its cluster:\n\n  export KUBECONFIG=%s", kubeconfig)
}

func show(ctx context.Context, stateDir string) (err error) {
	nodes := cmp.Or(os.Getenv("NODES"), "kwok")
	say("building Lintel …")
	programs := filepath.Join(installation.Root(), "bin")
	if err := installation.Build(ctx, programs); err != nil {
		return err
	}
	say("starting a control plane …")
	cluster, err := installation.StartCluster(ctx, stateDir, untilDone{ctx, os.Stderr}, "--nodes="+nodes)
	if err != nil {
		return err
	}
	var farewell string
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if stopErr := cluster.Stop(ending); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", errNotStopped, stopErr))
		}
		if err == nil && farewell != "" {
			say(farewell)
		}
	}()
	t := &transcript{ctx: ctx, cluster: cluster, programs: programs}
	if err := t.beforeLintel(); err != nil {
		return err
	}
	say("installing Lintel …")
	install := besideTheCluster
	if nodes == "real" {
		install = inPods
	}
	lintel, err := install(ctx, cluster, programs, os.Getenv("SYSTEMS") == "openclaw")
	if err != nil {
		return err
	}
	defer lintel.stop()
	err = whileItRuns(ctx, lintel, func(ctx context.Context) error {
		t.ctx = ctx
		if err := t.installed(nodes); err != nil {
			return err
		}
		if err := t.withLintel(); err != nil {
			return err
		}
		if farewell = whyNotStay(os.Getenv("ONCE"), isTerminal(os.Stdin)); farewell != "" {
			return nil
		}
		handOver(os.Stdout, cluster.Kubeconfig, []string{filepath.Dir(cluster.Binaries.Kubectl), programs}, lintel.log)
		<-ctx.Done()
		return nil
	})
	if err = goOnWithout(ctx, err, func() bool { return removed(ctx, cluster) }); err == nil && farewell == "" {
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

// removed says whether Lintel's namespace is gone, or going.
func removed(ctx context.Context, cluster *installation.Cluster) bool {
	phase, err := cluster.Kubectl(ctx, "", "get", "namespace", installation.Namespace, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
	return err == nil && phase != "Active"
}

// program is what whileItRuns watches.
type program interface {
	Ended() <-chan struct{}
	Failure() error
}

// whileItRuns calls what needs the program with a context that ends with it. That
// it ended by itself is then the error: whatever else went wrong followed from it.
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

// whyNotStay says why the cluster does not stay for the user; empty: it does.
func whyNotStay(once string, terminal bool) string {
	switch {
	case once == "1":
		return "the cluster has been stopped, as ONCE=1 asks; without it, in a terminal, it stays until Ctrl-C"
	case !terminal:
		return "the cluster has been stopped, because there is no terminal to end it from; in a terminal it stays until Ctrl-C"
	}
	return ""
}

// handOver tells the user how to go on in another terminal.
// log is where the manager's is.
func handOver(w io.Writer, kubeconfig string, folders []string, log string) {
	path := ""
	for _, folder := range folders {
		path += folder + string(filepath.ListSeparator)
	}
	fmt.Fprintf(w, `
The cluster is yours until Ctrl-C. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s$PATH    # kubectl and lintel
  kubectl get policysources

The manager's log: %s
`, kubeconfig, path, log)
}

// untilDone writes until the context is done: how a program that was interrupted says so
// is of no interest to whoever interrupted it.
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

// isTerminal says whether somebody may be there to press Ctrl-C.
func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
