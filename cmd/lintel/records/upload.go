package records

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/record/stores"
)

type uploadOptions struct {
	to             string
	every, maxAge  time.Duration
	timeout, drain time.Duration
	maxBytes       int64
	once           bool
	retained       time.Time
}

func newUploadCommand() *cobra.Command {
	var o uploadOptions
	cmd := &cobra.Command{
		Use:   "upload --to <store> <folder>",
		Short: "Move the manager's records to an object store",
		Long: `Move the manager's records to an object store, as a sidecar of the manager that
records with --record=file:///folder --record-spool. The manager contains no client of
an object store and needs no credentials.

The command moves complete segments until it receives SIGTERM, and then until the
folder is empty or --drain is over. An error of the store is logged, and the segments
stay in the folder: the command does not end. It also deletes old segments of the
store.

` + storeHelp,
		Example: `  lintel record upload --to 's3://audit/lintel?region=eu-central-1' /var/lib/lintel/records`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return usage.Errorf(cmd, "give the folder of the manager's --record")
			case o.to == "":
				return usage.Errorf(cmd, "no store: give its URL with --to")
			case o.every <= 0 || o.timeout <= 0 || o.drain < 0 || o.maxAge < 0 || o.maxBytes < 0:
				return usage.Errorf(cmd, "--every and --timeout must be positive, and --drain, --max-age and --max-bytes must not be negative")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return upload(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "`URL` of the store")
	flags.DurationVar(&o.every, "every", 15*time.Second, "`duration` between two looks at the folder")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "`duration` after which a move is interrupted and tried again")
	flags.DurationVar(&o.drain, "drain", 25*time.Second, "`duration` for the last segments after SIGTERM")
	flags.DurationVar(&o.maxAge, "max-age", 7*24*time.Hour, "`duration` after which records are deleted from the store; 0 keeps them")
	flags.Int64Var(&o.maxBytes, "max-bytes", 0, "`bytes` of compressed records in the store above which the oldest are deleted; 0 means unlimited")
	flags.BoolVar(&o.once, "once", false, "move the segments that are complete, and end; an error of the store is the error of the command")
	return cmd
}

func upload(cmd *cobra.Command, folder string, o uploadOptions) error {
	// A container ends with SIGTERM.
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	from, err := record.OpenFolder(folder)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	to, err := stores.Open(ctx, o.to)
	if err != nil {
		return err
	}
	defer to.Close() // all is written
	if o.once {
		_, err := o.move(ctx, cmd, from, to)
		return err
	}
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		o.tryMove(ctx, cmd, from, to)
		select {
		case <-ctx.Done():
			return o.drained(cmd, from, to)
		case <-tick.C:
		}
	}
}

// drained moves the last segments, which the manager completes when it ends.
func (o *uploadOptions) drained(cmd *cobra.Command, from, to *record.Store) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), o.drain)
	defer cancel()
	tick := time.NewTicker(min(o.every, time.Second))
	defer tick.Stop()
	for {
		left := o.tryMove(ctx, cmd, from, to)
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s not in the store", report.CountedAs(left, "segment is", "segments are"))
		case <-tick.C:
		}
	}
}

// tryMove logs an error, and returns the number of segments that are left.
func (o *uploadOptions) tryMove(ctx context.Context, cmd *cobra.Command, from, to *record.Store) int {
	moved, err := o.move(ctx, cmd, from, to)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", time.Now().UTC().Format(time.RFC3339), report.Printable(err.Error()))
	}
	return moved.Left
}

// move moves segments, and deletes old ones of the store once per hour.
func (o *uploadOptions) move(ctx context.Context, cmd *cobra.Command, from, to *record.Store) (record.Moved, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	now := time.Now()
	moved, err := from.Move(ctx, to, now)
	if moved.Segments > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: moved %s with %s\n", now.UTC().Format(time.RFC3339),
			report.CountedAs(int(moved.Segments), "segment", "segments"), report.CountedAs(int(moved.Records), "record", "records"))
	}
	if err != nil || now.Before(o.retained.Add(time.Hour)) {
		return moved, err
	}
	if _, err := to.Retain(ctx, o.maxAge, o.maxBytes, now); err != nil {
		return moved, err
	}
	o.retained = now
	return moved, nil
}
