package attempt

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var shop = Name{Namespace: "ns", Name: "shop"}

// bench is a Runner with a clock that stands still and the queue of its reconciler.
type bench struct {
	*Runner[string]
	t     *testing.T
	clock time.Time
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	end   func() // of the manager; it returns when Start has
}

// run runs f with a Runner within a synctest bubble: a test that waits for an event that never
// happens fails.
func run(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, clock: time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)}
		b.Runner = NewRunner[string](func() time.Time { return b.clock })
		b.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, b.Source().Start(ctx, b.queue))
		ended := make(chan error, 1)
		go func() { ended <- b.Start(ctx) }()
		b.end = func() {
			cancel()
			require.NoError(t, <-ended)
			ended <- nil
		}
		defer b.queue.ShutDown()
		defer b.end()
		f(b)
	})
}

// next is the object that is looked at next.
func (b *bench) next() Name {
	b.t.Helper()
	request, down := b.queue.Get()
	require.False(b.t, down)
	b.queue.Done(request)
	return request.NamespacedName
}

func (b *bench) wait() time.Duration { return b.Due(shop, 1).Sub(b.clock) }

// attempt is one for version 1 of shop that ends with an outcome.
func (b *bench) attempt(outcome string) {
	b.t.Helper()
	b.Begin(shop, shop, 1, func(context.Context) string { return outcome })
	require.Equal(b.t, shop, b.next())
	got, ended := b.Outcome(shop, 1)
	require.True(b.t, ended)
	require.Equal(b.t, outcome, got)
}

func TestAnOutcomeStaysUntilItIsDealtWith(t *testing.T) {
	run(t, func(b *bench) {
		b.attempt("a")
		_, ended := b.Outcome(shop, 2)
		require.False(t, ended, "it is of another version")
		_, ended = b.Outcome(shop, 1)
		require.True(t, ended)
		b.Begin(shop, shop, 1, func(context.Context) string { t.Error("an attempt beside an outcome"); return "" })
		synctest.Wait()
		b.Done(shop)
		_, ended = b.Outcome(shop, 1)
		require.False(t, ended)
		require.Zero(t, b.Due(shop, 1), "nothing is planned")
		b.attempt("b")
		b.Succeeded(shop, 1, time.Minute)
		_, ended = b.Outcome(shop, 1)
		require.False(t, ended)
		b.attempt("c")
		b.Failed(shop, 1, Backoff{First: time.Second, Longest: time.Minute})
		_, ended = b.Outcome(shop, 1)
		require.False(t, ended)
	})
}

func TestOneAttemptForAVersionAtATime(t *testing.T) {
	run(t, func(b *bench) {
		var began, cancelled atomic.Int32
		release := make(chan struct{})
		slow := func(ctx context.Context) string {
			nth := began.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
				cancelled.Add(1)
			}
			return strconv.Itoa(int(nth))
		}
		for range 3 {
			b.Begin(shop, shop, 1, slow)
			synctest.Wait()
		}
		require.EqualValues(t, 1, began.Load())
		b.Begin(shop, shop, 2, slow)
		synctest.Wait()
		require.Equal(t, []int32{2, 1}, []int32{began.Load(), cancelled.Load()}, "that for an earlier version is cancelled")
		require.Zero(t, b.queue.Len(), "and nobody hears of it")
		b.Forget(shop)
		synctest.Wait()
		require.EqualValues(t, 2, cancelled.Load())
		b.Begin(shop, shop, 2, slow)
		close(release)
		b.next()
		got, _ := b.Outcome(shop, 2)
		require.Equal(t, "3", got)
		b.Done(shop)
		b.Begin(shop, shop, 2, func(context.Context) string { return "4" })
		b.next()
		got, _ = b.Outcome(shop, 2)
		require.Equal(t, "4", got, "after one has ended there is another")
	})
}

func TestAGroupThatHangsHoldsUpNoOther(t *testing.T) {
	run(t, func(b *bench) {
		slow, running := Name{Name: "slow"}, atomic.Int32{}
		for i := range 24 {
			b.Begin(Name{Name: strconv.Itoa(i)}, slow, 1, func(ctx context.Context) string { running.Add(1); <-ctx.Done(); return "" })
		}
		synctest.Wait()
		require.EqualValues(t, 8, running.Load())
		b.Begin(shop, Name{Name: "fast"}, 1, func(context.Context) string { return "done" })
		require.Equal(t, shop, b.next())
	})
}

