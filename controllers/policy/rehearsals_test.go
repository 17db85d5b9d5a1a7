package policy

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rehearsal"
	"github.com/lintel-policy/lintel/policies/source"
)

// testRehearsals is a rehearsals whose process and store are functions.
type testRehearsals struct {
	*rehearsals
	t     *testing.T
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu       sync.Mutex
	requests []rehearsal.Request
}

type runFunc func(request rehearsal.Request, progress func(*rehearsal.Tally)) (*rehearsal.Tally, error)

func newTestRehearsals(t *testing.T, run runFunc) *testRehearsals {
	live := engine.NewLive(admission.BuiltinResources())
	live.Publish()
	r := &testRehearsals{t: t, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
	r.rehearsals = newRehearsals(live, "file:///records", "none")
	r.run = func(_ context.Context, request rehearsal.Request, progress func(*rehearsal.Tally)) (*rehearsal.Tally, error) {
		r.mu.Lock()
		r.requests = append(r.requests, request)
		r.mu.Unlock()
		return run(request, progress)
	}
	r.newest = func(context.Context, string, time.Time, time.Time) (time.Time, error) { return time.Now(), nil }
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, r.attempts.Source().Start(ctx, r.queue))
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-done; r.queue.ShutDown() })
	return r
}

// look starts a part, waits until it has ended, and returns the outcome.
func (r *testRehearsals) look(object *v1alpha1.PolicySource, set *engine.PolicySet) *rehearsalOutcome {
	r.t.Helper()
	r.Look(object, set)
	request, _ := r.queue.Get()
	require.Equal(r.t, object.Name, request.Name)
	r.queue.Done(request)
	outcome, _ := r.Look(object, set)
	return outcome
}

func (r *testRehearsals) seen() []rehearsal.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// rehearsable is a source about Pods whose revision in force is old, and the set of a new one.
func rehearsable(t *testing.T, r *testRehearsals, change ...func(*v1alpha1.PolicySource)) (*v1alpha1.PolicySource, *engine.PolicySet) {
	t.Helper()
	const about = "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}]}\npackage p\ndeny contains "
	object := makeSource(about+`"new"`, append([]func(*v1alpha1.PolicySource){func(object *v1alpha1.PolicySource) {
		object.Spec.Rehearse = &v1alpha1.Rehearse{Since: "2d"}
	}}, change...)...)
	old, err := policyset.Compile(source.FromPolicySource(object, map[string]string{"p.rego": about + `"old"`}, "old"))
	require.NoError(t, err)
	r.live.Put(old)
	object.Status.Digest, object.Status.Revision = old.Digest(), "old"
	return object, pass(t, object).Set
}

// result is a complete rehearsal with numbers.
func result(change func(*rehearsal.Tally)) runFunc {
	return func(rehearsal.Request, func(*rehearsal.Tally)) (*rehearsal.Tally, error) {
		tally := &rehearsal.Tally{Requests: 10, Seen: 10, Last: "u", Newest: time.Now(), Complete: true}
		change(tally)
		return tally, nil
	}
}

func nothing(*rehearsal.Tally) {}

