// Package suite runs the tests of a policy source: Rego tests, in files named _test.rego, and
// Gatekeeper's Suites.
//
// Invariant: a policy is evaluated as at admission, by the same engine under the same limits; a
// test that could not run has failed.
package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/external"
)

// Options say how tests are run.
type Options struct {
	// Coverage asks for the lines that the tests reach.
	Coverage bool `json:"coverage,omitempty"`
	// External is a JSON object with the data of DataSources by their names; empty for none. Tests
	// that read other data replace it by `with`, or fail.
	External string `json:"external,omitempty"`
}

// Outcome is how a case ended.
type Outcome string

// The outcomes of a case.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // an expectation was not met
	Errored Outcome = "error"   // it could not be run, which counts as failed
	Skipped Outcome = "skipped" // its author said so
)

// Case is one case of one test.
type Case struct {
	// File is the file with the tests, and Line the line of this test, 0 if unknown.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Suite is the name of a Suite, or the package of Rego tests.
	Suite string `json:"suite"`
	// Test and Name are those of a Suite; a Rego test has its rule as Test, and no
	// Name.
	Test    string  `json:"test"`
	Name    string  `json:"name,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Message states why the case did not pass.
	Message string `json:"message,omitempty"`
	// Output is the output of the policy, up to MaxOutputBytes.
	Output   string        `json:"output,omitempty"`
	Duration time.Duration `json:"duration"` // nanoseconds
	// Steps is the work of the evaluation, by which policies are bounded.
	Steps int64 `json:"steps"`
}

// Failed reports whether the case counts as failed.
func (c Case) Failed() bool { return c.Outcome == Failed || c.Outcome == Errored }

// Totals count the tests that were run. A Rego file is a suite, and each of its rules a test of
// one case.
type Totals struct {
	Suites  int `json:"suites"`
	Tests   int `json:"tests"`
	Cases   int `json:"cases"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Coverage is the part of a file's lines with Rego that tests reach.
type Coverage struct {
	File string `json:"file"`
	// Percent is from 0 to 100.
	Percent    float64 `json:"percent"`
	NotCovered []Lines `json:"notCovered,omitempty"`
}

// Lines are those from one to another, both included.
type Lines struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// In prefixes the file names of the results with the folder.
func (r *Results) In(folder string) {
	for i := range r.Cases {
		if r.Cases[i].File != "" {
			r.Cases[i].File = filepath.Join(folder, filepath.FromSlash(r.Cases[i].File))
		}
	}
	for i := range r.Coverage {
		r.Coverage[i].File = filepath.Join(folder, filepath.FromSlash(r.Coverage[i].File))
	}
}

// Results are the results of the tests of a source.
type Results struct {
	Cases  []Case `json:"cases"`
	Totals Totals `json:"totals"`
	// Coverage is by file, without the test files; nil unless requested.
	Coverage []Coverage `json:"coverage,omitempty"`
}

const (
	// MaxOutputBytes limits the stored output of one case.
	MaxOutputBytes = 4 << 10
	// maxOutputsBytes limits the stored output of all cases together.
	maxOutputsBytes = 256 << 10
	// maxMessageBytes bounds one message.
	maxMessageBytes = 4 << 10
)

// Has reports whether a source has tests.
func Has(source definition.Source) bool {
	for name, text := range source.Files {
		if strings.HasSuffix(name, "_test.rego") || mayHoldSuites(name, text) {
			return true
		}
	}
	return false
}

// Run runs the tests of a source: none, where it has none. The error is
// definition.CompileErrorList where files of the source cannot be read or compiled, or the
// context's.
func Run(ctx context.Context, source definition.Source, options Options) (Results, error) {
	data, err := external.ReadSet(options.External)
	if err != nil {
		return Results{}, err
	}
	r := &runner{source: source, external: data}
	if options.Coverage {
		r.coverage = &coverageRecorder{modules: map[string]*ast.Module{}}
	}
	if err := r.runRego(ctx); err != nil {
		return Results{}, err
	}
	if err := r.runSuites(ctx); err != nil {
		return Results{}, err
	}
	if err := ctx.Err(); err != nil {
		return Results{}, fmt.Errorf("running the tests: %w", err)
	}
	if options.Coverage {
		r.results.Coverage = r.coverage.report()
	}
	return r.results, nil
}

// Stopped are the results of tests that were ended before their end.
func Stopped(why string) Results {
	r := &runner{}
	r.add(Case{Outcome: Errored, Message: why})
	return r.results
}

// runner collects the results of one run.
type runner struct {
	source   definition.Source
	external external.Set
	results  Results
	coverage *coverageRecorder // nil where it was not asked for
	printed  int               // stored bytes of output
}

// add files a case and counts it.
func (r *runner) add(c Case) {
	c.Message = cut(c.Message, maxMessageBytes)
	c.Output = cut(c.Output, min(MaxOutputBytes, maxOutputsBytes-r.printed))
	r.printed += len(c.Output)
	r.results.Cases = append(r.results.Cases, c)
	r.results.Totals.Cases++
	switch {
	case c.Outcome == Passed:
		r.results.Totals.Passed++
	case c.Outcome == Skipped:
		r.results.Totals.Skipped++
	default:
		r.results.Totals.Failed++
	}
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "… (cut)"
	return text[:max(0, limit-len(more))] + more[:min(len(more), max(0, limit))]
}
