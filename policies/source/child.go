package source

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

// childTooLarge is the exit code of a child that needed too much memory.
const childTooLarge = 3

// child is a program that is started with one argument, reads a request in JSON, and
// writes its answer: what cannot be stopped in this process can be ended there.
type child struct {
	program, argument string
	timeout           time.Duration
	bytes             int // of memory
	// fair is the processor time without which the timeout says nothing about the work: the
	// machine was busy. 0 means a quarter of the timeout.
	fair time.Duration
}

// childLimit is what a child took too much of.
type childLimit struct{ what string }

// Error says what that is.
func (l *childLimit) Error() string { return l.what }

// run gives the child's answer. The error is a *childLimit where it reached a limit.
func (c child) run(ctx context.Context, request, answer any) error {
	return c.talk(ctx, func(_ context.Context, ask *json.Encoder, answers *json.Decoder) error {
		return exchange(ask, answers, request, answer)
	})
}

// exchange asks one thing.
func exchange(ask *json.Encoder, answers *json.Decoder, request, answer any) error {
	if err := ask.Encode(request); err != nil {
		return fmt.Errorf("handing it over: %w", err)
	}
	if err := answers.Decode(answer); err != nil {
		return fmt.Errorf("reading what it found: %w", err)
	}
	return nil
}

// talk starts the child and ends it when the conversation has ended. The error is as
// that of run.
func (c child) talk(ctx context.Context, conversation func(context.Context, *json.Encoder, *json.Decoder) error) error {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.program, c.argument)
	command.WaitDelay = time.Second
	command.Env = process.Environment(int64(c.bytes))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdin, errIn := command.StdinPipe()
	stdout, errOut := command.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err := conversation(bounded, json.NewEncoder(stdin), json.NewDecoder(stdout))
	stdin.Close() // the child ends, unless it has already
	err = errors.Join(command.Wait(), err)
	switch {
	case ctx.Err() == nil && bounded.Err() != nil:
		if used := processorTime(command.ProcessState); used < cmp.Or(c.fair, c.timeout/4) {
			return fmt.Errorf("it got %s of the processor in %s, which says nothing about the policies: the machine is busy; try again", used, c.timeout)
		}
		return &childLimit{fmt.Sprintf("longer than %s", c.timeout)}
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge:
		return &childLimit{fmt.Sprintf("more than %d MiB of memory", c.bytes>>20)}
	case err != nil:
		return fmt.Errorf("%w: %s", err, stderr.Bytes()[:min(stderr.Len(), 1024)])
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
// work, within the memory that GOMEMLIMIT names. It returns the exit code.
func serveChild[Request any](stdin io.Reader, stdout, stderr io.Writer, work func(Request) (any, error)) int {
	return serveTalk(stdin, stdout, stderr, func(requests *json.Decoder, answers *json.Encoder) error {
		var request Request
		if err := requests.Decode(&request); err != nil {
			return err
		}
		answer, err := work(request)
		if err != nil {
			return err
		}
		return answers.Encode(answer)
	})
}

// serveTalk is serveChild for more than one request.
func serveTalk(stdin io.Reader, stdout, stderr io.Writer, answer func(requests *json.Decoder, answers *json.Encoder) error) int {
	bytes := debug.SetMemoryLimit(-1) // as it is
	yieldToOthers()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // it lives too briefly to be worth more
	debug.SetMaxStack(int(bytes))
	go exitWhenTooLarge(bytes)
	if err := answer(json.NewDecoder(stdin), json.NewEncoder(stdout)); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// exitWhenTooLarge ends the process before the machine runs out of memory.
func exitWhenTooLarge(bytes int64) {
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if int64(stats.HeapAlloc) > bytes {
			os.Exit(childTooLarge)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
