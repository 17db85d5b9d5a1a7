package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// CompileArgument is the argument with which a Compiler starts its program: the
	// program calls CompileChild and does nothing else.
	CompileArgument = "compile-source"
	// maxCompileBytes is how much memory compiling a source may take.
	maxCompileBytes = 512 << 20
	// childTooLarge is the exit code of a child that needed more.
	childTooLarge = 3
)

// Compiler compiles sources, first in a child process: OPA's compiler can be made to
// run for hours and cannot be stopped, and a process can. What the child has
// compiled in time, this process can compile, too.
//
// A source that is asked for again while it is on its way from the webhook through
// the gate to the loader is compiled once: results are kept by the identity of the
// source, in this process alone.
type Compiler struct {
	program string
	timeout time.Duration
	results results
	// Schemas, where set, are what references of policies are checked against.
	Schemas Schemas
	// Unchecked, where set, hears of sources whose references could not be checked.
	Unchecked func(source string, why error)
	clean     cleanKeys
	// here has room for one: where two compile in this process, requests wait.
	here chan struct{}
}

// NewCompiler makes a Compiler that starts a program, usually os.Executable, with
// CompileArgument; the timeout bounds one child.
func NewCompiler(program string, timeout time.Duration) *Compiler {
	return &Compiler{program: program, timeout: timeout, here: make(chan struct{}, 1)}
}

// Compile is engine.Compile within the limits. An error that is no
// engine.CompileErrors says nothing about the source.
func (c *Compiler) Compile(ctx context.Context, source engine.Source) (*engine.PolicySet, error) {
	return c.results.get(ctx, source, func() (*engine.PolicySet, error) {
		var here sync.WaitGroup
		var set *engine.PolicySet
		var errHere error
		err := c.compileApart(ctx, source, func() {
			here.Go(func() { set, errHere = c.compileHere(ctx, source) })
		})
		here.Wait()
		if err != nil {
			return nil, err
		}
		return set, errHere
	})
}

// Load is Compile without a child, for a source that passed the gate in another
// process.
func (c *Compiler) Load(ctx context.Context, source engine.Source) (*engine.PolicySet, error) {
	return c.results.get(ctx, source, func() (*engine.PolicySet, error) {
		return c.compileHere(ctx, source)
	})
}

// Forget ends the keeping of a set that is live now, and of what came before it.
func (c *Compiler) Forget(set *engine.PolicySet) { c.results.forget(set) }

func (c *Compiler) compileHere(ctx context.Context, source engine.Source) (*engine.PolicySet, error) {
	select {
	case c.here <- struct{}{}:
		defer func() { <-c.here }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to compile: %w", ctx.Err())
	}
	return engine.Compile(source)
}

// compileApart compiles in a child and checks the references there: nil where the
// source compiles within the limits. It calls compiled as soon as that is known, while
// the references are checked.
func (c *Compiler) compileApart(ctx context.Context, source engine.Source, compiled func()) error {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.program, CompileArgument)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", maxCompileBytes))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	done := false
	err := c.converse(bounded, command, source, func() {
		done = true
		compiled()
	})
	switch {
	case err == nil || errors.As(err, new(engine.CompileErrors)):
		return err
	case done: // a child that ends while it checks references has found none wrong
		if c.Unchecked != nil {
			c.Unchecked(source.Name, err)
		}
		return nil
	case ctx.Err() == nil && bounded.Err() != nil:
		if used := processorTime(command.ProcessState); used < c.timeout/4 {
			return fmt.Errorf("compiling got %s of the processor in %s, which says nothing about the policies: the machine is busy; try again", used, c.timeout)
		}
		return tooMuch("takes longer than %s", c.timeout)
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge:
		return tooMuch("takes more than %d MiB of memory", maxCompileBytes>>20)
	default:
		return fmt.Errorf("compiling in a process of its own: %w: %s", err, stderr.Bytes()[:min(stderr.Len(), 1024)])
	}
}

