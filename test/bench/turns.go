package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// turn has the samples of one turn of a contender.
type turn struct {
	Requests  int
	CPU       time.Duration // of the server process
	Latencies samples
	// OutOfTime counts the reviews that were not decided in time: the request took ten
	// seconds, or a policy of Lintel missed its deadline, which is by the clock.
	OutOfTime int
}

func (t *turn) cpuPerReview() time.Duration { return t.CPU / time.Duration(max(t.Requests, 1)) }

// measured has the samples of all turns of a contender.
type measured struct {
	name     string
	turns    []turn
	resident int64 // bytes, after its last turn
}

func (m *measured) latencies() (all samples) {
	for _, t := range m.turns {
		all = append(all, t.Latencies...)
	}
	return all
}

func (m *measured) outOfTime() (n int) {
	for _, t := range m.turns {
		n += t.OutOfTime
	}
	return n
}

// cpu is the CPU of one review, in milliseconds, over all turns.
func (m *measured) cpu() float64 {
	var sum turn
	for _, t := range m.turns {
		sum.CPU += t.CPU
		sum.Requests += t.Requests
	}
	return milliseconds(sum.CPU) / float64(max(sum.Requests, 1))
}

// spread says how far the turns were apart: the lowest and the highest of them in
// milliseconds.
func (m *measured) spread(of func(turn) float64) (low, high float64) {
	for i, t := range m.turns {
		value := of(t)
		if i == 0 {
			low, high = value, value
		}
		low, high = min(low, value), max(high, value)
	}
	return low, high
}

func turnCPU(t turn) float64 { return milliseconds(t.CPU) / float64(max(t.Requests, 1)) }

func turnP50(t turn) float64 { return milliseconds(t.Latencies.percentile(50)) }

// MarshalJSON writes the data for pictures and tables; the samples themselves are too large for
// the repository, and are written outside it.
func (m *measured) MarshalJSON() ([]byte, error) {
	all := m.latencies()
	kept := struct {
		Name        string  `json:"name"`
		Requests    int     `json:"requests"`
		OutOfTime   int     `json:"outOfTime,omitempty"`
		CPUMicros   []int64 `json:"cpuMicrosPerReview,omitempty"` // of each turn
		P50Micros   []int64 `json:"p50Micros"`                    // of each turn
		Percentiles []int64 `json:"percentilesMicros"`            // p50, p90, p99, p99.9 of all turns
		Resident    int64   `json:"residentBytes,omitempty"`
	}{Name: m.name, Requests: len(all), OutOfTime: m.outOfTime(), Resident: m.resident}
	for _, t := range m.turns {
		if t.CPU > 0 {
			kept.CPUMicros = append(kept.CPUMicros, t.cpuPerReview().Microseconds())
		}
		kept.P50Micros = append(kept.P50Micros, t.Latencies.percentile(50).Microseconds())
	}
	for _, p := range []float64{50, 90, 99, 99.9} {
		kept.Percentiles = append(kept.Percentiles, all.percentile(p).Microseconds())
	}
	return json.Marshal(kept)
}

// pace is how a load is sent, and for how long each contender has its turn.
type pace struct {
	clients int     // send one review after the other
	rate    float64 // reviews a second, whether the one before is answered or not
	turns   int
	length  time.Duration
	least   int // reviews in a turn, however long it takes
}

func (p pace) String() string {
	if p.rate > 0 {
		return fmt.Sprintf("%g reviews a second", p.rate)
	}
	return plural(p.clients, "client")
}

// inTurns has contenders meet a load in turns, each as often first as the others.
func inTurns(ctx context.Context, contenders []*contender, w *workload, p pace) ([]*measured, error) {
	all := make([]*measured, len(contenders))
	for i, c := range contenders {
		all[i] = &measured{name: c.name}
		if _, err := c.meet(ctx, w, pace{clients: 1, length: p.length / 3, least: 2}); err != nil {
			return nil, fmt.Errorf("%s, warming up: %w", c.name, err)
		}
	}
	for n := range p.turns {
		for i := range contenders {
			i = (i + n) % len(contenders)
			t, err := contenders[i].meet(ctx, w, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			all[i].turns = append(all[i].turns, t)
		}
	}
	for i, c := range contenders {
		var err error
		if all[i].resident, err = residentOf(c.pid); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// meet is one turn.
func (c *contender) meet(ctx context.Context, w *workload, p pace) (turn, error) {
	before, err := statOf(c.pid)
	if err != nil {
		return turn{}, err
	}
	send := c.closed
	if p.rate > 0 {
		send = c.open
	}
	late := c.late.Load()
	latencies, err := send(ctx, w, p)
	if err != nil {
		return turn{}, err
	}
	if int(c.late.Load()-late) == len(latencies) {
		return turn{}, errors.New("no review was decided in time")
	}
	after, err := statOf(c.pid)
	return turn{len(latencies), after.cpu - before.cpu, latencies, int(c.late.Load() - late)}, err
}

// closed runs clients that send one review after the other.
func (c *contender) closed(ctx context.Context, w *workload, p pace) (samples, error) {
	end := time.Now().Add(p.length)
	var wait sync.WaitGroup
	taken, errs := make([]samples, p.clients), make([]error, p.clients)
	for i := range p.clients {
		wait.Go(func() {
			for errs[i] == nil && (time.Now().Before(end) || len(taken[i])*p.clients < p.least) {
				body, allowed := w.next()
				start := time.Now()
				errs[i] = c.answers(ctx, body, allowed)
				taken[i] = append(taken[i], time.Since(start))
			}
		})
	}
	wait.Wait()
	return slices.Concat(taken...), errors.Join(errs...)
}

// open sends reviews at a fixed rate. Latencies count from when a review was due, so
// that one that waits for others counts its waiting.
func (c *contender) open(ctx context.Context, w *workload, p pace) (samples, error) {
	count := max(int(p.rate*p.length.Seconds()), p.least)
	taken, errs := make(samples, count), make([]error, count)
	var wait sync.WaitGroup
	start := time.Now()
	for i := range count {
		body, allowed := w.next()
		due := start.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		wait.Go(func() {
			errs[i] = c.answers(ctx, body, allowed)
			taken[i] = time.Since(due)
		})
	}
	wait.Wait()
	return taken, errors.Join(errs...)
}

// answers is post where another answer than the expected one is an error.
func (c *contender) answers(ctx context.Context, body []byte, allowed bool) error {
	answer, err := c.post(ctx, body)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil {
		c.late.Add(1)
		return nil
	}
	if err != nil {
		return err
	}
	if bytes.Contains(answer, []byte(outOfTime)) {
		c.late.Add(1)
		return nil
	}
	if isAllowed(answer) != (allowed || c.names == nil) {
		return fmt.Errorf("expected allowed: %t, got %.2000s, of the review %.2000s", allowed, answer, body)
	}
	return nil
}
