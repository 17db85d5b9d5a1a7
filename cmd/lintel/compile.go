package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/schema"
	"github.com/lintel-policy/lintel/policies/source/schema/offline"
)

// thisProgram is the path of what a Compiler and a Tester start.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program, to compile and test in processes of their own: %w", err)
	}
	return program, nil
}

// compileWithinLimits compiles a source that a cluster has taken, as the manager does,
// first in a process of its own: what a cluster would refuse for taking too much must not
// hold this command either.
func compileWithinLimits(candidate definition.Source) (*engine.PolicySet, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	return source.NewCompiler(program, testsTimeout).Compile(context.Background(), candidate)
}

// gateCompiler compiles a source that a cluster has yet to take: it refuses references to
// what no kind of Kubernetes, of Lintel or of the definitions has, too. Where these cannot be
// checked, unchecked is told why.
func gateCompiler(definitions []*schema.Definition, unchecked func(message string)) (*source.Compiler, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	compiler := source.NewCompiler(program, testsTimeout)
	compiler.Schemas = offline.NewKinds(definitions...)
	compiler.Unchecked = func(_ string, why error) { unchecked(fmt.Sprintf("references are not checked: %v", why)) }
	return compiler, nil
}
