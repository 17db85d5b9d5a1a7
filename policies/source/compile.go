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
type Compiler struct {
	// Program is started with CompileArgument; usually os.Executable.
	Program string
	// Timeout bounds one child.
	Timeout time.Duration
}

// Compile is engine.Compile within the limits. An error that is no
// engine.CompileErrors says nothing about the source.
func (c Compiler) Compile(ctx context.Context, source engine.Source) (*engine.PolicySet, error) {
	request, err := json.Marshal(source)
	if err != nil {
		return nil, fmt.Errorf("handing the source to the compiler: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	command := exec.CommandContext(bounded, c.Program, CompileArgument)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", maxCompileBytes))
	command.Stdin = bytes.NewReader(request)
	var answer, stderr bytes.Buffer
	command.Stdout, command.Stderr = &answer, &stderr
	err = command.Run()
	switch {
	case ctx.Err() == nil && bounded.Err() != nil:
		return nil, tooMuch("takes longer than %s", c.Timeout)
	case command.ProcessState != nil && command.ProcessState.ExitCode() == childTooLarge:
		return nil, tooMuch("takes more than %d MiB of memory", maxCompileBytes>>20)
	case err != nil:
		return nil, fmt.Errorf("compiling in a process of its own: %w: %s", err, stderr.Bytes()[:min(stderr.Len(), 1024)])
	}
	var errs engine.CompileErrors
	if err := json.Unmarshal(answer.Bytes(), &errs); err != nil {
		return nil, fmt.Errorf("reading what the compiler found: %w", err)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return engine.Compile(source)
}

func tooMuch(format string, args ...any) error {
	return engine.CompileErrors{{Message: "compiling " + fmt.Sprintf(format, args...) +
		": values that contain each other many times over have types that grow without bound; take them apart"}}
}

// CompileChild is what the child does: it reads a source, compiles it and writes the
// errors. It returns the exit code.
func CompileChild(stdin io.Reader, stdout, stderr io.Writer) int {
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(maxCompileBytes)
	go exitWhenTooLarge()
	var source engine.Source
	if err := json.NewDecoder(stdin).Decode(&source); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	errs := engine.CompileErrors{}
	if _, err := engine.Compile(source); err != nil && !errors.As(err, &errs) {
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
