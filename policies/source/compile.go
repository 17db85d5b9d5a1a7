package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/source/process"
)

const (
	// CompileArgument is the argument with which a Compiler starts its program: the
	// program calls CompileChild and does nothing else.
	CompileArgument = "compile-source"
	// maxCompileBytes is how much memory compiling a source may take.
	maxCompileBytes = 512 << 20
	// maxChildOutput bounds the output that is read from a child, in bytes: errors and test
	// results.
	maxChildOutput = 256 << 20
	// maxScopedBytes is how much the child of a source below the enterprise may take: its
	// memory is that of the manager's container, as is that of another at the same time.
	maxScopedBytes = 128 << 20
	// maxScopedSet is how much a source below the enterprise may take for as long as it is
	// live, on every replica: some five hundred policies.
	maxScopedSet = 16 << 20
)

// CachingCompiler compiles sources, first in a child process, because OPA's compiler can run for hours
// and cannot be interrupted. A source that the child compiles in time is then compiled in this
// process, too.
//
// A source that is requested again on its way from the webhook through the gate to the loader is
// compiled once: this process caches results by the identity of the source. If the earlier set
// of a changed source is available, both processes compile only the changed packages and their
// dependents.
type CachingCompiler struct {
	program string
	timeout time.Duration
	fair    time.Duration // of a child, set by tests
	results resultCache
	// Schemas, where set, are what references of policies are checked against.
	Schemas Schemas
	// Unchecked, where set, hears of sources whose references could not be checked.
	Unchecked func(source string, why error)
	clean     *lru.Cache // packageChecks, by the identity of the set
	// templates remembers the files of the last sources that were compiled in this process, for
	// as long as sources continue to change.
	templates gatekeeper.Reader
	// compiling has room for one: where two compile in this process, requests wait.
	compiling chan struct{}
	// freeMemory returns the memory of compilations to the system after an idle period. Without
	// requests, the next garbage collection would be minutes away.
	freeMemory *time.Timer
}

// freeMemoryAfter is how long that while is.
const freeMemoryAfter = 3 * time.Second

// NewCompiler makes a Compiler that starts a program, usually os.Executable, with
// CompileArgument; the timeout bounds one child.
func NewCompiler(program string, timeout time.Duration) *CachingCompiler {
	c := &CachingCompiler{program: program, timeout: timeout, clean: lru.New(keptClean), compiling: make(chan struct{}, 1)}
	c.freeMemory = time.AfterFunc(freeMemoryAfter, func() {
		c.templates.Forget()
		debug.FreeOSMemory()
	})
	c.freeMemory.Stop()
	return c
}

// dialectsOf are the forms of policy that a source may hold, of which the first is Gatekeeper's.
func dialectsOf(source definition.Source, first definition.Dialect) []definition.Dialect {
	if source.AdmissionPolicies {
		return []definition.Dialect{first, cel.Dialect}
	}
	return []definition.Dialect{first}
}

// Compile is policyset.Compile of all the forms of policy that a source may hold.
func Compile(source definition.Source) (*engine.PolicySet, error) {
	return policyset.Compile(source, dialectsOf(source, gatekeeper.Dialect)...)
}

// CompileToExplain is Compile of a set that explains its rules (engine.RuleOutcome), at the
// price of speed.
func CompileToExplain(source definition.Source) (*engine.PolicySet, error) {
	return policyset.CompileForTest(source, dialectsOf(source, gatekeeper.Dialect)...)
}

// Compile is the function Compile within the limits. An error that is not a
// definition.CompileErrorList is not about the source.
func (c *CachingCompiler) Compile(ctx context.Context, source definition.Source) (*engine.PolicySet, error) {
	return c.results.get(ctx, source, func() (*engine.PolicySet, error) {
		var here sync.WaitGroup
		var set *engine.PolicySet
		var errHere error
		before := c.results.before(source.Name)
		err := c.compileApart(ctx, source, before, func() {
			here.Go(func() { set, errHere = c.compileHere(ctx, source, before) })
		})
		here.Wait()
		if err != nil || errHere != nil {
			return nil, cmp.Or(err, errHere)
		}
		if c.Schemas != nil {
			certain, likely := set.MissingData()
			if certain = append(certain, set.WrongConstants()...); len(certain) > 0 {
				slices.SortFunc(certain, definition.CompileError.Compare)
				return nil, faults{certain, likely}
			}
		}
		return set, nil
	})
}

