package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"
)

// childTooLarge is the exit code of a child that needed too much memory.
const childTooLarge = 3

// child is a program that is started with one argument, reads a request in JSON, and
// writes its answer: what cannot be stopped in this process can be ended there.
type child struct {
	program, argument string
	timeout           time.Duration
	bytes             int // of memory
}

// childLimit is what a child took too much of.
type childLimit struct{ what string }

// Error says what that is.
func (l *childLimit) Error() string { return l.what }

// run gives the child's answer. The error is a *childLimit where it reached a limit.
func (c child) run(ctx context.Context, request, answer any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("handing it over: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.program, c.argument)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", c.bytes))
	command.Stdin = bytes.NewReader(text)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	switch {
	case ctx.Err() == nil && bounded.Err() != nil:
		if used := processorTime(command.ProcessState); used < c.timeout/4 {
			return fmt.Errorf("it got %s of the processor in %s, which says nothing about the policies: the machine is busy; try again", used, c.timeout)
		}
		return &childLimit{fmt.Sprintf("longer than %s", c.timeout)}
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge:
		return &childLimit{fmt.Sprintf("more than %d MiB of memory", c.bytes>>20)}
	case err != nil:
		return fmt.Errorf("%w: %s", err, stderr.Bytes()[:min(stderr.Len(), 1024)])
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return fmt.Errorf("reading what it found: %w", err)
	}
	return nil
}

func processorTime(ended *os.ProcessState) time.Duration {
	if ended == nil { // it never started
		return 0
	}
	return ended.UserTime() + ended.SystemTime()
}

// serveChild is what a child does: it reads a request, and writes the answer of the
// work. It returns the exit code.
func serveChild[Request any](stdin io.Reader, stdout, stderr io.Writer, bytes uint64, work func(Request) (any, error)) int {
	yieldToOthers()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // it lives too briefly to be worth more
	debug.SetMaxStack(int(bytes))
	go exitWhenTooLarge(bytes)
	var request Request
	if err := json.NewDecoder(stdin).Decode(&request); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	answer, err := work(request)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if err := json.NewEncoder(stdout).Encode(answer); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// exitWhenTooLarge ends the process before the machine runs out of memory.
func exitWhenTooLarge(bytes uint64) {
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc > bytes {
			os.Exit(childTooLarge)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