func TestStartWaitsForAttempts(t *testing.T) {
	run(t, func(b *bench) {
		finished := false
		b.Begin(shop, shop, 1, func(ctx context.Context) string {
			<-ctx.Done()
			time.Sleep(time.Minute)
			finished = true
			return ""
		})
		synctest.Wait()
		b.end()
		require.True(t, finished)
		b.Begin(Name{Name: "late"}, shop, 1, func(context.Context) string { t.Error("nothing begins after the end"); return "" })
		b.Wake(context.Background(), shop) // and no attempt waits
		synctest.Wait()
	})
}

func TestWhenAnAttemptIsDue(t *testing.T) {
	run(t, func(b *bench) {
		backoff := Backoff{First: time.Second, Longest: 5 * time.Second}
		require.Zero(t, b.Due(shop, 1))
		b.Succeeded(shop, 1, time.Minute)
		require.Equal(t, time.Minute, b.wait())
		require.Zero(t, b.Due(shop, 2), "another version has no time yet")
		require.False(t, b.Failing(shop))
		for _, want := range []time.Duration{1, 2, 4, 5, 5} {
			b.Failed(shop, 1, backoff)
			require.Equal(t, want*time.Second, b.wait())
			require.True(t, b.Failing(shop))
		}
		b.Succeeded(shop, 1, time.Minute)
		require.False(t, b.Failing(shop))
		b.Failed(shop, 1, backoff)
		require.Equal(t, time.Second, b.wait(), "what was before it succeeded does not count")
		b.Failed(shop, 2, backoff)
		require.Equal(t, time.Second, b.Due(shop, 2).Sub(b.clock), "nor what another version did")

		b.Succeeded(shop, 1, time.Hour)
		b.clock = b.clock.Add(time.Minute)
		b.NoLater(shop, 1, 10*time.Minute)
		require.Equal(t, 9*time.Minute, b.wait(), "after the last one, not from now")
		b.NoLater(shop, 1, 20*time.Minute)
		require.Equal(t, 9*time.Minute, b.wait(), "never later than it was")
		b.NoLater(shop, 2, time.Second)
		require.Equal(t, 9*time.Minute, b.wait())
		b.Forget(shop)
		require.Zero(t, b.Due(shop, 1))
		require.False(t, b.Failing(shop))
	})
}

func TestHurry(t *testing.T) {
	run(t, func(b *bench) {
		require.False(t, b.Hurry(shop), "nothing is known of it")
		for i := range hurryBurst {
			b.Succeeded(shop, 1, time.Hour)
			require.True(t, b.Hurry(shop))
			require.Zero(t, b.wait(), i)
			b.Hurry(shop) // more of them are one
		}
		b.Succeeded(shop, 1, time.Hour)
		b.Hurry(shop)
		require.Equal(t, time.Second/hurryRate, b.wait(), "who hurries too often waits")
		b.Succeeded(shop, 1, time.Millisecond)
		b.Hurry(shop)
		require.Equal(t, time.Millisecond, b.wait(), "never later than it was")

		b.clock = b.clock.Add(time.Hour)
		release := make(chan struct{})
		b.Begin(shop, shop, 1, func(context.Context) string { <-release; return "" })
		for range 50 {
			b.Hurry(shop)
		}
		close(release)
		b.next()
		b.Succeeded(shop, 1, time.Hour)
		require.Zero(t, b.wait(), "the one that ran may have looked too early")
		b.Succeeded(shop, 1, time.Hour)
		require.Equal(t, time.Hour, b.wait(), "and once is enough")
		b.attempt("a")
		b.Hurry(shop)
		b.Succeeded(shop, 1, time.Hour)
		require.Zero(t, b.wait(), "so may one that has just ended")
	})
}

func TestWake(t *testing.T) {
	run(t, func(b *bench) {
		b.Wake(b.t.Context(), shop)
		require.Equal(t, shop, b.next())
	})
}

func TestBackoff(t *testing.T) {
	b := Backoff{First: 5 * time.Second, Longest: 30 * time.Second, Jitter: 0.25}
	for failures, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 4: 30 * time.Second, 1 << 40: 30 * time.Second} {
		least, most := time.Hour, time.Duration(0)
		for range 200 {
			pause := b.Pause(failures)
			least, most = min(least, pause), max(most, pause)
		}
		require.GreaterOrEqual(t, least, want*3/4)
		require.LessOrEqual(t, most, want)
		require.Greater(t, most-least, want/20, "not all at the same time")
	}
	require.Equal(t, 1024*time.Second, Backoff{First: time.Second, Longest: 1000 * time.Hour}.Pause(100))
	require.Equal(t, time.Minute, Jitter(time.Minute, 0))
}