func TestTheResultOfARehearsal(t *testing.T) {
	t.Parallel()
	warnings := func(n int64) func(*v1alpha1.PolicySource) {
		return func(object *v1alpha1.PolicySource) { object.Spec.Rehearse.MaxNewWarnings = &n }
	}
	proceed := func(object *v1alpha1.PolicySource) {
		object.Spec.Rehearse.OnMissingRecords = v1alpha1.OnMissingRecordsProceed
	}
	for name, test := range map[string]struct {
		tally   func(*rehearsal.Tally)
		change  func(*v1alpha1.PolicySource)
		newest  func(context.Context, string, time.Time, time.Time) (time.Time, error)
		want    v1alpha1.RehearsalResult
		message string
	}{
		"nothing differs":            {nothing, nil, nil, v1alpha1.RehearsalPassed, "10 recorded requests since"},
		"denials":                    {func(t *rehearsal.Tally) { t.NewDenials = 1 }, nil, nil, v1alpha1.RehearsalFailed, "1 would be newly denied (maxNewDenials: 0)"},
		"permitted denials":          {func(t *rehearsal.Tally) { t.NewDenials = 1 }, func(object *v1alpha1.PolicySource) { object.Spec.Rehearse.MaxNewDenials = 1 }, nil, v1alpha1.RehearsalPassed, "1 of them newly denied"},
		"any warnings":               {func(t *rehearsal.Tally) { t.NewWarnings = 9 }, nil, nil, v1alpha1.RehearsalPassed, ""},
		"too many warnings":          {func(t *rehearsal.Tally) { t.NewWarnings = 9 }, warnings(8), nil, v1alpha1.RehearsalFailed, "9 would have new warnings (maxNewWarnings: 8)"},
		"no warnings":                {func(t *rehearsal.Tally) { t.NewWarnings = 1 }, warnings(0), nil, v1alpha1.RehearsalFailed, "1 would have new warnings"},
		"undecided":                  {func(t *rehearsal.Tally) { t.Undecided, t.FirstUndecided = 2, "it is masked" }, nil, nil, v1alpha1.RehearsalFailed, "2 are undecided or unreadable (maxUndecided: 0), first it is masked"},
		"unreadable":                 {func(t *rehearsal.Tally) { t.Unreadable = 2 }, proceed, nil, v1alpha1.RehearsalFailed, "2 are undecided or unreadable"},
		"permitted undecided":        {func(t *rehearsal.Tally) { t.Undecided, t.Unreadable = 1, 1 }, func(object *v1alpha1.PolicySource) { object.Spec.Rehearse.MaxUndecided = 2 }, nil, v1alpha1.RehearsalPassed, ""},
		"no requests":                {func(t *rehearsal.Tally) { t.Requests = 0 }, nil, nil, v1alpha1.RehearsalWaiting, "there are no records of requests of the last 2d"},
		"no requests, proceed":       {func(t *rehearsal.Tally) { t.Requests = 0 }, proceed, nil, v1alpha1.RehearsalSkipped, "there are no records"},
		"only unreadable":            {func(t *rehearsal.Tally) { t.Requests, t.Unreadable = 0, 1 }, proceed, nil, v1alpha1.RehearsalFailed, "1 are undecided or unreadable"},
		"old requests":               {func(t *rehearsal.Tally) { t.Newest = time.Now().Add(-25 * time.Hour) }, nil, nil, v1alpha1.RehearsalWaiting, "too old"},
		"an empty store":             {nothing, nil, at(time.Time{}, nil), v1alpha1.RehearsalWaiting, "there are no records of requests of the last 2d"},
		"an empty store, proceed":    {nothing, proceed, at(time.Time{}, nil), v1alpha1.RehearsalSkipped, "it is not rehearsed: there are no records"},
		"an old store":               {nothing, nil, at(time.Now().Add(-25*time.Hour), nil), v1alpha1.RehearsalWaiting, "too old"},
		"a store that denies access": {nothing, nil, at(time.Time{}, errors.New("forbidden")), v1alpha1.RehearsalWaiting, "the records cannot be read: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestRehearsals(t, result(test.tally))
			if test.newest != nil {
				r.newest = test.newest
			}
			object, set := rehearsable(t, r, func(object *v1alpha1.PolicySource) {
				if test.change != nil {
					test.change(object)
				}
			})
			outcome := r.look(object, set)
			require.Equal(t, test.want, outcome.status.Result, outcome.status.Message)
			require.Equal(t, test.want == v1alpha1.RehearsalPassed || test.want == v1alpha1.RehearsalSkipped, outcome.permitted)
			require.Contains(t, outcome.status.Message, test.message)
			require.Equal(t, set.Digest(), outcome.status.Digest)
			if !outcome.permitted {
				require.Contains(t, outcome.status.Message, "kubectl annotate --overwrite policysource team lintel.dev/approved-revision="+set.Digest())
			}

			next := status(facts{object: object, verdict: &source.Verdict{Set: set}, rehearsal: outcome})
			if outcome.permitted {
				require.Equal(t, set.Digest(), next.Digest)
				return
			}
			require.Equal(t, object.Status.Digest, next.Digest)
			require.Equal(t, "old", next.Revision)
			ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
			require.Equal(t, metav1.ConditionFalse, ready.Status)
			require.Equal(t, "Rehearsal"+string(test.want), ready.Reason)
			require.Contains(t, ready.Message, "the last good revision old stays live")
			object.Status = next
			again, _ := r.Look(object, set)
			require.Equal(t, next.Rehearsal, again.status, "nothing is written when nothing changed")
		})
	}
}

