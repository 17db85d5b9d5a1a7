package audit

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows in one line of a terminal how far the audit is.
type progress struct {
	to      io.Writer // nil without a terminal
	now     func() time.Time
	what    string
	objects int
	started time.Time
	shown   time.Time
}

// interval is the time between two updates.
const interval = 200 * time.Millisecond

// newProgress writes to a terminal only.
func newProgress(to io.Writer) *progress {
	p := &progress{now: time.Now}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.to = to
	}
	return p
}

// begin begins a kind or a file.
func (p *progress) begin(what string) {
	p.what, p.objects, p.started = what, 0, p.now()
}

// add counts one object.
func (p *progress) add() {
	p.objects++
	if p.to == nil || p.now().Sub(p.shown) < interval {
		return
	}
	p.shown = p.now()
	rate := float64(p.objects) / max(p.shown.Sub(p.started).Seconds(), 0.001)
	fmt.Fprintf(p.to, "\r\x1b[K%s: %d objects, %.0f/s", p.what, p.objects, rate)
}

// end removes the line.
func (p *progress) end() {
	if p.to != nil {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
