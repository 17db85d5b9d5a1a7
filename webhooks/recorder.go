package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/lintel-policy/lintel/policies/record"
)

const (
	// DefaultRecordRate is the bytes per second that are recorded, before compression.
	DefaultRecordRate = 1 << 20
	// recordQueueBytes bounds the memory of the queue.
	recordQueueBytes = 16 << 20
	// recordTick is how often the writer looks at the age of its frames.
	recordTick = time.Second
	// recordClosing is the time for the last records when the manager ends.
	recordClosing = 5 * time.Second
	// recordLogEvery limits how often a failing store is logged.
	recordLogEvery = time.Minute
)

// RecorderOptions are the inputs of a Recorder.
type RecorderOptions struct {
	Store    *record.Store
	Writer   record.WriterOptions
	Sampling RecordSampling
	// Mask lists locations that are masked in addition to those of the decision log.
	Mask Mask
	// MaxRate is a number of bytes per second; DefaultRecordRate if 0.
	MaxRate int64
	// Merge is the time for which requests that differ only in what no policy reads are counted in
	// one record; 0 stores each.
	Merge      time.Duration
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Recorder stores decided reviews. Reviews never wait for it: it drops records for which there is
// no room.
type Recorder struct {
	options RecorderOptions
	masks   *recordMasks
	queue   *recordQueue
	now     func() time.Time

	repeats *repeats // nil if each request is stored
	reads   readFields

	merged       prometheus.Counter
	recorded     *prometheus.CounterVec
	dropped      *prometheus.CounterVec
	storedAt     prometheus.Gauge
	failing      prometheus.Gauge
	failedLogged time.Time
	stored       int64 // by the writer, when it was last looked at
}

// NewRecorder registers the metrics of the recorder.
func NewRecorder(options RecorderOptions) *Recorder {
	now := options.Writer.Now
	if now == nil {
		now = time.Now
	}
	if options.MaxRate == 0 {
		options.MaxRate = DefaultRecordRate
	}
	auto := promauto.With(options.Registerer)
	r := &Recorder{
		options: options,
		masks:   newRecordMasks(options.Mask),
		queue:   newRecordQueue(recordQueueBytes, options.MaxRate, now),
		now:     now,
		merged: auto.NewCounter(prometheus.CounterOpts{
			Name: "lintel_records_merged_total",
			Help: "Requests that are counted in the record of another one, because they differ only in what no policy reads.",
		}),
		recorded: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_records_total",
			Help: "Admission requests accepted for recording, by the outcome that selected them (denied, error, warned, audited, exempted, mutated, allowed).",
		}, []string{"outcome"}),
		dropped: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lintel_records_dropped_total",
			Help: "Records that were dropped, by reason: queue (the store is too slow), rate (more than --record-max-rate), share (one tenant or namespace uses more than its share), size, mask (the request cannot be masked) and store (the store did not accept them).",
		}, []string{"reason"}),
		storedAt: auto.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_records_stored_timestamp_seconds",
			Help: "Unix time at which records were last written to the store without an error.",
		}),
		failing: auto.NewGauge(prometheus.GaugeOpts{
			Name: "lintel_records_store_failing",
			Help: "1 while the store of records does not accept records, or lintel record upload does not move those of a spool.",
		}),
	}
	if options.Merge > 0 {
		r.repeats = newRepeats(options.Merge)
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lintel_records_queue_bytes",
		Help: "Size of the records that wait for the store.",
	}, func() float64 { return float64(r.queue.size()) })
	for _, reason := range []string{droppedQueue, droppedRate, droppedShare, droppedSize, droppedMask, droppedStore} {
		r.dropped.WithLabelValues(reason)
	}
	return r
}

// Start writes records until ctx ends, and then those that are left.
func (r *Recorder) Start(ctx context.Context) error {
	writer, err := record.NewWriter(r.options.Store, r.options.Writer)
	if err != nil {
		return fmt.Errorf("recording requests: %w", err)
	}
	tick := time.NewTicker(recordTick)
	defer tick.Stop()
	r.check(writer, writer.Tick(ctx)) // an unreachable store is reported before the first record
	for {
		select {
		case <-ctx.Done():
			r.releaseHeld(true)
			r.queue.close()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordClosing)
			defer cancel()
			r.drain(closing, writer)
			r.check(writer, writer.Close(closing))
			return nil
		case <-r.queue.added:
			r.drain(ctx, writer)
		case <-tick.C:
			r.releaseHeld(false)
			r.check(writer, writer.Tick(ctx))
		}
	}
}

// releaseHeld stores the records whose interval has ended, or all.
func (r *Recorder) releaseHeld(all bool) {
	if r.repeats != nil {
		r.storeHeld(r.repeats.due(r.now(), all))
	}
}

func (r *Recorder) drain(ctx context.Context, writer *record.Writer) {
	for _, queued := range r.queue.take() {
		line, err := record.Encode(queued.record)
		if err != nil {
			r.drop(droppedSize, 1)
		} else {
			r.check(writer, writer.Append(ctx, queued.record.Time, line))
		}
		r.queue.release(queued)
	}
}

// check reports the result of a call of the writer, which may have only buffered a record.
func (r *Recorder) check(writer *record.Writer, err error) {
	stored := writer.Stored()
	if err == nil {
		if stored > r.stored {
			if !writer.Behind() {
				r.failing.Set(0)
			}
			r.storedAt.Set(seconds(r.now()))
		}
		r.stored = stored
		return
	}
	r.stored = stored
	r.drop(droppedStore, lostRecords(err))
	r.failing.Set(1)
	if now := r.now(); now.Sub(r.failedLogged) >= recordLogEvery {
		r.failedLogged = now
		r.options.Logger.Error("records cannot be stored", "error", err)
	}
}

// lostRecords adds up the records in all errors of a joined error.
func lostRecords(err error) (records int64) {
	switch wrapped := err.(type) {
	case *record.LostError:
		return wrapped.Records
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			records += lostRecords(inner)
		}
	default:
		if inner := errors.Unwrap(err); inner != nil {
			return lostRecords(inner)
		}
	}
	return records
}

func (r *Recorder) drop(reason string, records int64) {
	r.dropped.WithLabelValues(reason).Add(float64(records))
}
