package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/webhooks"
)

// recordOptions are the flags of recording.
type recordOptions struct {
	location string
	spool    bool
	sample   []string
	mask     []string
	maxAge   time.Duration
	maxBytes int64
	maxRate  int64
	merge    time.Duration
}

func (o *recordOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.location, "record", "", "`URL` of a store, such as file:///var/lib/lintel/records, in which to record decided requests for lintel replay; without it, none are recorded")
	flags.BoolVar(&o.spool, "record-spool", false, "--record is a folder from which lintel record upload moves the records to an object store; records that are deleted before count as dropped")
	flags.StringSliceVar(&o.sample, "record-sample", webhooks.DefaultRecordSampling(), "`shares` of requests to record, from 0 to 1, by outcome (denied, error, warned, audited, exempted, mutated, allowed, other) or by policy and outcome, such as teams/images:denied=0.5")
	flags.StringSliceVar(&o.mask, "record-mask", []string{webhooks.MaskEnv}, "`locations` in recorded objects to mask, in addition to --decision-log-mask and the data of Secrets; env stands for the values of environment variables in Pods and workloads")
	flags.DurationVar(&o.maxAge, "record-max-age", 7*24*time.Hour, "`duration` after which records are deleted; 0 keeps them")
	flags.Int64Var(&o.maxBytes, "record-max-bytes", 1<<30, "`bytes` of compressed records in the store above which the oldest are deleted; 0 means unlimited")
	flags.Int64Var(&o.maxRate, "record-max-rate", webhooks.DefaultRecordRate, "`bytes` of requests per second that are recorded; others are dropped")
	flags.DurationVar(&o.merge, "record-merge-within", webhooks.DefaultRecordMerge, "`duration` for which requests that differ only in what no policy reads are counted in one record; 0 records each")
}

func (o *recordOptions) check() error {
	switch {
	case o.spool && o.location == "":
		return errors.New("--record-spool: requires --record")
	case o.maxAge < 0:
		return fmt.Errorf("--record-max-age: Invalid value %s: must not be negative", o.maxAge)
	case o.maxBytes < 0:
		return fmt.Errorf("--record-max-bytes: Invalid value %d: must not be negative", o.maxBytes)
	case o.merge < 0:
		return fmt.Errorf("--record-merge-within: Invalid value %s: must not be negative", o.merge)
	case o.maxRate < 1:
		return fmt.Errorf("--record-max-rate: Invalid value %d: must be at least 1", o.maxRate)
	}
	return nil
}

// addRecorder starts the recorder on every replica; nil if nothing is recorded.
func addRecorder(mgr manager.Manager, o *recordOptions, decisionLogMask webhooks.Mask, logger *slog.Logger) (*webhooks.Recorder, error) {
	if o.location == "" {
		return nil, nil
	}
	sampling, err := webhooks.ParseRecordSampling(o.sample)
	if err != nil {
		return nil, fmt.Errorf("--record-sample: %w", err)
	}
	mask, err := webhooks.ParseRecordMask(o.mask)
	if err != nil {
		return nil, fmt.Errorf("--record-mask: %w", err)
	}
	store, err := record.Open(context.Background(), o.location)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	recorder := webhooks.NewRecorder(webhooks.RecorderOptions{
		Store:      store,
		Writer:     record.WriterOptions{MaxAge: o.maxAge, MaxBytes: o.maxBytes, Spool: o.spool},
		Sampling:   sampling,
		Mask:       append(mask, decisionLogMask...),
		MaxRate:    o.maxRate,
		Merge:      o.merge,
		Registerer: metrics.Registry,
		Logger:     logger,
	})
	return recorder, mgr.Add(object.Everywhere(func(ctx context.Context) error {
		defer store.Close() // the writer has reported errors
		return recorder.Start(ctx)
	}))
}