// faults are the definition.CompileErrorList of a source that compiles. A source that went live
// before they were checked stays live: Load does not look for them.
type faults struct {
	definition.CompileErrorList
	likely definition.CompileErrorList
}

// Unwrap gives the errors as definition.CompileErrorList.
func (f faults) Unwrap() error { return f.CompileErrorList }

// Load is Compile without a child, for a source that passed the gate in another
// process.
func (c *CachingCompiler) Load(ctx context.Context, source definition.Source) (*engine.PolicySet, error) {
	return c.results.get(ctx, source, func() (*engine.PolicySet, error) {
		return c.compileHere(ctx, source, c.results.before(source.Name))
	})
}

// Forget ends the keeping of a set that is live now, and of what came before it.
func (c *CachingCompiler) Forget(set *engine.PolicySet) { c.results.forget(set) }

func (c *CachingCompiler) compileHere(ctx context.Context, source definition.Source, before *engine.PolicySet) (*engine.PolicySet, error) {
	select {
	case c.compiling <- struct{}{}:
		defer func() {
			<-c.compiling
			c.freeMemory.Reset(freeMemoryAfter)
		}()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to compile: %w", ctx.Err())
	}
	return policyset.Recompile(source, before, dialectsOf(source, c.templates.Dialect)...)
}

// compileApart compiles in a child and checks the references there: nil where the
// source compiles within the limits. It calls compiled as soon as that is known, while
// the references are checked. before may be nil.
func (c *CachingCompiler) compileApart(ctx context.Context, source definition.Source, before *engine.PolicySet, compiled func()) error {
	child := c.child(bytesFor(source, maxCompileBytes))
	done := false
	var wrong error // the errors of the source
	err := child.Converse(ctx, func(ctx context.Context, ask *json.Encoder, answers *json.Decoder) error {
		var answer compileAnswer
		if err := process.Exchange(ask, answers, requestFor(source, before), &answer); err != nil {
			return err
		}
		if len(answer.Errors) > 0 {
			wrong = answer.Errors
			return nil
		}
		if below(source) && answer.Bytes > maxScopedSet {
			wrong = tooLarge(answer.Bytes)
			return nil
		}
		done = true
		compiled()
		found, err := c.checkReferences(ctx, ask, answers, source, before, answer)
		if len(found) > 0 {
			wrong = referenceErrors{found}
		}
		return err
	})
	switch {
	case wrong != nil:
		return wrong
	case err == nil:
		return nil
	case done: // what ends while references are checked has found none wrong
		if c.Unchecked != nil {
			c.Unchecked(source.Name, err)
		}
		return nil
	}
	if limit, ok := errors.AsType[*process.LimitError](err); ok {
		return tooMuch("takes %s", limit)
	}
	return fmt.Errorf("compiling in a process of its own: %w", err)
}

func (c *CachingCompiler) child(memoryBytes int) process.Child {
	return process.Child{
		Program: c.program, Argument: CompileArgument, Timeout: c.timeout,
		MemoryBytes: int64(memoryBytes), OutputBytes: maxChildOutput, MinCPU: cmp.Or(c.fair, c.timeout/4),
	}
}

// checkReferences checks, in the child, the references of the compiled packages, and of reused
// packages that were not checked against the same schemas before.
func (c *CachingCompiler) checkReferences(ctx context.Context, ask *json.Encoder, answers *json.Decoder, source definition.Source, before *engine.PolicySet, answer compileAnswer) (definition.CompileErrorList, error) {
	if c.Schemas == nil {
		return nil, nil
	}
	policies, known := answer.Matches, packageChecks{}
	if before != nil {
		if kept, ok := c.clean.Get(before.Identity()); ok {
			known = kept.(packageChecks)
		}
		policies = append(policies, takenOver(before, answer.TakenOver)...)
	}
	checks := referenceChecks(ctx, c.Schemas, policies)
	left, clean := known.left(checks, answer.TakenOver)
	request := referenceRequest{Checks: left, Clean: known.keys()}
	for len(request.Checks) > 0 {
		var found referenceAnswer
		if err := process.Exchange(ask, answers, request, &found); err != nil {
			return nil, err
		}
		if len(found.Errors) > 0 && !request.Whole && len(answer.TakenOver) > 0 {
			// An error of one package may be right for other packages that use the same rule.
			request, clean = referenceRequest{Checks: checks, Clean: known.keys(), Whole: true}, packageChecks{}
			continue
		}
		clean.add(request.Checks, found.Clean)
		if len(found.Errors) > 0 {
			return found.Errors, nil
		}
		break
	}
	c.clean.Add(source.Identity(), clean)
	return nil, nil
}

