package object

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

type status = v1alpha1.PolicySourceStatus

// desk is a Reporter, with the statuses and Events that were written.
type desk struct {
	Reporter[*v1alpha1.PolicySource, status]
	t       *testing.T
	sent    *events.FakeRecorder
	writes  []string
	refused error // the answer to the next write
}

var key = reconcile.Request{NamespacedName: client.ObjectKey{Name: "team"}}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, sent: events.NewFakeRecorder(100)}
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	object := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "team", Generation: 3}}
	written := func(verb string, manager string) error {
		d.writes = append(d.writes, verb+" by "+manager)
		err := d.refused
		d.refused = nil
		return err
	}
	d.Reporter = Reporter[*v1alpha1.PolicySource, status]{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
				given := client.SubResourcePatchOptions{}
				given.ApplyOptions(options)
				if err := written("patch "+sub, given.FieldManager); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, options...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
				given := client.SubResourceUpdateOptions{}
				given.ApplyOptions(options)
				if err := written("update "+sub, given.FieldManager); err != nil {
					return err
				}
				return c.SubResource(sub).Update(ctx, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				given := client.PatchOptions{}
				given.ApplyOptions(options)
				if err := written("patch", given.FieldManager); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, options...)
			},
		}).Build(),
		Manager: "lintel-test", Action: "Test", Events: d.sent, Finalizer: "lintel.dev/test",
		Status:     func(s *v1alpha1.PolicySource) *status { return &s.Status },
		Conditions: func(s *status) []metav1.Condition { return s.Conditions },
		News:       map[string]News{"Ready": Turned(metav1.ConditionFalse)},
	}
	return d
}

// reconcile reports the result of step for the object.
func (d *desk) reconcile(step func(*v1alpha1.PolicySource) (Report[status], error)) (reconcile.Result, error) {
	d.t.Helper()
	return d.Reconcile(d.t.Context(), key, &v1alpha1.PolicySource{}, func(_ context.Context, object *v1alpha1.PolicySource) (Report[status], error) {
		return step(object)
	})
}

// says is a step that sets Ready.
func says(ok bool, reason string, err error) func(*v1alpha1.PolicySource) (Report[status], error) {
	return func(object *v1alpha1.PolicySource) (Report[status], error) {
		next := object.Status.DeepCopy()
		next.ObservedGeneration = object.Generation
		Conditions{&next.Conditions, object.Generation}.Set("Ready", ok, reason, "because")
		return Report[status]{Status: next, Again: time.Hour}, err
	}
}

func (d *desk) get() *v1alpha1.PolicySource {
	d.t.Helper()
	object := &v1alpha1.PolicySource{}
	require.NoError(d.t, d.Client.Get(d.t.Context(), key.NamespacedName, object))
	return object
}

func (d *desk) events() (list []string) {
	for len(d.sent.Events) > 0 {
		list = append(list, <-d.sent.Events)
	}
	return list
}

func (d *desk) written() []string {
	list := d.writes
	d.writes = nil
	return list
}

var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "policysources"}, "team", errors.New("changed"))

func TestAStatusIsWrittenOnceAndSaidOnce(t *testing.T) {
	d := newDesk(t)
	result, err := d.reconcile(says(false, "Bad", nil))
	require.NoError(t, err)
	require.Equal(t, settleDelay, result.RequeueAfter, "the cache may have had an older status for another reconcile meanwhile")
	require.Equal(t, []string{"patch status by lintel-test"}, d.written())
	require.Equal(t, []string{"Warning Bad because"}, d.events())
	require.EqualValues(t, 3, d.get().Status.ObservedGeneration)
	require.EqualValues(t, 3, d.get().Status.Conditions[0].ObservedGeneration)
	version := d.get().ResourceVersion
	for range 2 {
		result, err = d.reconcile(says(false, "Bad", nil))
		require.NoError(t, err)
		require.Equal(t, time.Hour, result.RequeueAfter)
	}
	require.Empty(t, d.written())
	require.Empty(t, d.events())
	require.Equal(t, version, d.get().ResourceVersion)
	_, err = d.reconcile(says(true, "Good", nil))
	require.NoError(t, err)
	require.Equal(t, []string{"Normal Good because"}, d.events())

	d.Update = true
	_, err = d.reconcile(says(false, "Bad", nil))
	require.NoError(t, err)
	require.Contains(t, d.written(), "update status by lintel-test")
	require.False(t, d.get().Status.Conditions[0].Status == metav1.ConditionTrue)
}

// TestTheFirstOfFilledStatuses needs no second reconcile, and later ones do.
func TestTheFirstOfFilledStatuses(t *testing.T) {
	d := newDesk(t)
	d.Filled = true
	for _, again := range []time.Duration{time.Hour, time.Hour, settleDelay} {
		result, err := d.reconcile(says(again == time.Hour, "Any", nil))
		require.NoError(t, err)
		require.Equal(t, again, result.RequeueAfter)
	}
	require.Len(t, d.written(), 2)
}

