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
	return engine.Compile(source)
}

// compileApart compiles in a child and checks the references there: nil where the
// source compiles within the limits.
func (c *Compiler) compileApart(ctx context.Context, source engine.Source) error {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.program, CompileArgument)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", maxCompileBytes))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	compiled := false
	errs, err := c.converse(bounded, command, source, &compiled)
	switch {
	case errors.As(err, new(referenceErrors)):
		return err
	case len(errs) > 0:
		return errs
	case err == nil || compiled: // a child that ends while it checks references has found none wrong
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

// converse runs a child to its end. compiled is set once the child has compiled the
// source; what comes after that is about its references.
func (c *Compiler) converse(ctx context.Context, command *exec.Cmd, source engine.Source, compiled *bool) (errs engine.CompileErrors, err error) {
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	defer func() {
		stdin.Close()
		err = errors.Join(err, command.Wait())
	}()
	ask, answers := json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := ask.Encode(source); err != nil {
		return nil, fmt.Errorf("handing the source to the compiler: %w", err)
	}
	var answer childAnswer
	if err := answers.Decode(&answer); err != nil {
		return nil, fmt.Errorf("reading what the compiler found: %w", err)
	}
	if *compiled = len(answer.Errors) == 0; !*compiled || c.Schemas == nil {
		return answer.Errors, nil
	}
	checks := referenceChecks(ctx, c.Schemas, answer.Matches)
	if len(checks) == 0 {
		return nil, nil
	}
	if err := ask.Encode(checks); err != nil {
		return nil, fmt.Errorf("handing the schemas to the compiler: %w", err)
	}
	var wrong engine.CompileErrors
	if err := answers.Decode(&wrong); err != nil {
		return nil, fmt.Errorf("reading which references are wrong: %w", err)
	}
	if len(wrong) > 0 {
		return nil, referenceErrors{wrong}
	}
	return nil, nil
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
	var checks []ReferenceCheck
	if err := requests.Decode(&checks); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	modules, err := engine.Modules(source)
	if err != nil {
		return err
	}
	return answers.Encode(checkReferences(modules, answer.Matches, checks))
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
