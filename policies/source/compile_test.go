package source

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// TestMain makes the test binary its own compiler.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == CompileArgument {
		os.Exit(CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func testCompiler(t *testing.T) Compiler {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return Compiler{Program: program, Timeout: 30 * time.Second}
}

func TestCompileApart(t *testing.T) {
	compiler := testCompiler(t)
	set, err := compiler.Compile(t.Context(), engine.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}})
	require.NoError(t, err)
	require.Equal(t, 1, set.Policies())

	_, err = compiler.Compile(t.Context(), engine.Source{Name: "s", Files: map[string]string{"p.rego": "package p\n}"}})
	var errs engine.CompileErrors
	require.ErrorAs(t, err, &errs)
	require.Equal(t, 2, errs[0].Line)
}

// TestCompilingIsBounded: the types of these would keep OPA's type checker for
// hours.
func TestCompilingIsBounded(t *testing.T) {
	rego := "package p\ndeny contains \"x\" if [x40, 1] = [y40, 1]\nx0 := 1\ny0 := 1\n"
	for i := 1; i <= 40; i++ {
		rego += fmt.Sprintf("x%d := [x%d, x%d]\ny%d := [y%d, y%d]\n", i, i-1, i-1, i, i-1, i-1)
	}
	compiler := testCompiler(t)
	compiler.Timeout = time.Second
	start := time.Now()
	_, err := compiler.Compile(t.Context(), engine.Source{Name: "s", Files: map[string]string{"p.rego": rego}})
	require.ErrorContains(t, err, "compiling takes ")
	require.IsType(t, engine.CompileErrors{}, err)
	require.Less(t, time.Since(start), 20*time.Second)
}

func TestACompilerThatCannotStartSaysNothingAboutTheSource(t *testing.T) {
	_, err := Compiler{Program: "/nowhere", Timeout: time.Second}.Compile(t.Context(), engine.Source{})
	require.Error(t, err)
	require.NotErrorAs(t, err, new(engine.CompileErrors))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = testCompiler(t).Compile(ctx, engine.Source{})
	require.NotErrorAs(t, err, new(engine.CompileErrors))
}