func at(newest time.Time, err error) func(context.Context, string, time.Time, time.Time) (time.Time, error) {
	return func(context.Context, string, time.Time, time.Time) (time.Time, error) { return newest, err }
}

func TestARevisionOfAKindWithoutRecordsWaits(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(nothing))
	object, _ := rehearsable(t, r)
	object.Spec.Inline.Files["p.rego"] = strings.Replace(object.Spec.Inline.Files["p.rego"], "Pod", "Secret", 1)
	outcome := r.look(object, pass(t, object).Set)
	require.Equal(t, v1alpha1.RehearsalWaiting, outcome.status.Result)
	require.Contains(t, outcome.status.Message, "Lintel receives no requests about Secret yet")
}

func TestWithoutARecorderThereAreNoRecords(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(nothing))
	r.records = ""
	object, set := rehearsable(t, r)
	outcome := r.look(object, set)
	require.Equal(t, v1alpha1.RehearsalWaiting, outcome.status.Result)
	require.Contains(t, outcome.status.Message, "the manager records no requests: set --record")
	require.Empty(t, r.seen())
}

func TestAnApprovedRevisionGoesLive(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(func(t *rehearsal.Tally) { t.NewDenials = 3 }))
	object, set := rehearsable(t, r)
	failed := r.look(object, set)
	object.Status.Rehearsal = failed.status
	object.Annotations = map[string]string{v1alpha1.ApprovedRevisionAnnotation: object.Status.Digest}
	outcome, _ := r.Look(object, set)
	require.False(t, outcome.permitted)
	require.Contains(t, outcome.status.Message, "approves another revision")

	object.Annotations[v1alpha1.ApprovedRevisionAnnotation] = set.Digest()
	outcome, _ = r.Look(object, set)
	require.True(t, outcome.permitted)
	require.Equal(t, v1alpha1.RehearsalApproved, outcome.status.Result)
	require.EqualValues(t, 3, outcome.status.NewDenials)

	object.Status = status(facts{object: object, verdict: &source.Verdict{Set: set}, rehearsal: outcome})
	outcome, _ = r.Look(object, set)
	require.Equal(t, v1alpha1.RehearsalApproved, outcome.status.Result, "the status of the revision in force says so")
	require.Empty(t, outcome.status.Checkpoint)
}

// TestARehearsalIsNotRepeated for the same policies, also not by another leader. It is repeated for
// others, on request, and when the result is old.
func TestARehearsalIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(func(t *rehearsal.Tally) { t.NewDenials = 3 }))
	object, set := rehearsable(t, r)
	object.Status.Rehearsal = r.look(object, set).status
	r.Look(object, set)
	object.Spec.Rehearse.MaxNewDenials = 3
	outcome, _ := r.Look(object, set)
	require.Equal(t, v1alpha1.RehearsalPassed, outcome.status.Result, "other limits require no repetition")
	object.Spec.Rehearse.MaxNewDenials = 0
	require.Len(t, r.seen(), 1)

	next := newTestRehearsals(t, result(nothing))
	next.live.Put(first(r.live.Get(object.Name)))
	outcome, _ = next.Look(object, set)
	require.Equal(t, v1alpha1.RehearsalFailed, outcome.status.Result)
	require.Empty(t, next.seen())

	object.Annotations = map[string]string{v1alpha1.ReconcileAtAnnotation: "now"}
	require.Equal(t, v1alpha1.RehearsalPassed, next.look(object, set).status.Result)
	require.Len(t, next.seen(), 1)
	for name, change := range map[string]func(){
		"the period":   func() { object.Spec.Rehearse.Since = "3d" },
		"the time":     func() { next.states[object.Name].until = time.Now().Add(-25 * time.Hour) },
		"the settings": func() { object.Spec.FailurePolicy = v1alpha1.FailurePolicyIgnore },
	} {
		before := len(next.seen())
		change()
		next.look(object, pass(t, object).Set)
		require.Len(t, next.seen(), before+1, name)
	}
}

func first[T any](value T, _ bool) T { return value }