// TestALateStatusIsNotWritten: a late writer reads the object again, and sends no Event
// meanwhile.
func TestALateStatusIsNotWritten(t *testing.T) {
	d := newDesk(t)
	result, err := d.reconcile(func(object *v1alpha1.PolicySource) (Report[status], error) {
		other := d.get()
		other.Status.Digest = "theirs"
		require.NoError(t, d.Client.Status().Update(t.Context(), other))
		return says(false, "Bad", nil)(object)
	})
	require.NoError(t, err)
	require.Equal(t, RetryDelay, result.RequeueAfter)
	require.Empty(t, d.events())
	require.Equal(t, status{Digest: "theirs"}, d.get().Status)
	_, err = d.reconcile(says(false, "Bad", nil))
	require.NoError(t, err)
	require.Equal(t, []string{"Warning Bad because"}, d.events())
	require.Equal(t, "theirs", d.get().Status.Digest)
}

func TestWhatFailsIsSaidAndTriedAgain(t *testing.T) {
	d := newDesk(t)
	broken := errors.New("the store is down")
	_, err := d.reconcile(says(false, "Bad", broken))
	require.ErrorIs(t, err, broken)
	require.Equal(t, []string{"Warning Bad because"}, d.events())
	require.Len(t, d.get().Status.Conditions, 1)

	d.refused = apierrors.NewForbidden(schema.GroupResource{Resource: "policysources"}, "team", errors.New("no"))
	_, err = d.reconcile(says(true, "Good", broken))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "writing the status of PolicySource team: ")
	require.Empty(t, d.events(), "nothing is said that the status does not say")

	d.written()
	result, err := d.reconcile(says(true, "Good", fmt.Errorf("creating: %w", conflict)))
	require.NoError(t, err, "what passes by itself")
	require.Equal(t, RetryDelay, result.RequeueAfter)
	require.Empty(t, d.written())
	require.Empty(t, d.events())

	result, err = d.reconcile(func(*v1alpha1.PolicySource) (Report[status], error) {
		return Report[status]{Events: []Event{{Reason: "Renewed", Message: "today"}}}, nil
	})
	require.NoError(t, err)
	require.Zero(t, result)
	require.Empty(t, d.written(), "a step may leave the status as it is")
	require.Equal(t, []string{"Normal Renewed today"}, d.events())
}

// TestWhatWaitsForTheStatus is called once it is written.
func TestWhatWaitsForTheStatus(t *testing.T) {
	d, called := newDesk(t), 0
	step := func(object *v1alpha1.PolicySource) (Report[status], error) {
		report, err := says(false, "Bad", nil)(object)
		report.Written = func() { called++ }
		return report, err
	}
	d.refused = conflict
	_, err := d.reconcile(step)
	require.NoError(t, err)
	require.Zero(t, called)
	for range 2 {
		_, err = d.reconcile(step)
		require.NoError(t, err)
	}
	require.Equal(t, 2, called, "also where it was written before")
}

func TestObjectsThatAreGone(t *testing.T) {
	d := newDesk(t)
	gone := 0
	never := func(context.Context, *v1alpha1.PolicySource) (Report[status], error) {
		t.Error("there is nothing to carry out")
		return Report[status]{}, nil
	}
	nobody := reconcile.Request{NamespacedName: client.ObjectKey{Name: "nobody"}}
	_, err := d.Reconcile(t.Context(), nobody, &v1alpha1.PolicySource{}, never)
	require.NoError(t, err, "where nobody wants to know")
	d.Gone = func(_ context.Context, name client.ObjectKey) error {
		require.Equal(t, nobody.NamespacedName, name)
		gone++
		return nil
	}
	_, err = d.Reconcile(t.Context(), nobody, &v1alpha1.PolicySource{}, never)
	require.NoError(t, err)
	require.Equal(t, 1, gone)

	d.refused = apierrors.NewNotFound(schema.GroupResource{Resource: "policysources"}, "team")
	_, err = d.Reconcile(t.Context(), key, &v1alpha1.PolicySource{}, func(_ context.Context, object *v1alpha1.PolicySource) (Report[status], error) {
		return says(false, "Bad", nil)(object)
	})
	require.NoError(t, err, "it went meanwhile")
	require.Empty(t, d.events())
	require.Equal(t, 1, gone)
}

