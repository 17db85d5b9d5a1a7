package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lintel-policy/lintel/policies/source/process"
)

const (
	// FetchArgument is the argument with which a Fetcher starts its program: the program
	// calls FetchChild and does nothing else.
	FetchArgument = "fetch-source"
	// answerBytes bounds the output of a child per byte of content: JSON needs at most six bytes
	// for one.
	answerBytes = 6
)

// Fetcher fetches in a child process: a server may send what unpacks to more than any
// machine has, or never end, and a process can be stopped.
type Fetcher struct {
	program string
	// running has room for as many as may fetch at a time.
	running chan struct{}
}

// NewFetcher makes a Fetcher that starts a program, usually os.Executable, with
// FetchArgument; at most so many at a time.
func NewFetcher(program string, atATime int) *Fetcher {
	return &Fetcher{program: program, running: make(chan struct{}, atATime)}
}

// reply is what the child writes.
type reply struct {
	Answer *Answer `json:"answer,omitempty"`
	Error  *Error  `json:"error,omitempty"`
}

// Fetch asks an origin. An error of the type *Error is about the origin.
func (f *Fetcher) Fetch(ctx context.Context, request Request) (*Answer, error) {
	request.Limits = cmp.Or(request.Limits, DefaultLimits)
	select {
	case f.running <- struct{}{}:
		defer func() { <-f.running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	child := process.Child{
		Program: f.program, Argument: FetchArgument, Timeout: request.Limits.Time,
		MemoryBytes: request.Limits.MemoryBytes, OutputBytes: answerBytes*request.Limits.TotalBytes + 1<<20,
		Variables: process.NetworkVariables,
	}
	var got reply
	err := child.Run(ctx, request, &got)
	if limit, ok := errors.AsType[*process.LimitError](err); ok {
		if limit.Limit == process.LimitTime {
			return nil, tooSlow(request, phaseIn(limit.Messages))
		}
		return nil, refuse(ReasonTooLarge, "%s needs %s to unpack: keep policies in a repository of their own", addressOf(request), limit)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("fetching in a child process: %w", err)
	case got.Error != nil:
		return nil, got.Error
	}
	return got.Answer, nil
}

// FetchChild is the child process of a Fetcher: it reads a Request, fetches, and writes the
// files. It returns the exit code.
func FetchChild(stdin io.Reader, stdout, stderr io.Writer) int {
	return process.Serve(stdin, stdout, stderr, func(request Request) (any, error) {
		if err := trustMozillasRoots(); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), request.Limits.Time)
		defer cancel()
		request.progress = &progress{out: stderr}
		request.progress.reach(phaseAsking)
		got, err := fetch(ctx, request)
		out := reply{Answer: got}
		if err != nil && !errors.As(err, &out.Error) {
			out.Error = &Error{Reason: ReasonFetchFailed, Message: err.Error()}
		}
		return out, nil
	})
}

// fetch fetches in this process.
func fetch(ctx context.Context, request Request) (answer *Answer, err error) {
	switch {
	case request.HTTPS != nil:
		answer, err = fetchHTTPS(ctx, request)
	case request.OCI != nil:
		answer, err = fetchOCI(ctx, request)
	default:
		answer, err = fetchGit(ctx, request)
	}
	if request.Data == nil {
		return answer, err
	}
	if err != nil {
		return nil, aboutData(err, request)
	}
	if answer.Files == nil {
		return answer, nil
	}
	return answer, checkData(answer, request)
}
