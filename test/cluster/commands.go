package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"github.com/spf13/cobra"
)

// progressInterval is how often a running build says that it still runs.
const progressInterval = 10 * time.Second

// flags are what the user typed, before it is checked.
type flags struct {
	stateDir    string
	output      string
	without     []string
	from        []string
	also        []string
	fast        bool
	ownerPID    int
	apiPort     int
	timeout     time.Duration
	useExisting bool
	nodes       string
}

func newCommand() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes control plane for development and tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&f.stateDir, "state-dir", "", "folder of the cluster (default <repository>/.cluster/dev)")
	root.AddCommand(buildCommand(f), upCommand(f), downCommand(f), statusCommand(f), superviseCommand(f),
		sweepCommand(), imageCommand(f),
		orderCommand(f, "stop", "Stop components and keep their data and ports", func(names []string) order {
			return order{Stop: &names}
		}),
		orderCommand(f, "start", "Start stopped components", func(names []string) order {
			return order{Start: &names}
		}),
		orderCommand(f, "restart", "Stop components and start them again on the same data and ports", func(names []string) order {
			return order{Stop: &names, Start: &names}
		}))
	return root
}

// buildCommand is for those who bound the time of what follows, as tests do, and for
// those who need programs that no cluster starts.
func buildCommand(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "build [name…]",
		Short: "Build what up would build, or what is named, and start nothing",
		RunE: func(c *cobra.Command, names []string) error {
			opts, err := f.upOptions()
			if err != nil {
				return err
			}
			if len(names) == 0 {
				names = opts.wanted()
			}
			paths, err := resolve(c.Context(), opts, binaries.NewProgress(c.ErrOrStderr(), progressInterval), names)
			if err != nil || f.output != "json" {
				return err
			}
			if err := json.NewEncoder(c.OutOrStdout()).Encode(paths); err != nil {
				return fmt.Errorf("writing the answer: %w", err)
			}
			return nil
		},
	}
	outputFlag(c, f)
	nodesFlag(c, f)
	originFlags(c, f)
	return c
}

// originFlags say where programs come from, and which.
func originFlags(c *cobra.Command, f *flags) {
	c.Flags().StringSliceVar(&f.without, "without", nil, "leave out parts of the cluster: "+strings.Join(optional, ", "))
	c.Flags().StringSliceVar(&f.from, "from", []string{string(binaries.Assets), string(binaries.Build)},
		"ways to get programs, of which the first that has one gives it: assets (KUBEBUILDER_ASSETS), path (PATH), "+
			"download (releases of Kubernetes and etcd) and build (Go modules)")
	c.Flags().BoolVar(&f.fast, "fast-build", false, "prefer a short build to fast programs")
}

func nodesFlag(c *cobra.Command, f *flags) {
	c.Flags().StringVar(&f.nodes, "nodes", kwokNodes, "kwok, whose Pods only seem to run, or real (Linux, as root)")
}

func upCommand(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, or answer with the one that runs",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opts, err := f.upOptions()
			if err != nil {
				return err
			}
			ctx, cancel := whileWanted(c.Context(), opts.owner)
			defer cancel()
			answer, err := answerUp(ctx, f, opts, binaries.NewProgress(c.ErrOrStderr(), progressInterval))
			if err != nil {
				return err
			}
			return answer.print(c.OutOrStdout(), f.output)
		},
	}
	outputFlag(c, f)
	nodesFlag(c, f)
	originFlags(c, f)
	c.Flags().StringSliceVar(&f.also, "also", nil, "build further programs, such as manager and lintel, and name them in the answer")
	c.Flags().IntVar(&f.ownerPID, "owner-pid", 0, "end the cluster when this process ends")
	c.Flags().IntVar(&f.apiPort, "api-port", 0, "port of the API server (default a free one)")
	timeoutFlag(c, f, "how long starting may take, not counting builds")
	c.Flags().BoolVar(&f.useExisting, "use-existing-kubeconfig", false, "start nothing and answer with the cluster that KUBECONFIG names")
	return c
}

func answerUp(ctx context.Context, f *flags, opts upOptions, progress *binaries.Progress) (report, error) {
	if f.useExisting {
		return existing(ctx, opts, progress)
	}
	st, err := up(ctx, opts, progress)
	if err != nil {
		return report{}, err
	}
	return st.report(opts.dir), nil
}

func downCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster and delete its data",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := f.directory()
			if err != nil {
				return err
			}
			return down(c.Context(), dir, binaries.NewProgress(c.ErrOrStderr(), progressInterval))
		},
	}
}

func statusCommand(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Say what runs; exit status 1 if nothing does",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.checkOutput(); err != nil {
				return err
			}
			dir, err := f.directory()
			if err != nil {
				return err
			}
			st, err := runningState(dir)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return st.report(dir).print(c.OutOrStdout(), f.output)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), st.describe(dir))
			return err
		},
	}
	outputFlag(c, f)
	return c
}

func orderCommand(f *flags, use, short string, what func([]string) order) *cobra.Command {
	c := &cobra.Command{
		Use:   use + " [component…]",
		Short: short + "; all of them if none is named",
		RunE: func(c *cobra.Command, names []string) error {
			dir, err := f.directory()
			if err != nil {
				return err
			}
			st, err := runningState(dir)
			if err != nil {
				return err
			}
			// An API server that waits for a webhook may never become ready; it
			// is left as it is, to be looked at.
			ctx, cancel := context.WithTimeoutCause(c.Context(), f.timeout,
				fmt.Errorf("not done within %s; see the logs in %s", f.timeout, dir.path("logs")))
			defer cancel()
			return st.Control.send(ctx, what(names))
		},
	}
	timeoutFlag(c, f, "how long it may take")
	return c
}

