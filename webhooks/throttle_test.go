package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// stepsIn are the steps that a policy takes in a time.
func stepsIn(time time.Duration) int64 {
	return time.Microseconds() * definition.StepsPerMillisecond / 1000
}

// load runs reviews of tenants, one after the other in each of the given loops, and returns
// how long the policies of each tenant ran within a time. A review evaluates a policy that
// calls a function so many times, which takes a time.
func load(t *testing.T, p *throttle, during time.Duration, loops map[string]int, step time.Duration, steps int) (ran map[string]time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	var reviews sync.WaitGroup
	var mutex sync.Mutex
	ran = map[string]time.Duration{}
	review := func(tenant string) {
		r := p.review(tenant)
		defer r.end()
		r.Wait(ctx, 0)
		for i := range steps {
			if r.Wait(ctx, stepsIn(time.Duration(i+1)*step)); ctx.Err() != nil {
				return
			}
			time.Sleep(step)
			mutex.Lock()
			ran[tenant] += step
			mutex.Unlock()
		}
		r.Done(stepsIn(time.Duration(steps) * step))
	}
	for tenant, count := range loops {
		for range count {
			reviews.Go(func() {
				for ctx.Err() == nil {
					review(tenant)
				}
			})
		}
	}
	reviews.Wait()
	return ran
}

// TestTenantsHaveTheSameTime, and together no more than the slots and the allowance without
// slots, for any number of reviews, and even if a function that is not interrupted runs long.
func TestTenantsHaveTheSameTime(t *testing.T) {
	const during = 20 * time.Second
	for name, c := range map[string]struct {
		step  time.Duration
		steps int
	}{
		"long policies":                  {time.Millisecond, 100},
		"a function that outlasts turns": {100 * time.Millisecond, 1},
		"policies that need no turn":     {time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newThrottle(2)
				ran := load(t, p, during, map[string]int{"a": 6, "b": 2, "c": 2}, c.step, c.steps)
				total := time.Duration(0)
				for _, tenant := range []string{"a", "b", "c"} {
					total += ran[tenant]
				}
				for _, tenant := range []string{"a", "b", "c"} {
					require.InDelta(t, total.Seconds()/3, ran[tenant].Seconds(), 1.5, "%v", ran)
				}
				require.Greater(t, total, 2*during-time.Second, "all turns are used")
				require.Less(t, total, time.Duration(float64(2*during)*(1+3*tenantAllowance))+2*time.Second, "%v", ran)
				require.Equal(t, 2, p.free)
				require.Empty(t, p.waiting)
			})
		})
	}
}

// TestManyTenantsHaveOneAllowance: scopes for each namespace of a team get no more time.
func TestManyTenantsHaveOneAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const during = 20 * time.Second
		loops := map[string]int{}
		for i := range 20 {
			loops[fmt.Sprint("user ", i)] = 1
		}
		total := time.Duration(0)
		for _, one := range load(t, newThrottle(2), during, loops, time.Millisecond, 1) {
			total += one
		}
		require.Less(t, total, time.Duration(float64(2*during)*(1+allTenantsAllowance))+2*time.Second)
	})
}

// TestTenantsAreForgotten once none has reviews, except the used part of their allowance.
func TestTenantsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newThrottle(1)
		load(t, p, time.Second, map[string]int{"a": 1}, time.Millisecond, 1)
		require.Len(t, p.tenants, 1)
		time.Sleep(time.Minute)
		load(t, p, time.Second, map[string]int{"b": 1}, time.Microsecond, 1)
		require.NotContains(t, p.tenants, "a")
	})
}