// converse runs a child to its end. It calls compiled once the child has compiled the
// source; what comes after that is about its references.
func (c *Compiler) converse(ctx context.Context, command *exec.Cmd, source engine.Source, compiled func()) (err error) {
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	defer func() {
		stdin.Close()
		err = errors.Join(err, command.Wait())
	}()
	ask, answers := json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := ask.Encode(source); err != nil {
		return fmt.Errorf("handing the source to the compiler: %w", err)
	}
	var answer childAnswer
	if err := answers.Decode(&answer); err != nil {
		return fmt.Errorf("reading what the compiler found: %w", err)
	}
	if len(answer.Errors) > 0 {
		return answer.Errors
	}
	compiled()
	if c.Schemas == nil {
		return nil
	}
	request := referenceRequest{Checks: referenceChecks(ctx, c.Schemas, answer.Matches), Clean: c.clean.of(source.Name)}
	if len(request.Checks) == 0 {
		return nil
	}
	if err := ask.Encode(request); err != nil {
		return fmt.Errorf("handing the schemas to the compiler: %w", err)
	}
	var found referenceAnswer
	if err := answers.Decode(&found); err != nil {
		return fmt.Errorf("reading which references are wrong: %w", err)
	}
	c.clean.keep(source.Name, found.Clean)
	if len(found.Errors) > 0 {
		return referenceErrors{found.Errors}
	}
	return nil
}

// referenceErrors are the engine.CompileErrors of references that are wrong by the
// schemas of now.
type referenceErrors struct{ engine.CompileErrors }

// Unwrap gives the errors as engine.CompileErrors.
func (e referenceErrors) Unwrap() error { return e.CompileErrors }

func processorTime(ended *os.ProcessState) time.Duration {
	if ended == nil { // it never started
		return 0
	}
	return ended.UserTime() + ended.SystemTime()
}

// limitError is the engine.CompileErrors of a source that takes too much to compile.
type limitError struct{ engine.CompileErrors }

// Unwrap gives the errors as engine.CompileErrors.
func (e limitError) Unwrap() error { return e.CompileErrors }

func tooMuch(format string, args ...any) error {
	return limitError{engine.CompileErrors{{Message: "compiling " + fmt.Sprintf(format, args...) +
		": values that contain each other many times over have types that grow without bound; take them apart"}}}
}

// CompileChild is what the child does: it reads a source, compiles it and writes the
// errors. It returns the exit code.
func CompileChild(stdin io.Reader, stdout, stderr io.Writer) int {
	yieldToOthers()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // it lives too briefly to be worth more
	debug.SetMaxStack(maxCompileBytes)
	go exitWhenTooLarge()
	requests, answers := json.NewDecoder(stdin), json.NewEncoder(stdout)
	if err := answerRequests(requests, answers); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// childAnswer is what the child says of a source.
type childAnswer struct {
	Errors  engine.CompileErrors `json:"errors"`
	Matches []matched            `json:"matches"`
}

// answerRequests compiles the source that is asked for, and then checks its references
// if the parent has schemas for that.
func answerRequests(requests *json.Decoder, answers *json.Encoder) error {
	var source engine.Source
	if err := requests.Decode(&source); err != nil {
		return err
	}
	var answer childAnswer
	set, err := engine.Compile(source)
	if err != nil && !errors.As(err, &answer.Errors) {
		return err
	}
	if err == nil {
		answer.Matches = matchesOf(set)
	}
	if err := answers.Encode(answer); err != nil {
		return err
	}
	var request referenceRequest
	if err := requests.Decode(&request); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	found, err := checkReferences(set, answer.Matches, request)
	if err != nil {
		return err
	}
	return answers.Encode(found)
}

// exitWhenTooLarge ends the process before the machine runs out of memory.
func exitWhenTooLarge() {
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc > maxCompileBytes {
			os.Exit(childTooLarge)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
