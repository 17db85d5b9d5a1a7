package source

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	var errs engine.CompileErrors
	apart := child{c.program, CompileArgument, c.timeout, maxCompileBytes}
	if err := apart.run(ctx, source, &errs); err != nil {
		if limit, ok := errors.AsType[*childLimit](err); ok {
			return tooMuch("takes %s", limit)
		}
		return fmt.Errorf("compiling in a process of its own: %w", err)
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
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
	return serveChild(stdin, stdout, stderr, maxCompileBytes, func(source engine.Source) (any, error) {
		errs := engine.CompileErrors{}
		if _, err := Compile(source); err != nil && !errors.As(err, &errs) {
			return nil, err
		}
		return errs, nil
	})
}