func TestFinalizers(t *testing.T) {
	d := newDesk(t)
	object := d.get()
	for range 2 {
		require.NoError(t, d.SetFinalizer(t.Context(), object, controllerutil.AddFinalizer))
	}
	require.Equal(t, []string{"patch by lintel-test"}, d.written())
	require.Equal(t, []string{"lintel.dev/test"}, d.get().Finalizers)
	late := d.get()
	require.NoError(t, d.SetFinalizer(t.Context(), object, controllerutil.RemoveFinalizer))
	require.Empty(t, d.get().Finalizers)
	late.Finalizers = nil
	require.True(t, Passes(d.SetFinalizer(t.Context(), late, controllerutil.AddFinalizer)), "somebody else may have written them")
	d.refused = apierrors.NewNotFound(schema.GroupResource{Resource: "policysources"}, "team")
	require.Error(t, d.SetFinalizer(t.Context(), d.get(), controllerutil.AddFinalizer))
	going := d.get()
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"lintel.dev/test"}
	d.refused = apierrors.NewNotFound(schema.GroupResource{Resource: "policysources"}, "team")
	require.NoError(t, d.SetFinalizer(t.Context(), going, controllerutil.RemoveFinalizer), "it is gone")
}

func TestWhatPasses(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("it goes"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
	for _, passes := range []error{conflict, terminating, exists} {
		result, err := Result(time.Hour, fmt.Errorf("creating: %w", passes))
		require.NoError(t, err)
		require.Equal(t, RetryDelay, result.RequeueAfter)
	}
	result, err := Result(time.Hour, forbidden)
	require.ErrorIs(t, err, forbidden)
	require.Zero(t, result)
	result, err = Result(time.Hour, nil)
	require.NoError(t, err)
	require.Equal(t, time.Hour, result.RequeueAfter)
}

func TestConditions(t *testing.T) {
	var list []metav1.Condition
	Conditions{&list, 1}.Set("Ready", true, "Good", "fine")
	require.Equal(t, metav1.ConditionTrue, list[0].Status)
	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	list[0].LastTransitionTime = then
	Conditions{&list, 2}.Set("Ready", true, "Good", strings.Repeat("x", maxMessage-1)+"é")
	require.Equal(t, then, list[0].LastTransitionTime, "it is as true as it was")
	require.EqualValues(t, 2, list[0].ObservedGeneration)
	require.Equal(t, strings.Repeat("x", maxMessage-1)+"…", list[0].Message)
	Conditions{&list, 2}.SetStatus("Ready", metav1.ConditionUnknown, "Maybe", "")
	require.NotEqual(t, then, list[0].LastTransitionTime)
	Conditions{&list, 2}.Set("Ready", false, "Bad", "")
	require.Equal(t, metav1.ConditionFalse, list[0].Status)
	Conditions{&list, 2}.Remove("Ready")
	require.Empty(t, list)
}

func TestShorten(t *testing.T) {
	require.Equal(t, "héllo", Shorten("héllo", 6))
	require.Equal(t, "héll…", Shorten("héllo", 5))
	require.Equal(t, "h…", Shorten("héllo", 2), "a character is never cut")
	require.Equal(t, "…", Shorten("é", 1))
	require.Equal(t, "…", Shorten("\x80\x80\x80", 1), "nor is there one to keep")
	for limit := range 20 {
		short := Shorten(strings.Repeat("世", 20), limit)
		require.True(t, utf8.ValidString(short))
		require.LessOrEqual(t, len(short), limit+len("…"))
	}
}

func TestNews(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Type: "Degraded", Status: status, Reason: reason, Message: "because"}
	}
	good, bad := condition("False", "Fine"), condition("True", "Broken")
	for name, c := range map[string]struct {
		was, now *metav1.Condition
		want     *Event
	}{
		"new and good":       {nil, good, nil},
		"new and bad":        {nil, bad, &Event{true, "Broken", "because"}},
		"as it was":          {good, good, nil},
		"as bad as it was":   {bad, bad, nil},
		"gets bad":           {good, bad, &Event{true, "Broken", "because"}},
		"gets good":          {bad, good, &Event{false, "Fine", "because"}},
		"bad, and otherwise": {bad, condition("True", "Lost"), &Event{true, "Lost", "because"}},
		"good, otherwise":    {good, condition("False", "Calm"), nil},
	} {
		require.Equal(t, c.want, Turned(metav1.ConditionTrue)(c.was, c.now), name)
	}
	news := map[string]News{"Degraded": Turned(metav1.ConditionTrue)}
	other := metav1.Condition{Type: "Other", Status: "True", Reason: "New"}
	require.Equal(t, []Event{{true, "Broken", "because"}}, Changes(news, []metav1.Condition{other, *good}, []metav1.Condition{other, *bad}))
	require.Empty(t, Changes(news, nil, []metav1.Condition{other}), "of others there is no news")
}

func TestEventsFitIntoTheAPI(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	Send(recorder, parent, "Test", Event{Reason: "Long", Message: strings.Repeat("世", 1000)}, Event{Warning: true, Reason: "Bad", Message: "100%"})
	text := strings.TrimPrefix(<-recorder.Events, "Normal Long ")
	require.LessOrEqual(t, len(text), 1024)
	require.True(t, utf8.ValidString(text))
	require.Equal(t, "Warning Bad 100%", <-recorder.Events)
}