// TestFastReviewsNeedNoTurn, and the wait for a slot is reported.
func TestFastReviewsNeedNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newThrottle(1)
		slow := p.review("slow")
		slow.Wait(t.Context(), 0)
		slow.Wait(t.Context(), unthrottledSteps)
		require.True(t, slow.holds)
		slow.Wait(t.Context(), unthrottledSteps+10*slotSteps)
		require.Zero(t, slow.waited, "no other review waits")

		fast := p.review("fast")
		for range 2 { // policies
			fast.Wait(t.Context(), 0)
			time.Sleep(time.Second) // the CPU is busy
			fast.Wait(t.Context(), unthrottledSteps/4)
			fast.Done(unthrottledSteps / 3)
		}
		require.Zero(t, fast.waited)
		fast.end()
		require.True(t, slow.holds)

		other := p.review("slow")
		other.Wait(t.Context(), 0)
		go func() {
			time.Sleep(time.Second)
			slow.end()
		}()
		other.Wait(t.Context(), unthrottledSteps)
		require.Equal(t, time.Second, other.waited)
		require.NoError(t, other.err(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := p.review("slow")
		late.Wait(ctx, 0)
		late.Wait(ctx, unthrottledSteps)
		require.False(t, late.holds, "its request has ended")
		require.ErrorIs(t, late.err(ctx), admission.ErrBusy)
		late.end()
		other.end()
		require.Equal(t, 1, p.free)
		require.Empty(t, p.waiting)
	})
}

// tenantOf is a Decider whose reviews are a tenant's.
type tenantOf struct{ decisions }

func (tenantOf) Tenant(*admission.Review) string { return "team shop" }

// TestTheDeadlineIsNoDenial: a policy that the deadline of the request has ended denies nothing.
// The failure policy decides about a review without any other denial.
func TestTheDeadlineIsNoDenial(t *testing.T) {
	t.Parallel()
	cut, denied := finding("policy p cannot be evaluated: the request's own deadline passed"), finding("forbidden")
	cut.Error, cut.Limit = true, "timeout"
	steps := finding("policy q cannot be evaluated: it took more than 1000000 steps")
	steps.Error, steps.Limit = true, "steps"
	for name, c := range map[string]struct {
		path    string
		denials []engine.Finding
		code    int32 // 0 where the request is admitted
		message string
	}{
		"a deadline":                    {"/validate/fail", []engine.Finding{cut}, http.StatusTooManyRequests, "were not evaluated within the timeout of the request; retry"},
		"a deadline, Ignore":            {"/validate/ignore", []engine.Finding{cut}, 0, ""},
		"a deadline of a mutation":      {"/mutate/fail", []engine.Finding{cut}, http.StatusTooManyRequests, "were not evaluated within the timeout of the request; retry"},
		"a deadline and a denial":       {"/validate/fail", []engine.Finding{cut, denied}, http.StatusForbidden, "forbidden"},
		"a deadline and a limit":        {"/validate/fail", []engine.Finding{cut, steps}, http.StatusForbidden, "it took more than 1000000 steps"},
		"a limit, before any deadline":  {"/validate/fail", []engine.Finding{steps}, http.StatusForbidden, "it took more than 1000000 steps"},
		"a denial, before any deadline": {"/validate/fail", []engine.Finding{denied}, http.StatusForbidden, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, decisions{
				validate: func(context.Context, *admission.Review, engine.Options) *engine.Decision {
					return &engine.Decision{Denials: slices.Clone(c.denials)}
				},
				mutate: func(context.Context, *admission.Review, engine.Options) *engine.Mutation {
					return &engine.Mutation{Decision: engine.Decision{Denials: slices.Clone(c.denials)}}
				},
			}, nil)
			response := f.ask(t, c.path, podRequest)
			require.Equal(t, c.code == 0, response.Allowed)
			if c.code == 0 {
				require.Contains(t, response.Warnings[0], "admitted unchecked")
				return
			}
			require.Equal(t, c.code, response.Result.Code)
			require.Contains(t, response.Result.Message, c.message)
			require.NotContains(t, response.Result.Message, "deadline")
			require.Equal(t, c.code == http.StatusTooManyRequests, response.Result.Details != nil && response.Result.Details.RetryAfterSeconds == 1)
		})
	}
}

