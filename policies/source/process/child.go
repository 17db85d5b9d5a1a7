package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Limit is a limit of a child.
type Limit string

// The limits of a child.
const (
	LimitTime   Limit = "time"
	LimitMemory Limit = "memory"
	LimitOutput Limit = "output"
)

// LimitError reports the limit that ended a child.
type LimitError struct {
	Limit   Limit
	message string
	// Messages is the start of what the child wrote to its standard error.
	Messages string
}

// Error describes the limit, for example "more than 64 MiB of memory".
func (e *LimitError) Error() string { return e.message }

// Child is a child process that runs Program with one argument. The child calls Serve or
// ServeConversation.
type Child struct {
	Program, Argument string
	Timeout           time.Duration
	// MemoryBytes bounds the heap.
	MemoryBytes int64
	// OutputBytes bounds the output that is read from the child.
	OutputBytes int64
	// MinCPU is the CPU time below which a timeout is attributed to a busy machine instead of
	// the work. 0 is for work that waits for a network.
	MinCPU time.Duration
	// Variables are the names of additional environment variables that the child inherits.
	Variables []string
}

// Run sends one request in JSON and reads the answer. The error is a *LimitError if the child
// reached a limit.
func (c Child) Run(ctx context.Context, request, answer any) error {
	return c.Converse(ctx, func(_ context.Context, requests *json.Encoder, answers *json.Decoder) error {
		return Exchange(requests, answers, request, answer)
	})
}

// Exchange sends one request of a conversation and reads its answer.
func Exchange(requests *json.Encoder, answers *json.Decoder, request, answer any) error {
	if err := requests.Encode(request); err != nil {
		return fmt.Errorf("sending the request: %w", err)
	}
	if err := answers.Decode(answer); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// Converse starts the child and ends it after the conversation. Its error is as Run's.
func (c Child) Converse(ctx context.Context, conversation func(context.Context, *json.Encoder, *json.Decoder) error) error {
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.Program, c.Argument)
	command.WaitDelay = time.Second
	command.Env = environment(c.MemoryBytes, c.Variables...)
	stderr := &head{left: 1 << 10}
	command.Stderr = stderr
	stdin, errIn := command.StdinPipe()
	stdout, errOut := command.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	output := &io.LimitedReader{R: stdout, N: c.OutputBytes + 1}
	err := conversation(bounded, json.NewEncoder(stdin), json.NewDecoder(output))
	if output.N <= 0 {
		cancel() // the child may wait for a reader
		_ = command.Wait()
		return &LimitError{LimitOutput, fmt.Sprintf("more than %d MiB of output", c.OutputBytes>>20), string(stderr.text)}
	}
	stdin.Close() // the child ends, unless it has already
	err = errors.Join(command.Wait(), err)
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	case bounded.Err() != nil:
		if used := cpuTime(command); used < c.MinCPU {
			return fmt.Errorf("the child process had %s of CPU time in %s: the machine is busy; try again", used, c.Timeout)
		}
		return &LimitError{LimitTime, fmt.Sprintf("longer than %s", c.Timeout), string(stderr.text)}
	case command.ProcessState.ExitCode() == exitMemory, err != nil && outOfMemory(stderr.text):
		return &LimitError{LimitMemory, fmt.Sprintf("more than %d MiB of memory", c.MemoryBytes>>20), string(stderr.text)}
	case err != nil:
		return fmt.Errorf("%w: %s", err, stderr.text)
	}
	return nil
}

// cpuTime is the CPU time of a command, 0 if it did not start.
func cpuTime(command *exec.Cmd) time.Duration {
	if command.ProcessState == nil {
		return 0
	}
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// outOfMemory reports whether the system refused memory to a process, by the messages of
// the Go runtime and of the race detector.
func outOfMemory(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("out of memory")) || bytes.Contains(stderr, []byte("failed to allocate")) || bytes.Contains(stderr, []byte("cannot allocate memory"))
}

// head stores the first bytes that are written to it.
type head struct {
	left int
	text []byte
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	stored := p[:min(len(p), h.left)]
	h.left -= len(stored)
	h.text = append(h.text, stored...)
	return len(p), nil
}
