package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// samples are latencies in the order in which they were measured.
type samples []time.Duration

// MarshalJSON writes microseconds: finer ones are noise, and the files are stored.
func (s samples) MarshalJSON() ([]byte, error) {
	micros := make([]int64, len(s))
	for i, sample := range s {
		micros[i] = sample.Microseconds()
	}
	return json.Marshal(micros)
}

// percentile is the smallest sample that at least p percent do not exceed (nearest
// rank): a value that was measured, never one between two. 0 without samples.
func (s samples) percentile(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(p / 100 * float64(len(s))))
	return sorted[max(rank, 1)-1]
}

// percentiles prints p50, p99 and p99.9.
func (s samples) percentiles() string {
	var out []string
	for _, p := range []float64{50, 99, 99.9} {
		out = append(out, fmt.Sprintf("%.2f", milliseconds(s.percentile(p))))
	}
	return strings.Join(out, " / ") + " ms"
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
