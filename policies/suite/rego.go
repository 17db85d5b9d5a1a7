package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/lintel-policy/lintel/policies/engine"
)

const testFileSuffix = "_test.rego"

// runRego runs the rules named test_ of the Rego files, with OPA's own runner.
func (r *runner) runRego(ctx context.Context) error {
	modules, compiler, store, errs := engine.TestModules(r.source)
	if len(errs) > 0 {
		return errs
	}
	for name, module := range modules {
		if !strings.HasSuffix(name, testFileSuffix) {
			r.modules[name] = module
		}
	}
	tests := tester.NewRunner().
		SetCompiler(compiler).
		SetStore(store).
		SetModules(modules).
		SetTimeout(testTimeout).
		SetParallel(1).
		CapturePrintOutput(true).
		RaiseBuiltinErrors(true)
	if r.coverage != nil {
		tests = tests.SetCoverageQueryTracer(r.coverage)
	}
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return fmt.Errorf("running the tests: %w", err)
	}
	found, err := tests.RunTests(ctx, txn)
	if err != nil {
		return asCompileErrors(err)
	}
	var cases []Case
	for result := range found {
		// A file has tests by its name, whatever else is in the source.
		if c := regoCase(result); c.File == "" || strings.HasSuffix(c.File, testFileSuffix) {
			cases = append(cases, c)
		}
	}
	slices.SortFunc(cases, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Test, b.Test))
	})
	files := map[string]bool{}
	for _, c := range cases {
		files[c.File] = true
		r.add(c)
	}
	r.results.Totals.Suites += len(files)
	r.results.Totals.Tests += len(cases)
	return nil
}

func asCompileErrors(err error) error {
	if errs := engine.ParseErrors(err); len(errs) > 0 && errs[0].File != "" {
		return errs
	}
	return fmt.Errorf("running the tests: %w", err)
}

func regoCase(result *tester.Result) Case {
	c := Case{
		Suite:    strings.TrimPrefix(result.Package, "data."),
		Test:     result.Name,
		Outcome:  Passed,
		Output:   string(result.Output),
		Duration: result.Duration,
	}
	if result.Location != nil {
		c.File, c.Line = result.Location.File, result.Location.Row
	}
	switch {
	case result.Skip:
		c.Outcome = Skipped
	case result.Error != nil:
		c.Outcome, c.Message = Errored, result.Error.Error()
		if result.Duration >= testTimeout {
			c.Message = fmt.Sprintf("it takes longer than %s: iterate over less, or in fewer nested loops", testTimeout)
		}
	case !result.Pass():
		c.Outcome, c.Message = Failed, "it is not true"
		if names := failedIn(result.SubResults); len(names) > 0 {
			c.Message = "not true for " + strings.Join(names, ", ")
		}
	}
	return c
}

// failedIn names the cases of a test with several.
func failedIn(results tester.SubResultMap) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(results)) {
		one := results[name]
		deeper := failedIn(one.SubResults)
		switch {
		case len(deeper) > 0:
			for _, below := range deeper {
				names = append(names, name+"/"+below)
			}
		case one.Fail:
			names = append(names, name)
		}
	}
	return names
}

// report is the coverage of all files but tests.
func (r *runner) report() []Coverage {
	report := r.coverage.Report(r.modules)
	coverage := []Coverage{}
	for _, file := range slices.Sorted(maps.Keys(r.modules)) {
		found := report.Files[file]
		if found == nil || found.CoveredLines+found.NotCoveredLines == 0 {
			continue
		}
		coverage = append(coverage, Coverage{File: file, Percent: found.Coverage, NotCovered: lines(found.NotCovered)})
	}
	return coverage
}

func lines(ranges []cover.Range) []Lines {
	var out []Lines
	for _, one := range ranges {
		if n := len(out); n > 0 && one.Start.Row <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, one.End.Row)
			continue
		}
		out = append(out, Lines{one.Start.Row, one.End.Row})
	}
	return out
}
