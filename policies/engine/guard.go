package engine

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// watchdogGrace is how long after its deadline a policy may take to stop. Beyond
	// that it is in a single expression or function that OPA cannot be stopped in.
	watchdogGrace = time.Second
	// maxStrikes is how often a policy may overrun before its quarantine lasts: the
	// first times may be a machine that stood still.
	maxStrikes = 3
)

// quarantine keeps a policy that did not stop from being asked again while its
// evaluation still runs, so that it holds at most a few goroutines, not one for each
// request. A new revision starts without.
type quarantine struct {
	mu      sync.Mutex
	running int // evaluations that nobody waits for any more
	strikes int
}

func (q *quarantine) enter() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running++
	q.strikes++
}

func (q *quarantine) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
}

func (q *quarantine) active() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running > 0 || q.strikes >= maxStrikes
}

// watch asks the policies one after the other, in a goroutine of its own, and does
// not wait for one that overruns its deadline and the grace: it goes into quarantine,
// and the others are asked all the same. ask must keep to itself what it writes; its
// results come in the order of the policies. A panic is a failure of its policy.
func watch[T any](policies []*policy, ask func(i int) T, failed func(i int, err evalError) T) []T {
	results := make([]T, len(policies))
	for next := 0; next < len(policies); {
		next = watchFrom(next, policies, ask, failed, results)
	}
	return results
}

// watchFrom is the index of the first policy that has no result yet.
func watchFrom[T any](start int, policies []*policy, ask func(i int) T, failed func(i int, err evalError) T, results []T) int {
	var (
		mu        sync.Mutex
		at        = start
		since     = time.Now()
		abandoned bool
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if roomy.Add(1) <= maxRoomy {
			growStack()
		}
		defer roomy.Add(-1)
		for i := start; i < len(policies); i++ {
			result := recovered(i, policies[i], ask, failed)
			mu.Lock()
			if abandoned {
				mu.Unlock()
				policies[i].quarantine.leave()
				return
			}
			results[i], at, since = result, i+1, time.Now()
			mu.Unlock()
		}
	}()
	timer := time.NewTimer(policies[start].meta.timeout + watchdogGrace)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return len(policies)
		case <-timer.C:
		}
		mu.Lock()
		if at == len(policies) {
			mu.Unlock()
			continue // done is about to be closed
		}
		stuck := policies[at]
		if left := stuck.meta.timeout + watchdogGrace - time.Since(since); left > 0 {
			mu.Unlock()
			timer.Reset(left)
			continue
		}
		abandoned = true
		stuck.quarantine.enter()
		mu.Unlock()
		results[at] = failed(at, evalError{
			message: "it did not stop at its deadline, and is in quarantine now; take apart the rule that does most in one expression",
			limit:   "watchdog",
		})
		return at + 1
	}
}

const (
	// stackBytes is what the deeper of ordinary policies need: OPA recurses.
	stackBytes = 128 << 10
	// maxRoomy is how many evaluations may have such a stack from the start. In a flood
	// of reviews the others grow theirs as they need it, so that the room is bounded.
	maxRoomy = 64
)

// roomy counts the evaluations that run, of the process.
var roomy atomic.Int32

// growStack makes room on the stack of a new goroutine, while there is nothing on it.
// It would else be doubled, and moved with all its frames, several times in the middle
// of an evaluation, which can cost more than the evaluation.
//
//go:noinline
func growStack() byte {
	if len(os.Args) > 0 { // always, which the compiler does not know
		return 0 // the room is there now, and none of it has been written to
	}
	var frame [stackBytes]byte
	return frame[len(os.Args)%stackBytes]
}

// recovered asks one policy that is not in quarantine.
func recovered[T any](i int, p *policy, ask func(i int) T, failed func(i int, err evalError) T) (result T) {
	defer func() {
		if cause := recover(); cause != nil {
			result = failed(i, evalError{message: fmt.Sprintf("internal error: %v\n%s", cause, debug.Stack())})
		}
	}()
	if p.quarantine.active() {
		return failed(i, evalError{
			message: "it is in quarantine, because it did not stop at its deadline; correct it, or delete its source",
			limit:   "quarantine",
		})
	}
	return ask(i)
}
