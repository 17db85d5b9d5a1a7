package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// revision is a source that compiles to a set of its own.
func revision(name string, n int) definition.Source {
	return definition.Source{Name: name, Files: map[string]string{"p.rego": fmt.Sprintf("package p\ndeny contains \"%d\"", n)}}
}

// counted counts how often a source is compiled.
func counted(t *testing.T, r *resultCache, source definition.Source, count *int) *engine.PolicySet {
	t.Helper()
	set, err := r.get(t.Context(), source, func() (*engine.PolicySet, error) {
		*count++
		return policyset.Compile(source)
	})
	require.NoError(t, err)
	return set
}

func TestWhoAsksForTheSameWaitsForTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		calls int
		left  int // results that stay
	}{
		"compiled":        {nil, 1, 1},
		"refused":         {definition.CompileErrorList{{Message: "no"}}, 1, 1},
		"too much":        {tooMuch("takes longer than a second"), 1, 0},
		"without verdict": {context.Canceled, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r resultCache
				var mu sync.Mutex
				calls, errs := 0, make([]error, 3)
				proceed := make(chan struct{})
				var wait sync.WaitGroup
				for i := range errs {
					wait.Go(func() {
						_, errs[i] = r.get(t.Context(), revision("s", 0), func() (*engine.PolicySet, error) {
							mu.Lock()
							calls++
							mu.Unlock()
							<-proceed
							return nil, c.err
						})
					})
				}
				synctest.Wait() // one compiles, the others wait
				require.Equal(t, 1, calls)
				close(proceed)
				wait.Wait()
				require.Equal(t, c.calls, calls)
				for _, err := range errs {
					require.Equal(t, c.err, err)
				}
				require.Len(t, r.list, c.left)
			})
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r resultCache
		proceed := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			_, _ = r.get(t.Context(), revision("s", 0), func() (*engine.PolicySet, error) {
				<-proceed
				return nil, nil
			})
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.get(ctx, revision("s", 0), nil)
		require.ErrorIs(t, err, context.Canceled)
		close(proceed)
		wait.Wait()
	})
}

func TestNobodyWaitsForACompilerThatPanicked(t *testing.T) {
	var r resultCache
	require.Panics(t, func() {
		_, _ = r.get(t.Context(), revision("s", 0), func() (*engine.PolicySet, error) { panic("a bug") })
	})
	require.Empty(t, r.list)
}

func TestResultsAreBounded(t *testing.T) {
	var r resultCache
	var count int
	for n := range 5 {
		counted(t, &r, revision("s", n), &count)
	}
	require.Len(t, r.list, keptOfOne)
	counted(t, &r, revision("s", 4), &count)
	counted(t, &r, revision("s", 3), &count)
	require.Equal(t, 5, count, "the newest are kept")
	counted(t, &r, revision("s", 2), &count)
	require.Equal(t, 6, count)

	for n := range 2 * keptResults {
		counted(t, &r, revision(fmt.Sprint(n), n), &count)
	}
	require.Len(t, r.list, keptResults)
}

func TestWhatIsLiveIsForgotten(t *testing.T) {
	var r resultCache
	var count int
	counted(t, &r, revision("other", 0), &count)
	counted(t, &r, revision("s", 1), &count)
	live := counted(t, &r, revision("s", 2), &count)
	next := definition.CompileErrorList{{Message: "no"}}
	_, err := r.get(t.Context(), revision("next", 0), func() (*engine.PolicySet, error) { return nil, next })
	require.True(t, errors.As(err, &next))
	r.forget(live)
	var left []string
	for _, one := range r.list {
		left = append(left, one.name)
	}
	require.Equal(t, []string{"other", "next"}, left)
	r.forget(live) // once more does nothing
	require.Len(t, r.list, 2)
}
