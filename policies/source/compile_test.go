package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// TestMain makes the test binary its own compiler and tester.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == CompileArgument {
		os.Exit(CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == TestArgument {
		os.Exit(TestChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// patience is the timeout of a child whose timeout is not the subject: the machine may be
// busy.
const patience = 10 * time.Minute

func testCompiler(t testing.TB, timeout time.Duration) *CachingCompiler {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return NewCompiler(program, timeout)
}

func TestCompileApart(t *testing.T) {
	compiler := testCompiler(t, patience)
	set, err := compiler.Compile(t.Context(), definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}})
	require.NoError(t, err)
	require.Equal(t, 1, set.Policies())

	_, err = compiler.Compile(t.Context(), definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\n}"}})
	var errs definition.CompileErrorList
	require.ErrorAs(t, err, &errs)
	require.Equal(t, 2, errs[0].Line)
}

// TestCompilingIsBounded: what no count of the text foretells ends at the limit of time.
func TestCompilingIsBounded(t *testing.T) {
	rego := "package p\nimport rego.v1\ndeny contains \"x\" if {\n"
	for i := range 2000 { // each needs what the next gives: OPA puts them in order for minutes
		rego += fmt.Sprintf("\tx%d = x%d + 1\n", i, i+1)
	}
	rego += "\tx2000 = 1\n}\n"
	compiler := testCompiler(t, time.Second)
	compiler.fair = time.Nanosecond // however busy the machine is
	_, err := compiler.Compile(t.Context(), definition.Source{Name: "s", Files: map[string]string{"p.rego": rego}})
	require.ErrorAs(t, err, new(definition.CompileErrorList))
	require.ErrorContains(t, err, "compiling takes longer than 1s")
	require.Empty(t, compiler.results.list, "what took too long is tried again when it is asked for again")
}

// TestABusyMachineSaysNothingAboutTheSource: this child gets no processor at all.
func TestABusyMachineSaysNothingAboutTheSource(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sleeping")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700))
	_, err := NewCompiler(program, 200*time.Millisecond).Compile(t.Context(), definition.Source{})
	require.ErrorContains(t, err, "the machine is busy")
	require.NotErrorAs(t, err, new(definition.CompileErrorList))
}

func TestACompilerThatCannotStartSaysNothingAboutTheSource(t *testing.T) {
	_, err := NewCompiler("/nowhere", time.Second).Compile(t.Context(), definition.Source{})
	require.Error(t, err)
	require.NotErrorAs(t, err, new(definition.CompileErrorList))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = testCompiler(t, patience).Compile(ctx, definition.Source{})
	require.NotErrorAs(t, err, new(definition.CompileErrorList))
}

// TestARevisionIsCompiledOnce on its way from the webhook to the loader.
func TestARevisionIsCompiledOnce(t *testing.T) {
	compiler := testCompiler(t, patience)
	source := definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}}
	evaluated, err := compiler.Compile(t.Context(), source)
	require.NoError(t, err)
	again, err := compiler.Compile(t.Context(), source)
	require.NoError(t, err)
	require.Same(t, evaluated, again)
	source.Revision = source.Digest() // as the status has it
	loaded, err := compiler.Load(t.Context(), source)
	require.NoError(t, err)
	require.Same(t, evaluated, loaded)

	for name, change := range map[string]func(*definition.Source){
		"files":      func(s *definition.Source) { s.Files = map[string]string{"p.rego": "package p\ndeny contains \"y\""} },
		"parameters": func(s *definition.Source) { s.Parameters = []byte(`{"a": 1}`) },
		"failure":    func(s *definition.Source) { s.FailurePolicy = definition.Ignore },
		"name":       func(s *definition.Source) { s.Name = "other" },
		"scope":      func(s *definition.Source) { s.Scope.Namespaces = []string{"a"} },
	} {
		other := source
		change(&other)
		set, err := compiler.Load(t.Context(), other)
		require.NoError(t, err)
		require.NotSame(t, evaluated, set, name)
	}
}

func TestOneSourceCompilesHereAtATime(t *testing.T) {
	compiler := testCompiler(t, patience)
	source := definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}}
	compiler.compiling <- struct{}{} // another one does
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compiler.Load(ctx, source)
	require.ErrorIs(t, err, context.Canceled)
	<-compiler.compiling
	_, err = compiler.Load(t.Context(), source)
	require.NoError(t, err)
}