// takenOver is what the packages of a set match that another set took over.
func takenOver(before *engine.PolicySet, names []string) (policies []matched) {
	for _, p := range matchesOf(before) {
		if _, taken := slices.BinarySearch(names, p.Package); taken {
			policies = append(policies, p)
		}
	}
	return policies
}

// referenceErrors are the definition.CompileErrorList of references that are wrong by the
// schemas of now.
type referenceErrors struct{ definition.CompileErrorList }

// Unwrap gives the errors as definition.CompileErrorList.
func (e referenceErrors) Unwrap() error { return e.CompileErrorList }

// limitError is the definition.CompileErrorList of a source that takes too much to compile.
type limitError struct{ definition.CompileErrorList }

// Unwrap gives the errors as definition.CompileErrorList.
func (e limitError) Unwrap() error { return e.CompileErrorList }

func tooMuch(format string, args ...any) error {
	return limitError{definition.CompileErrorList{{Message: "compiling " + fmt.Sprintf(format, args...) +
		": values that contain each other many times over have types that grow without bound; take them apart"}}}
}

// below says whether a source is of a scope below the enterprise.
func below(source definition.Source) bool { return source.Scope.Key().Level != hierarchy.Enterprise }

// bytesFor is how much memory the child of a source may take.
func bytesFor(source definition.Source, most int) int {
	if below(source) {
		return min(most, maxScopedBytes)
	}
	return most
}

func tooLarge(bytes int64) error {
	return definition.CompileErrorList{{Message: fmt.Sprintf("the policies and their data take %d MiB of memory, and below the enterprise a source has at most %d MiB on each replica: keep less data in the source, or split its rules", bytes>>20, maxScopedSet>>20)}}
}

// compileRequest is what the child is asked to compile. Known is nil where nothing is
// known of the source.
type compileRequest struct {
	Source definition.Source
	Known  *policyset.Known
}

func requestFor(source definition.Source, before *engine.PolicySet) compileRequest {
	request := compileRequest{Source: source}
	if before != nil && !below(source) { // below, the memory of all of it is measured
		known := before.Known()
		request.Known = &known
	}
	return request
}

// compileAnswer is what the child says of a source.
type compileAnswer struct {
	// Bytes is how much memory the compiled source takes.
	Bytes   int64                       `json:"bytes"`
	Errors  definition.CompileErrorList `json:"errors"`
	Matches []matched                   `json:"matches"`
	// TakenOver are the packages that were known and have not been compiled, sorted; Matches
	// are those of the others.
	TakenOver []string `json:"takenOver"`
}

// heapInUse returns the size of the heap after a garbage collection, in bytes.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// CompileChild is what the child does: it reads a source, compiles it and writes the
// errors; then it checks the references if it is asked to. It returns the exit code.
func CompileChild(stdin io.Reader, stdout, stderr io.Writer) int {
	return process.ServeConversation(stdin, stdout, stderr, func(requests *json.Decoder, answers *json.Encoder) error {
		var asked compileRequest
		if err := requests.Decode(&asked); err != nil {
			return err
		}
		var answer compileAnswer
		compile := func() (*engine.PolicySet, error) {
			return policyset.Verify(asked.Source, asked.Known, dialectsOf(asked.Source, gatekeeper.Dialect)...)
		}
		if below(asked.Source) { // its memory is that of a set as it is live, without what analyses need
			compile = func() (*engine.PolicySet, error) { return Compile(asked.Source) }
		}
		before := heapInUse()
		set, err := compile()
		if err != nil && !errors.As(err, &answer.Errors) {
			return err
		}
		if err == nil {
			answer.Matches, answer.TakenOver = matchesOf(set), set.Reused()
			if below(asked.Source) {
				answer.Bytes = heapInUse() - before
			}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
		for {
			var request referenceRequest
			if err := requests.Decode(&request); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if set.Compiler() == nil || request.Whole || request.names(answer.TakenOver) {
				if set, err = policyset.Verify(asked.Source, nil, dialectsOf(asked.Source, gatekeeper.Dialect)...); err != nil {
					return err
				}
				answer.TakenOver = nil
			}
			found, err := checkReferences(set, matchesOf(set), request)
			if err != nil {
				return err
			}
			if err := answers.Encode(found); err != nil {
				return err
			}
		}
	})
}
