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
	"time"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
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
	// here has room for one: where two compile in this process, requests wait.
	here chan struct{}
}

// NewCompiler makes a Compiler that starts a program, usually os.Executable, with
// CompileArgument; the timeout bounds one child.
func NewCompiler(program string, timeout time.Duration) *Compiler {
	return &Compiler{program: program, timeout: timeout, here: make(chan struct{}, 1)}
}

// Compile is engine.Compile of all the forms of policy that a source may hold.
func Compile(source engine.Source) (*engine.PolicySet, error) {
	return engine.Compile(source, gatekeeper.Dialect)
}

// Compile is the function Compile within the limits. An error that is no
// engine.CompileErrors says nothing about the source.
func (c *Compiler) Compile(ctx context.Context, source engine.Source) (*engine.PolicySet, error) {
	return c.results.get(ctx, source, func() (*engine.PolicySet, error) {
		if err := c.compileApart(ctx, source); err != nil {
			return nil, err
		}
		return c.compileHere(ctx, source)
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
	return Compile(source)
}

// compileApart compiles in a child: nil where the source compiles within the limits.
func (c *Compiler) compileApart(ctx context.Context, source engine.Source) error {
	request, err := json.Marshal(source)
	if err != nil {
		return fmt.Errorf("handing the source to the compiler: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.program, CompileArgument)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", maxCompileBytes))
	command.Stdin = bytes.NewReader(request)
	var answer, stderr bytes.Buffer
	command.Stdout, command.Stderr = &answer, &stderr
	err = command.Run()
	switch {
	case ctx.Err() == nil && bounded.Err() != nil:
		if used := processorTime(command.ProcessState); used < c.timeout/4 {
			return fmt.Errorf("compiling got %s of the processor in %s, which says nothing about the policies: the machine is busy; try again", used, c.timeout)
		}
		return tooMuch("takes longer than %s", c.timeout)
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge:
		return tooMuch("takes more than %d MiB of memory", maxCompileBytes>>20)
	case err != nil:
		return fmt.Errorf("compiling in a process of its own: %w: %s", err, stderr.Bytes()[:min(stderr.Len(), 1024)])
	}
	var errs engine.CompileErrors
	if err := json.Unmarshal(answer.Bytes(), &errs); err != nil {
		return fmt.Errorf("reading what the compiler found: %w", err)
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

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
	var source engine.Source
	if err := json.NewDecoder(stdin).Decode(&source); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	errs := engine.CompileErrors{}
	if _, err := Compile(source); err != nil && !errors.As(err, &errs) {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if err := json.NewEncoder(stdout).Encode(errs); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
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