// TestMissedTurnsAreNoDenials: a policy without a slot before the request's deadline is not a
// denial, nor is the error of a policy that the deadline ended.
func TestMissedTurnsAreNoDenials(t *testing.T) {
	t.Parallel()
	var f fixture
	var denied []engine.Finding
	waits := func(ctx context.Context, options engine.Options) {
		if options.Pacer.Wait(ctx, 0); ctx.Err() == nil {
			options.Pacer.Wait(ctx, unthrottledSteps)
		}
		options.Pacer.Done(unthrottledSteps)
	}
	f = newFixture(t, tenantOf{decisions{
		validate: func(ctx context.Context, _ *admission.Review, options engine.Options) *engine.Decision {
			waits(ctx, options)
			cut := finding("the request's own deadline passed")
			cut.Error = true
			return &engine.Decision{Denials: append([]engine.Finding{cut}, denied...)}
		},
		mutate: func(ctx context.Context, _ *admission.Review, options engine.Options) *engine.Mutation {
			waits(ctx, options)
			return &engine.Mutation{}
		},
	}}, nil)
	f.throttle.free = 0 // other reviews have all slots
	t.Run("no verdict", func(t *testing.T) {
		for _, path := range []string{"/validate/fail", "/validate/ignore", "/mutate/fail"} {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				response := f.ask(t, path+"?timeout=1s", podRequest)
				require.False(t, response.Allowed)
				require.EqualValues(t, http.StatusTooManyRequests, response.Result.Code)
				require.EqualValues(t, 1, response.Result.Details.RetryAfterSeconds)
				require.Contains(t, response.Result.Message, "wait for those of other reviews; retry")
				require.NotContains(t, response.Result.Message, "deadline")
			})
		}
	})
	// A broader policy was evaluated first, and its denial is a verdict.
	denied = []engine.Finding{finding("forbidden by the enterprise")}
	response := f.ask(t, "/validate/fail?timeout=1s", podRequest)
	require.EqualValues(t, http.StatusForbidden, response.Result.Code)
	require.Contains(t, response.Result.Message, "forbidden by the enterprise")
	require.NotContains(t, response.Result.Message, "deadline")
}

// TestReviewsInParallelShareTheAllowance: their allowance is counted when they begin, so that many
// in parallel do not use up that of other tenants.
func TestReviewsInParallelShareTheAllowance(t *testing.T) {
	t.Parallel()
	p := newThrottle(1)
	var reviews []*throttledReview
	for _, tenant := range []string{"a", "b"} {
		for range 64 {
			r := p.review(tenant)
			r.begin(time.Now())
			reviews = append(reviews, r)
		}
	}
	permitted := int64(0)
	for _, r := range reviews {
		permitted += r.left
	}
	require.Positive(t, permitted)
	require.LessOrEqual(t, permitted, int64(2*tenantBurst+2*unthrottledSteps))
	other := p.review("c")
	other.begin(time.Now())
	require.Positive(t, other.left)
	for _, r := range append(reviews, other) {
		r.Done(1)
		r.end()
	}
	require.Less(t, p.unthrottled.used, int64(1000), "the unused part is given back")
}

// TestATenantWithLittleUseHasAnAllowance after other tenants used up that of all, but not after
// many tenants have used little each.
func TestATenantWithLittleUseHasAnAllowance(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		all, own  int64
		permitted bool
	}{
		{0, tenantBurst - 1, true},
		{0, tenantBurst, false},
		{allTenantsBurst, 0, true},
		{allTenantsBurst, lightBurst - 1, true},
		{allTenantsBurst, lightBurst, false},
		{2 * allTenantsBurst, 0, false},
	} {
		p := newThrottle(1)
		p.unthrottled = allowance{used: c.all, at: now}
		p.tenants["a"] = &tenantUse{unthrottled: allowance{used: c.own, at: now}}
		r := p.review("a")
		r.begin(now)
		require.Equal(t, c.permitted, r.left > 0, "%+v", c)
		r.end()
	}
}

// TestRefusedReviewsCountTheirWork only, and not that of the call before which they end.
func TestRefusedReviewsCountTheirWork(t *testing.T) {
	t.Parallel()
	p := newThrottle(1)
	r := p.review("a")
	r.slow = func() bool { return false }
	r.Wait(t.Context(), 0)
	r.Wait(t.Context(), 100*unthrottledSteps)
	require.ErrorIs(t, r.err(t.Context()), errSlow)
	r.Done(100 * unthrottledSteps)
	r.end()
	require.LessOrEqual(t, p.unthrottled.used, int64(unthrottledSteps))
}
