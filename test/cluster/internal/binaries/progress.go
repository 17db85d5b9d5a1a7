package binaries

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// redraw is how often the line of a terminal is updated.
const redraw = 200 * time.Millisecond

// Progress prints what takes time. In a terminal the step that runs is one line that is
// updated in place; elsewhere there are whole lines and no control sequences, for logs.
type Progress struct {
	out   io.Writer
	every time.Duration
	// width is that of the terminal; nil elsewhere.
	width func() int

	mu    sync.Mutex
	shown bool // a line that is updated is on the screen
}

// NewProgress prints to out. If out is not a terminal, the running step is repeated each
// interval.
func NewProgress(out io.Writer, every time.Duration) *Progress {
	p := &Progress{out: out, every: every}
	file, ok := out.(*os.File)
	if ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		p.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 {
				width = 80
			}
			return width
		}
		p.every = redraw
	}
	return p
}

// Printf prints one line.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// Watch calls do, and meanwhile shows the step, its duration, and the status, if there is one.
// A quick step leaves no line.
func (p *Progress) Watch(what string, status func() string, do func() error) error {
	start := time.Now()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	done := make(chan error, 1)
	go func() { done <- do() }()
	if p.width == nil {
		first := time.AfterFunc(time.Second, func() { p.Printf("%s …", what) })
		defer first.Stop()
	}
	for {
		select {
		case err := <-done:
			p.finish(what, start, err)
			return err
		case <-tick.C:
			line := fmt.Sprintf("%s … %s", what, elapsed(start))
			if status != nil {
				if text := status(); text != "" {
					line += ", " + text
				}
			}
			p.update(line)
		}
	}
}

// finish replaces the line of a step by its result. A failure is reported by the caller.
func (p *Progress) finish(what string, start time.Time, err error) {
	if err == nil && time.Since(start) >= time.Second {
		p.Printf("%s … done in %s", what, elapsed(start))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// update shows a line, in place of the one before where that is possible.
func (p *Progress) update(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width == nil {
		_, _ = fmt.Fprintln(p.out, line)
		return
	}
	p.clear()
	_, _ = io.WriteString(p.out, truncate(line, p.width()-1))
	p.shown = true
}

// clear removes the line that is updated in place; it needs mu.
func (p *Progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// truncate cuts a line to a number of columns. A line that a terminal wraps could not be
// updated in place.
func truncate(line string, columns int) string {
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	if columns < 1 {
		return ""
	}
	return strings.TrimRight(string(runes[:columns-1]), " ") + "…"
}

func elapsed(since time.Time) time.Duration {
	d := time.Since(since)
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
