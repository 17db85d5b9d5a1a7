package origin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lintel-policy/lintel/policies/source/process"
)

const (
	// FetchArgument is the argument with which a Fetcher starts its program: the program
	// calls FetchChild and does nothing else.
	FetchArgument = "fetch-source"
	// childTooLarge is the exit code of a child that needed more memory.
	childTooLarge = 3
	// answerBytes bounds what is read from a child: JSON takes at most six bytes for one.
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
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("handing over what to fetch: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, request.Limits.Time)
	defer cancel()
	command := exec.CommandContext(bounded, f.program, FetchArgument)
	command.WaitDelay = time.Second
	command.Env = process.Environment(request.Limits.MemoryBytes, process.NetworkVariables...)
	command.Stdin = bytes.NewReader(text)
	answer := &limitedBuffer{left: answerBytes*request.Limits.TotalBytes + 1<<20}
	stderr := &limitedBuffer{left: 1 << 10}
	command.Stdout, command.Stderr = answer, stderr
	err = command.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, tooSlow(request)
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge, ranOut(stderr.text):
		return nil, refuse(ReasonTooLarge, "%s needs more than %d MiB of memory to unpack: keep policies in a repository of their own", addressOf(request), request.Limits.MemoryBytes>>20)
	case err != nil:
		return nil, fmt.Errorf("fetching in a process of its own: %w: %s", err, stderr.text)
	}
	var got reply
	if err := json.Unmarshal(answer.text, &got); err != nil {
		return nil, fmt.Errorf("reading what was fetched: %w", err)
	}
	if got.Error != nil {
		return nil, got.Error
	}
	return got.Answer, nil
}

// ranOut says whether a process ended because the system gave it no more memory: the
// words of the runtime, and of the race detector.
func ranOut(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("out of memory")) || bytes.Contains(stderr, []byte("failed to allocate"))
}

// limitedBuffer keeps the beginning of what is written.
type limitedBuffer struct {
	left int64
	text []byte
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	kept := p[:min(int64(len(p)), b.left)]
	b.left -= int64(len(kept))
	b.text = append(b.text, kept...)
	return len(p), nil
}

// FetchChild is what the child does: it reads a Request, fetches and writes what it
// found. It returns the exit code.
func FetchChild(stdin io.Reader, stdout, stderr io.Writer) int {
	var request Request
	if err := json.NewDecoder(stdin).Decode(&request); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if err := trustMozillasRoots(); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	limitMemory(request.Limits.MemoryBytes)
	go exitWhenTooLarge(uint64(request.Limits.MemoryBytes))
	ctx, cancel := context.WithTimeout(context.Background(), request.Limits.Time)
	defer cancel()
	got, err := fetch(ctx, request)
	out := reply{Answer: got}
	if err != nil && !errors.As(err, &out.Error) {
		out.Error = &Error{Reason: ReasonFetchFailed, Message: err.Error()}
	}
	if err := json.NewEncoder(stdout).Encode(out); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// fetch fetches in this process.
func fetch(ctx context.Context, request Request) (*Answer, error) {
	if request.OCI != nil {
		return fetchOCI(ctx, request)
	}
	return fetchGit(ctx, request)
}

// exitWhenTooLarge ends the process in a way that says why. What grows faster than it
// looks meets the system's limit.
func exitWhenTooLarge(limit uint64) {
	debug.SetMaxStack(int(limit / 4))
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc > limit {
			os.Exit(childTooLarge)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