func timeoutFlag(c *cobra.Command, f *flags, what string) {
	c.Flags().DurationVar(&f.timeout, "timeout", 3*time.Minute, what)
}

// superviseCommand is what up starts in the background, not for users.
func superviseCommand(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:    "supervise",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return supervise(stateDir(f.stateDir), f.timeout, os.Stdin, os.Stdout)
		},
	}
	timeoutFlag(c, f, "how long starting may take")
	return c
}

func outputFlag(c *cobra.Command, f *flags) {
	c.Flags().StringVarP(&f.output, "output", "o", "text", "how to print the answer: text or json")
}

func (f *flags) checkOutput() error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output is %q; use text or json", f.output)
	}
	return nil
}

// directory returns the state directory. Only the default needs a checkout, so
// that a cluster can be looked at and ended from anywhere.
func (f *flags) directory() (stateDir, error) {
	dir := f.stateDir
	if dir == "" {
		root, err := moduleFolder()
		if err != nil {
			return "", fmt.Errorf("%w, or name the cluster with --state-dir", err)
		}
		dir = defaultStateDir(root)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving --state-dir: %w", err)
	}
	return stateDir(dir), nil
}

// upOptions checks the flags of up.
func (f *flags) upOptions() (upOptions, error) {
	if err := f.checkOutput(); err != nil {
		return upOptions{}, err
	}
	if f.nodes != kwokNodes && f.nodes != realNodes {
		return upOptions{}, fmt.Errorf("--nodes is %q; use kwok or real", f.nodes)
	}
	if err := checkWithout(f.without, f.nodes); err != nil {
		return upOptions{}, fmt.Errorf("--without: %w", err)
	}
	from, err := binaries.ParseWays(f.from)
	if err != nil {
		return upOptions{}, fmt.Errorf("--from: %w", err)
	}
	if f.apiPort < 0 || f.apiPort > 65535 {
		return upOptions{}, fmt.Errorf("--api-port is %d; use a port between 1 and 65535, or 0 for a free one", f.apiPort)
	}
	if f.timeout <= 0 {
		return upOptions{}, fmt.Errorf("--timeout is %s; use a positive duration such as 3m", f.timeout)
	}
	dir, err := f.directory()
	if err != nil {
		return upOptions{}, err
	}
	root, err := moduleFolder()
	if err != nil {
		return upOptions{}, err
	}
	opts := upOptions{
		dir: dir, without: f.without, also: f.also,
		apiPort: f.apiPort, timeout: f.timeout, nodes: f.nodes,
		origins: binaries.Options{
			Root: root, From: from, Fast: f.fast, Assets: os.Getenv("KUBEBUILDER_ASSETS"),
			Mirror: os.Getenv("LINTEL_DOWNLOADS"), Releases: os.Getenv("LINTEL_RELEASES"),
		},
	}
	if f.ownerPID != 0 {
		owner, err := process.IdentityOf(f.ownerPID)
		if err != nil {
			return upOptions{}, fmt.Errorf("--owner-pid: %w", err)
		}
		opts.owner = &owner
	}
	return opts, nil
}

// whileWanted ends the returned context when the owner ends, or the go command that runs this
// program: its callers kill that one and not this program.
func whileWanted(ctx context.Context, owner *process.Identity) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := func(id process.Identity, gone error) {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for id.Alive() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(gone)
	}
	if owner != nil {
		go watch(*owner, errOwnersGone)
	}
	if parent, ok := process.GoCommand(); ok {
		go watch(parent, errGoRunGone)
	}
	return ctx, func() { cancel(nil) }
}

// runningState returns the state of a cluster that runs, or why there is none.
func runningState(dir stateDir) (*state, error) {
	if _, err := os.Stat(string(dir)); err != nil {
		return nil, fmt.Errorf("no cluster in %s; start one with up", dir)
	}
	running, err := dir.running()
	if err != nil {
		return nil, err
	}
	st, err := dir.load()
	switch {
	case err != nil:
		return nil, err
	case st == nil:
		return nil, fmt.Errorf("no cluster in %s; start one with up", dir)
	case running && st.Phase == phaseReady:
		return st, nil
	case running:
		return nil, fmt.Errorf("the cluster in %s is still starting, or ending", dir)
	case st.Reason != "":
		return nil, fmt.Errorf("the cluster in %s has ended: %s", dir, st.Reason)
	}
	return nil, fmt.Errorf("the supervisor of the cluster in %s has died; up starts a new one, down clears it", dir)
}

func (r report) print(out io.Writer, format string) error {
	if format == "json" {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
		return nil
	}
	_, err := fmt.Fprintf(out, "export KUBECONFIG=%s\n", r.Kubeconfig)
	return err
}

// describe is the one line that status prints.
func (s *state) describe(dir stateDir) string {
	var names []string
	for name := range s.Components {
		names = append(names, name)
	}
	var stopped string
	if missing := s.stopped(dir); len(missing) > 0 {
		stopped = fmt.Sprintf(", stopped %v", missing)
	}
	slices.Sort(names)
	var registry string
	if s.Nodes == realNodes {
		registry = ", registry " + loopback(s.Ports.Registry)
	}
	return fmt.Sprintf("%s at %s, supervisor %d, running %v%s%s, KUBECONFIG=%s",
		s.Phase, s.Ports.server(), s.Supervisor.PID, names, stopped, registry, dir.kubeconfig())
}

func (s *state) stopped(dir stateDir) []string {
	var names []string
	for _, c := range listComponents(dir, s, nil) {
		if _, ok := s.Components[c.name]; !ok {
			names = append(names, c.name)
		}
	}
	return names
}
