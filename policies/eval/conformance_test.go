//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package eval

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

// TestConformance asks all cases of OPA's own conformance tests, of Rego v1 and v0.
func TestConformance(t *testing.T) {
	rego.RegisterBuiltin1(&rego.Function{Name: "test.sleep", Decl: types.NewFunction(types.Args(types.S), types.NewNull())},
		func(rego.BuiltinContext, *ast.Term) (*ast.Term, error) { return ast.InternedNullTerm, nil })
	opa, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
	require.NoError(t, err)
	for _, version := range []struct {
		name  string
		rego  ast.RegoVersion
		least int
	}{
		{"v1", ast.RegoV1, 2300},
		{"v0", ast.RegoV0, 1900},
	} {
		t.Run(version.name, func(t *testing.T) {
			asked := 0
			folder := filepath.Join(strings.TrimSpace(string(opa)), "v1/test/cases/testdata", version.name)
			require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				var set cases.Set
				require.NoError(t, util.Unmarshal(text, &set), path)
				for _, one := range set.Cases {
					if strings.Contains(strings.Join(one.Modules, " ")+one.Query, "http.send") {
						continue
					}
					asked++
					if wrong := conforms(t, one, version.rego); wrong != "" {
						t.Errorf("%s: %s: %s", filepath.Base(path), one.Note, wrong)
					}
				}
				return nil
			}))
			require.Greater(t, asked, version.least)
		})
	}
}

// conforms returns the error in the answer to a case: "" if the answer is correct.
func conforms(t *testing.T, one cases.TestCase, version ast.RegoVersion) (wrong string) {
	defer func() {
		if cause := recover(); cause != nil {
			wrong = fmt.Sprint("panic: ", cause)
		}
	}()
	for name, value := range one.Env {
		t.Setenv(name, value)
	}
	program, err := programOf(one, version)
	if err != nil {
		return err.Error()
	}
	options := Options{Now: time.Now(), Strict: one.StrictError, Limits: Limits{Steps: 50_000_000, Bytes: 1 << 30}}
	if one.Data != nil {
		options.Data = ObjectDocument(ast.MustInterfaceToValue(map[string]any(*one.Data)).(ast.Object))
	}
	switch {
	case one.InputTerm != nil:
		options.Input = ast.MustParseTerm(*one.InputTerm)
	case one.Input != nil:
		options.Input = ast.NewTerm(ast.MustInterfaceToValue(*one.Input))
	}
	results, _, err := program.RunQuery(t.Context(), options)
	return asExpected(one, results, err)
}

func programOf(one cases.TestCase, version ast.RegoVersion) (*Program, error) {
	options := ast.ParserOptions{RegoVersion: version}
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	if one.ExperimentalKeywords {
		options.Capabilities = ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(true))
		compiler = compiler.WithCapabilities(options.Capabilities)
	}
	modules := map[string]*ast.Module{}
	for i, text := range one.Modules {
		name := fmt.Sprintf("test-%d.rego", i)
		module, err := ast.ParseModuleWithOpts(name, text, options)
		if err != nil {
			return nil, err
		}
		modules[name] = module
	}
	if compiler.Compile(modules); compiler.Failed() {
		return nil, compiler.Errors
	}
	store := inmem.New()
	if one.Data != nil {
		store = inmem.NewFromObject(*one.Data)
	}
	query, err := ast.ParseBodyWithOpts(one.Query, options)
	if err != nil {
		return nil, err
	}
	planned, err := plan.Query(compiler, query, rego.Store(store))
	if err != nil {
		return nil, err
	}
	return Compile(planned, StandardFunctions, CompileOptions{Capabilities: options.Capabilities})
}

func asExpected(one cases.TestCase, results []*ast.Term, err error) string {
	failure, _ := err.(*topdown.Error)
	switch {
	case one.WantError != nil && err == nil:
		return "no error, but want " + *one.WantError
	case one.WantError != nil && !strings.Contains(err.Error(), *one.WantError):
		return fmt.Sprintf("want error %q, got %q", *one.WantError, err)
	case one.WantErrorCode != nil && (failure == nil || failure.Code != *one.WantErrorCode):
		return fmt.Sprintf("want error code %s, got %v", *one.WantErrorCode, err)
	case err != nil && one.WantError == nil && one.WantErrorCode == nil:
		return err.Error()
	case one.WantResult == nil || err != nil:
		return ""
	}
	want, got := ast.NewSet(), ast.NewSet()
	for _, bindings := range *one.WantResult {
		object := ast.NewObject()
		for name, value := range bindings {
			object.Insert(ast.StringTerm(name), ast.NewTerm(ast.MustInterfaceToValue(value)))
		}
		want.Add(ast.NewTerm(object))
	}
	for _, bindings := range results {
		object := ast.NewObject()
		bindings.Value.(ast.Object).Foreach(func(name, term *ast.Term) {
			value, err := ast.JSON(term.Value)
			if err != nil {
				panic(err)
			}
			if one.SortBindings {
				slices.SortFunc(value.([]any), util.Compare)
			}
			if !one.IgnoreGeneratedVars || !strings.HasPrefix(string(name.Value.(ast.String)), "__localq") {
				object.Insert(name, ast.NewTerm(ast.MustInterfaceToValue(value)))
			}
		})
		got.Add(ast.NewTerm(object))
	}
	if want.Compare(got) != 0 {
		return fmt.Sprintf("want %v, got %v", want, got)
	}
	return ""
}
