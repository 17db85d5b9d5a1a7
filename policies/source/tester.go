package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source/process"
	"github.com/lintel-policy/lintel/policies/suite"
)

const (
	// TestArgument is the argument with which a Tester starts its program: the program
	// calls TestChild and does nothing else.
	TestArgument = "test-source"
	// maxTestBytes is how much memory the tests of a source may take.
	maxTestBytes = 512 << 20
)

// Tester runs the tests of sources in child processes under limits: a test may run forever or
// use much memory, and must not affect the webhook.
//
// Results are cached by the identity of the source: the webhook and the gate request the same
// tests, and a failed revision is not tested again at each resync.
type Tester struct {
	program string
	timeout time.Duration
	fair    time.Duration         // of a child, set by tests
	bytes   int                   // of memory
	kept    *cache.LRUExpireCache // suite.Results by testKey
}

type testKey struct {
	identity string
	options  suite.Options
}

// keptTests is the number of cached results, and passedExpiry the time for which those without a
// failure are cached. Others may have failed because the machine was busy.
const (
	keptTests    = 64
	passedExpiry = 365 * 24 * time.Hour
)

// NewTester makes a Tester that starts a program, usually os.Executable, with
// TestArgument; the timeout bounds all tests of one source together.
func NewTester(program string, timeout time.Duration) *Tester {
	return &Tester{program: program, timeout: timeout, bytes: maxTestBytes, kept: cache.NewLRUExpireCache(keptTests)}
}

// Test is suite.Run within the limits. Tests that reach a limit have failed: the results then
// have one case that reports the limit. An error that is not a definition.CompileErrorList is not
// about the source.
func (t *Tester) Test(ctx context.Context, source definition.Source, options suite.Options) (suite.Results, error) {
	if !suite.Has(source) {
		return suite.Results{}, nil
	}
	key := testKey{source.Identity(), options}
	if results, ok := t.kept.Get(key); ok {
		return results.(suite.Results), nil
	}
	results, err := t.test(ctx, source, options)
	if err == nil {
		expiry := passedExpiry
		if results.Totals.Failed > 0 {
			expiry = verdictExpiry
		}
		t.kept.Add(key, results, expiry)
	}
	return results, err
}

func (t *Tester) test(ctx context.Context, source definition.Source, options suite.Options) (suite.Results, error) {
	var answer testAnswer
	child := process.Child{
		Program: t.program, Argument: TestArgument, Timeout: t.timeout,
		MemoryBytes: int64(bytesFor(source, t.bytes)), OutputBytes: maxChildOutput, MinCPU: cmp.Or(t.fair, t.timeout/4),
	}
	err := child.Run(ctx, testRequest{source, options}, &answer)
	if limit, ok := errors.AsType[*process.LimitError](err); ok {
		return suite.Stopped(fmt.Sprintf("the tests take %s together, and were ended: iterate over less, or take apart the rule that does most in one expression", limit)), nil
	}
	if err != nil {
		return suite.Results{}, fmt.Errorf("running the tests in a process of their own: %w", err)
	}
	if len(answer.Errors) > 0 {
		return suite.Results{}, answer.Errors
	}
	return answer.Results, nil
}

type testRequest struct {
	Source  definition.Source
	Options suite.Options
}

type testAnswer struct {
	Results suite.Results
	Errors  definition.CompileErrorList
}

// TestChild is what the child does: it reads a source, runs its tests, and writes the
// results. It returns the exit code.
func TestChild(stdin io.Reader, stdout, stderr io.Writer) int {
	return process.Serve(stdin, stdout, stderr, func(request testRequest) (any, error) {
		results, err := suite.Run(context.Background(), request.Source, request.Options)
		answer := testAnswer{Results: results}
		if err != nil && !errors.As(err, &answer.Errors) {
			return nil, err
		}
		return answer, nil
	})
}
