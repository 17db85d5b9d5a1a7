package report

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Progress shows in one line of a terminal how far a command is.
type Progress struct {
	to      io.Writer // nil without a terminal
	now     func() time.Time
	what    string
	unit    string
	count   int64
	total   int64 // 0 if it is unknown
	started time.Time
	shown   time.Time
}

// interval is the time between two updates.
const interval = 200 * time.Millisecond

// NewProgress writes to a terminal only.
func NewProgress(to io.Writer) *Progress {
	p := &Progress{now: time.Now}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.to = to
	}
	return p
}

// Begin begins a kind or a file, of which the number of objects is unknown.
func (p *Progress) Begin(what string) { p.BeginOf(what, "objects", 0) }

// BeginOf begins a part that has a number of units: 0 if that is unknown.
func (p *Progress) BeginOf(what, unit string, total int64) {
	p.what, p.unit, p.count, p.total, p.started = what, unit, 0, total, p.now()
}

// Count is the number of units since Begin.
func (p *Progress) Count() int64 { return p.count }

// Add counts units.
func (p *Progress) Add(units int64) {
	p.count += units
	if p.to == nil || p.now().Sub(p.shown) < interval {
		return
	}
	p.shown = p.now()
	took := p.shown.Sub(p.started)
	rate := float64(p.count) / max(took.Seconds(), 0.001)
	fmt.Fprintf(p.to, "\r\x1b[K%s: %d %s, %.0f/s", p.what, p.count, p.unit, rate)
	if p.total > p.count && p.count > 0 {
		left := time.Duration(float64(took) * float64(p.total-p.count) / float64(p.count))
		fmt.Fprintf(p.to, ", %d %%, %s left", 100*p.count/p.total, left.Round(time.Second))
	}
}

// End removes the line.
func (p *Progress) End() {
	if p.to != nil {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
