package binaries

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress prints whole lines, never control sequences, so that it reads the
// same in a terminal and in a log file.
type Progress struct {
	out   io.Writer
	every time.Duration
	mu    sync.Mutex
}

// NewProgress prints to out and repeats the running step each interval.
func NewProgress(out io.Writer, every time.Duration) *Progress {
	return &Progress{out: out, every: every}
}

// Printf prints one line.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// Step announces what is being done, repeats it with the elapsed time while
// do runs, and closes with the total.
func (p *Progress) Step(what string, do func() error) error {
	start := time.Now()
	p.Printf("%s …", what)
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	done := make(chan error, 1)
	go func() { done <- do() }()
	for {
		select {
		case err := <-done:
			if err == nil {
				p.Printf("%s … done in %s", what, elapsed(start))
			}
			return err
		case <-tick.C:
			p.Printf("%s … %s", what, elapsed(start))
		}
	}
}

func elapsed(since time.Time) time.Duration {
	d := time.Since(since)
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
