package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/planning"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// runRego runs the tests in the Rego files.
func (r *runner) runRego(ctx context.Context) error {
	tests, err := compileTests(r.source)
	if err != nil {
		return err
	}
	tests.data = external.TestDocument(tests.data, r.external)
	if r.coverage != nil {
		for name, module := range tests.modules {
			if !strings.HasSuffix(name, testFileSuffix) {
				r.coverage.modules[name] = module
			}
		}
	}
	if err := tests.plan(r.coverage != nil); err != nil {
		return err
	}
	files := map[string]bool{}
	for _, test := range tests.all {
		if ctx.Err() != nil {
			return fmt.Errorf("running the tests: %w", ctx.Err())
		}
		c, err := tests.run(ctx, test, r.coverage)
		if err != nil {
			return err
		}
		files[c.File] = true
		r.add(c)
	}
	r.results.Totals.Suites += len(files)
	r.results.Totals.Tests += len(tests.all)
	return nil
}

// regoSuite are the tests of a source's Rego files.
type regoSuite struct {
	modules  map[string]*ast.Module // as they are written, by file
	compiler *ast.Compiler
	data     eval.Document
	all      []regoTest
	program  *eval.Program // of all of them; nil where each has its own
	begun    []*ast.Array  // the cases that the running test has begun
}

// regoTest is a rule that is a test.
type regoTest struct {
	rule *ast.Rule
	name ast.Ref // without its package, and without the names of its cases
}

func (t regoTest) skipped() bool { return strings.HasPrefix(lastName(t.name), definition.SkipPrefix) }

// hasCases reports that the rule has a value for each of several cases.
func (t regoTest) hasCases() bool { return t.rule.Head.DocKind() == ast.PartialObjectDoc }

// isPart reports whether the rule is part of a test's name, such as test_x.a. The value of such
// a test is not a boolean, and so not true.
func (t regoTest) isPart() bool { return len(t.rule.Head.Ref().GroundPrefix()) > len(t.name) }

// ref is the rule as programs know it.
func (t regoTest) ref() ast.Ref { return t.rule.Ref().GroundPrefix() }

func compileTests(source definition.Source) (*regoSuite, error) {
	modules, compiler, data, errs := policyset.TestModules(source)
	if len(errs) > 0 {
		return nil, errs
	}
	tests := &regoSuite{modules: modules, compiler: compiler, data: data}
	compiler.WithStageAfterID(ast.StageRewriteRuleHeadRefs, ast.CompilerStageDefinition{Name: "NumberTests", MetricName: "number_tests", Stage: numberTests}).
		WithStageAfterID(ast.StageRewriteLocalVars, ast.CompilerStageDefinition{Name: "NoteCases", MetricName: "note_cases", Stage: noteCases}).
		Compile(modules)
	if compiler.Failed() {
		return nil, definition.ParseErrors(compiler.Errors)
	}
	eachTest(compiler, func(rule *ast.Rule, name ast.Ref) { tests.all = append(tests.all, regoTest{rule, name}) })
	slices.SortStableFunc(tests.all, func(a, b regoTest) int {
		return cmp.Or(cmp.Compare(a.rule.Location.File, b.rule.Location.File), cmp.Compare(a.rule.Location.Row, b.rule.Location.Row),
			cmp.Compare(a.name.String(), b.name.String()))
	})
	return tests, nil
}

// plan compiles all tests into one program if that is within the limits: rules that a test
// replaces are planned again for it, so many small tests may exceed them.
func (t *regoSuite) plan(cover bool) (err error) {
	var rules []ast.Ref
	for _, test := range t.all {
		if !test.skipped() {
			rules = append(rules, test.ref())
		}
	}
	if _, errs := planning.CheckGrowth(t.compiler, rules...); len(errs) == 0 {
		t.program, err = t.programOf(cover, rules...)
	}
	return err
}

func (t *regoSuite) programOf(cover bool, rules ...ast.Ref) (*eval.Program, error) {
	if _, errs := planning.CheckGrowth(t.compiler, rules...); len(errs) > 0 {
		return nil, errs
	}
	program, errs := planning.NewProgram(t.compiler, t.functions, eval.CompileOptions{Capabilities: sandbox.Capabilities(), Cover: cover}, rules...)
	if len(errs) > 0 {
		return nil, errs
	}
	return program, nil
}

// functions are those of policies, and the one that notes the cases of a test.
func (t *regoSuite) functions(name string) (eval.Function, bool) {
	if name != ast.InternalTestCase.Name {
		return sandbox.Function(name)
	}
	return eval.Function{Call: func(_ topdown.BuiltinContext, operands []*ast.Term, give func(*ast.Term) error) error {
		if begun, ok := operands[0].Value.(*ast.Array); ok {
			t.begun = append(t.begun, begun)
		}
		return give(ast.InternedTerm(true))
	}}, true
}

// run runs a test. The error is why it cannot be run at all.
func (t *regoSuite) run(ctx context.Context, test regoTest, cover *coverageRecorder) (Case, error) {
	c := Case{
		File: test.rule.Location.File, Line: test.rule.Location.Row,
		Suite: strings.TrimPrefix(test.rule.Module.Package.Path.String(), "data."), Test: test.name.String(), Outcome: Passed,
	}
	if test.skipped() {
		c.Outcome = Skipped
		return c, nil
	}
	program := t.program
	if program == nil {
		var err error
		if program, err = t.programOf(cover != nil, test.ref()); err != nil {
			return Case{}, err
		}
	}
	printed := &boundedBuffer{}
	options := eval.Options{
		Data: t.data, Print: topdown.NewPrintHook(printed),
		Limits: eval.Limits{Steps: engine.StepBudget, Bytes: engine.MaxMadeBytes},
	}
	if cover != nil {
		options.Cover = &cover.reached
	}
	t.begun = nil
	start := time.Now()
	values, report, err := program.Run(ctx, []*eval.Rule{program.Rule(test.ref())}, options)
	c.Duration, c.Steps, c.Output = time.Since(start), report.Steps, printed.String()
	if err == nil {
		err = joinedOnce(report.Errors)
	}
	switch {
	case err != nil:
		c.Outcome, c.Message = Errored, err.Error()
	case values[0] != nil && test.hasCases():
		if failed := failedCases(values[0], t.begun); len(failed) > 0 {
			c.Outcome, c.Message = Failed, "not true for "+strings.Join(failed, ", ")
		}
	case values[0] == nil || test.isPart() || !values[0].Equal(ast.InternedTerm(true)):
		c.Outcome, c.Message = Failed, "it is not true"
	}
	return c, nil
}

// joinedOnce joins distinct errors; it is nil if there are none.
func joinedOnce(errs []error) error {
	var texts []string
	for _, err := range errs {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}
