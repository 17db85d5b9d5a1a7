package origin

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// phase is how far a fetch has come. A fetch that reaches its time limit reports the phase, because a
// child process has a low priority: on a busy node, the time may pass before the origin is asked.
type phase string

const (
	// phaseStarting is before the child has read its request.
	phaseStarting phase = ""
	// phaseAsking is before the origin has sent anything, and phaseReceiving afterwards.
	phaseAsking    phase = "asking"
	phaseReceiving phase = "receiving"
)

// phasePrefix begins the lines with which a child reports phases on its standard error.
const phasePrefix = "phase: "

// progress reports the phases of a fetch. A nil progress reports nothing.
type progress struct {
	out io.Writer

	mutex sync.Mutex
	last  phase
}

// reach reports a phase once.
func (p *progress) reach(next phase) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.last != next {
		p.last = next
		fmt.Fprintln(p.out, phasePrefix+string(next))
	}
}

// phase is the last phase. Without a progress, the fetch is not in a child.
func (p *progress) phase() phase {
	if p == nil {
		return phaseAsking
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.last
}

// phaseIn is the last phase that a child has reported.
func phaseIn(messages string) phase {
	last := phaseStarting
	for line := range strings.Lines(messages) {
		if name, is := strings.CutPrefix(line, phasePrefix); is {
			last = phase(strings.TrimSpace(name))
		}
	}
	return last
}

// tooSlow is the error of a fetch that has reached its time limit.
func tooSlow(request Request, reached phase) error {
	state := map[phase]string{
		phaseStarting:  "the process that fetches did not start in this time, and the origin was not asked: the node has too little CPU time",
		phaseAsking:    "the origin was asked, and nothing was received: check whether the server answers, and whether the node has CPU time",
		phaseReceiving: "an answer was being received: check the network, and whether the node has CPU time",
	}[reached]
	return refuse(ReasonFetchFailed, "fetching from %s took longer than %s: %s", addressOf(request), request.Limits.Time, state)
}
