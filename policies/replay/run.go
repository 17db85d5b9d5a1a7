package replay

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/lintel-policy/lintel/policies/record"
)

// Evaluated is a request and its result, in the order of the requests. Err is about records that
// were skipped, or that cannot be read; Request is nil for the former.
type Evaluated struct {
	Request *Request
	Result  *Result
	Err     error
	done    chan struct{}
}

// Run evaluates requests with several goroutines, and calls each with the results in the order of
// the requests. skip is how many requests are not evaluated, because an earlier run has done so:
// each is called for the last of them without a result. It ends with the error of the requests,
// the context or each. Memory is bounded: a few requests for each goroutine.
func (r *Replayer) Run(ctx context.Context, requests iter.Seq2[*Request, error], workers int, skip int64, each func(*Evaluated) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *Evaluated)
	inOrder := make(chan *Evaluated, 8*workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for one := range work {
				one.Result, one.Err = r.Evaluate(ctx, one.Request)
				close(one.done)
			}
		})
	}
	running.Go(func() {
		defer close(inOrder)
		defer close(work)
		err := read(ctx, requests, skip, work, inOrder)
		if err != nil {
			cancel(err)
		}
	})
	err := collect(ctx, inOrder, each)
	if err != nil {
		cancel(err)
	}
	for one := range inOrder { // until the reader has ended
		<-one.done
	}
	running.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// read hands requests to the workers, and in their order to the collector.
func read(ctx context.Context, requests iter.Seq2[*Request, error], skip int64, work, inOrder chan<- *Evaluated) error {
	for request, err := range requests {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var skipped *record.SkippedError
		if err != nil && !errors.As(err, &skipped) {
			return err
		}
		one := &Evaluated{Request: request, Err: err, done: make(chan struct{})}
		switch {
		case err != nil && skip > 0:
			continue // an earlier run has counted it
		case err != nil:
			one.done = closed
		case skip > 1:
			skip--
			continue
		case skip == 1:
			skip--
			one.done = closed
		}
		select {
		case inOrder <- one:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if one.done == closed {
			continue
		}
		select {
		case work <- one:
		case <-ctx.Done():
			one.Err = context.Cause(ctx)
			close(one.done)
			return one.Err
		}
	}
	if skip > 0 {
		return ErrFewer
	}
	return nil
}

// ErrFewer reports that there are fewer requests than an earlier run has evaluated.
var ErrFewer = errors.New("there are fewer records than in the run that is resumed: some were deleted")

// collect passes results on until each returns an error.
func collect(ctx context.Context, inOrder <-chan *Evaluated, each func(*Evaluated) error) error {
	for one := range inOrder {
		<-one.done
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(one); err != nil {
			return err
		}
	}
	return nil
}
