package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

// BenchmarkRecording compares the processor time of a review of one Pod under all samples, with
// the time of the goroutine that stores records.
func BenchmarkRecording(b *testing.B) {
	review := podCreation(b)
	const uid = "0e4a8d8a-18f9-4c86-9d55-7a7b9e0d3f11"
	require.Contains(b, review, uid)
	for _, c := range []struct{ name, share string }{{"off", ""}, {"one in ten", "other=0.1"}, {"all", "other=1"}} {
		b.Run(c.name, func(b *testing.B) {
			handler := benchHandler(b, sampleSnapshot(b))
			end := func() {}
			var store *record.Store
			if c.share != "" {
				store, handler.options.Recorder, end = benchRecorder(b, c.share)
			}
			before := processorTime(b)
			n := 0
			for b.Loop() {
				n++
				request := httptest.NewRequest(http.MethodPost, "/validate/fail", strings.NewReader(strings.Replace(review, `"uid":"`, fmt.Sprintf(`"uid":"%d-`, n), 1)))
				request.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, request)
				requireAdmitted(b, recorder.Body.String())
			}
			end()
			b.ReportMetric(float64(processorTime(b)-before)/float64(n), "cpu-ns/op")
			if store != nil {
				segments, err := store.Segments(b.Context(), time.Time{}, time.Time{})
				require.NoError(b, err)
				records, bytes := int64(0), int64(0)
				for _, segment := range segments {
					records, bytes = records+segment.Records, bytes+segment.Bytes
				}
				b.ReportMetric(float64(bytes)/float64(records), "B/record")
				b.ReportMetric(float64(records)/float64(n), "records/op")
			}
		})
	}
}

func benchRecorder(b *testing.B, share string) (*record.Store, *Recorder, func()) {
	store, err := record.OpenFolder(b.TempDir())
	require.NoError(b, err)
	sampling, err := ParseRecordSampling([]string{share})
	require.NoError(b, err)
	mask, err := ParseRecordMask([]string{MaskEnv})
	require.NoError(b, err)
	recorder := NewRecorder(RecorderOptions{
		Store: store, Sampling: sampling, Mask: mask, MaxRate: 1 << 30, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- recorder.Start(ctx) }()
	return store, recorder, func() {
		cancel()
		require.NoError(b, <-done)
	}
}

// processorTime is that of the process, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}