// TestAnInterruptedRehearsalContinues with the state in the status, for the same period.
func TestAnInterruptedRehearsalContinues(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, func(_ rehearsal.Request, progress func(*rehearsal.Tally)) (*rehearsal.Tally, error) {
		progress(&rehearsal.Tally{Requests: 4, Seen: 4, Last: "u4", NewDenials: 2})
		return nil, errors.New("the machine is busy")
	})
	object, set := rehearsable(t, r)
	outcome := r.look(object, set)
	require.Equal(t, v1alpha1.RehearsalRunning, outcome.status.Result)
	require.Equal(t, "4 recorded requests are evaluated so far; the evaluation is repeated after an error: the machine is busy", outcome.status.Message)
	require.Equal(t, ReasonRehearsing, outcome.reason())
	object.Status.Rehearsal = outcome.status

	next := newTestRehearsals(t, func(request rehearsal.Request, _ func(*rehearsal.Tally)) (*rehearsal.Tally, error) {
		tally := *request.Tally
		tally.Requests, tally.Newest, tally.Complete = 9, time.Now(), true
		return &tally, nil
	})
	next.live.Put(first(r.live.Get(object.Name)))
	outcome = next.look(object, set)
	require.Equal(t, v1alpha1.RehearsalFailed, outcome.status.Result)
	require.EqualValues(t, 2, outcome.status.NewDenials)
	require.EqualValues(t, 9, outcome.status.Requests)
	require.Equal(t, object.Status.Rehearsal.Since.Time, next.seen()[0].Since)
	require.Equal(t, object.Status.Rehearsal.Until.Time, next.seen()[0].Until)
}

func TestARehearsalOfOtherRecordsBeginsAgain(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, func(_ rehearsal.Request, progress func(*rehearsal.Tally)) (*rehearsal.Tally, error) {
		progress(&rehearsal.Tally{Requests: 4, Seen: 4, Last: "u4", NewDenials: 2})
		return nil, rehearsal.ErrChanged
	})
	object, set := rehearsable(t, r)
	outcome := r.look(object, set)
	require.Equal(t, v1alpha1.RehearsalRunning, outcome.status.Result)
	require.Zero(t, outcome.status.NewDenials)
	require.Empty(t, outcome.status.Checkpoint)
}

func TestTheFirstRevisionIsComparedWithNone(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(nothing))
	object, set := rehearsable(t, r)
	r.live.Remove(object.Name)
	other := object.DeepCopy()
	other.Name = "other"
	r.live.Put(pass(t, other).Set)
	object.Status.Digest = ""
	require.Equal(t, v1alpha1.RehearsalPassed, r.look(object, set).status.Result)
	request := r.seen()[0]
	require.Nil(t, request.Live)
	require.Len(t, request.Others, 1)
	require.Empty(t, request.Others[0].Files)
}

func TestSourcesThatAreNotRehearsed(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(nothing))
	object, set := rehearsable(t, r)
	object.Status.Rehearsal = &v1alpha1.RehearsalStatus{Digest: "other", Result: v1alpha1.RehearsalFailed}
	object.Status.Digest = set.Digest()
	outcome, _ := r.Look(object, set)
	require.True(t, outcome.permitted)
	require.Nil(t, outcome.status, "a revision that was withdrawn has no result")
	object.Spec.Rehearse = nil
	outcome, _ = r.Look(object, set)
	require.Nil(t, outcome)
	require.Empty(t, r.seen())
}

func TestTheCommandOfARehearsal(t *testing.T) {
	t.Parallel()
	r := newTestRehearsals(t, result(func(t *rehearsal.Tally) { t.NewDenials = 1 }))
	object, _ := rehearsable(t, r)
	set, err := policyset.Compile(source.FromPolicySource(object, object.Spec.Inline.Files, "main@sha1:abc"))
	require.NoError(t, err)
	object.Spec.Inline = nil
	object.Spec.Git = &v1alpha1.GitOrigin{URL: "https://host/o'r.git", Path: "a b"}
	object.Status.Revision = "main@sha1:def"
	command := r.look(object, set).status.Command
	require.Contains(t, command, `lintel replay --against 'git+https://host/o'\''r.git?ref=abc&path=a+b' --baseline 'git+https://host/o'\''r.git?ref=def&path=a+b' --name team --since 20`)
	require.True(t, strings.HasSuffix(command, " /records"), command)
}
