package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// compileWithinLimits compiles a source as the manager does, first in a process of its
// own: what a cluster would refuse for taking too much must not hold this command
// either.
func compileWithinLimits(candidate engine.Source) (*engine.PolicySet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to compile in a process of its own: %w", err)
	}
	return source.NewCompiler(program, testsTimeout).Compile(context.Background(), candidate)
}
