package object

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var shop = client.ObjectKey{Namespace: "ns", Name: "shop"}

// parent is who has children here.
var parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "parent", UID: "parent"}}

// site is an API server that records the writes.
type site struct {
	client.Client
	t      *testing.T
	writes []string
	// taken puts another object in place of the one that was read, and refused is the
	// answer to the next update.
	taken   client.Object
	refused error
}

func newSite(t *testing.T, objects ...client.Object) *site {
	s := &site{t: t}
	store := fake.NewClientBuilder().WithObjects(objects...).WithReturnManagedFields().Build()
	write := func(what string) {
		s.writes = append(s.writes, what)
		if s.taken != nil {
			require.NoError(t, client.IgnoreNotFound(store.Delete(t.Context(), s.taken.DeepCopyObject().(client.Object))))
			require.NoError(t, store.Create(t.Context(), s.taken))
			s.taken = nil
		}
	}
	s.Client = interceptor.NewClient(store, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			write("create")
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			write("update")
			if err := s.refused; err != nil {
				s.refused = nil
				return err
			}
			if err := sameUID(ctx, store, o); err != nil {
				return err
			}
			return c.Update(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			write("patch")
			return c.Patch(ctx, o, p, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			write("apply")
			if err := sameUID(ctx, store, read(t, o)); err != nil {
				return err
			}
			return c.Apply(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			write("delete")
			given := client.DeleteOptions{}
			given.ApplyOptions(options)
			if given.Preconditions == nil || given.Preconditions.UID == nil {
				return errors.New("any object of the name would be deleted")
			}
			asked := o.DeepCopyObject().(client.Object)
			asked.SetUID(*given.Preconditions.UID)
			if err := sameUID(ctx, store, asked); err != nil {
				return err
			}
			return c.Delete(ctx, o)
		},
	})
	return s
}

// sameUID is what the API server checks of a uid that is sent.
func sameUID(ctx context.Context, store client.Client, sent client.Object) error {
	kind, err := store.GroupVersionKindFor(sent)
	if err != nil {
		return err
	}
	has := MetadataOf(kind)
	if err := store.Get(ctx, client.ObjectKeyFromObject(sent), has); err != nil {
		return err
	}
	if sent.GetUID() != "" && sent.GetUID() != has.UID {
		return apierrors.NewConflict(schema.GroupResource{Resource: kind.Kind}, sent.GetName(), errors.New("Precondition failed: UID in precondition"))
	}
	return nil
}

func read(t *testing.T, o runtime.ApplyConfiguration) *unstructured.Unstructured {
	text, err := json.Marshal(o)
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(text))
	return object
}

func (s *site) applier() *Applier { return &Applier{Client: s, Live: s, Manager: "test"} }

// written are the writes since it was asked last.
func (s *site) written() []string {
	list := s.writes
	s.writes = nil
	return list
}

func (s *site) get() *corev1.ConfigMap {
	s.t.Helper()
	object := &corev1.ConfigMap{}
	require.NoError(s.t, s.Get(s.t.Context(), shop, object))
	return object
}

// wanted is a ConfigMap of parent.
func wanted(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: shop.Namespace, Name: shop.Name, Labels: map[string]string{"ours": "yes"}, Annotations: map[string]string{"ours": "yes"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Data: data,
	}
}

func stored(uid types.UID, data map[string]string) *corev1.ConfigMap {
	object := wanted(data)
	object.UID = uid
	return object
}

// ways are the two ways to write an object, and what each of them sends.
var ways = map[string]struct {
	keep func(a *Applier, ours Ours, want any, have client.Object) (bool, error)
	sent string
}{
	"apply": {func(a *Applier, ours Ours, want any, have client.Object) (bool, error) {
		return a.Apply(context.Background(), ours, want, have)
	}, "apply"},
	"replace": {func(a *Applier, ours Ours, want any, have client.Object) (bool, error) {
		return a.Replace(context.Background(), ours, want, have)
	}, "update"},
}

func TestNothingIsWrittenWhereNothingHasChanged(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			a, have := s.applier(), &corev1.ConfigMap{}
			keep := func(want *corev1.ConfigMap) bool {
				t.Helper()
				changed, err := way.keep(a, ControlledBy(parent), want, have)
				require.NoError(t, err)
				require.Equal(t, s.get().Data, have.Data, "it is read as it is now")
				return changed
			}
			want := wanted(map[string]string{"a": "1"})
			require.True(t, keep(want))
			require.Equal(t, "create", s.written()[0])
			require.Equal(t, want.Data, have.Data)
			for range 2 {
				require.False(t, keep(want))
			}
			require.Empty(t, s.written())

			// Fields that others add do not cause a write; changes of our fields do.
			others := s.get()
			others.Annotations["theirs"] = "note"
			require.NoError(t, s.Update(t.Context(), others))
			s.written()
			require.False(t, keep(want))
			require.Empty(t, s.written())
			require.Equal(t, "note", s.get().Annotations["theirs"])
			others = s.get()
			others.Annotations["ours"] = "no"
			require.NoError(t, s.Update(t.Context(), others))
			others = s.get()
			others.Data["a"] = "2"
			require.NoError(t, s.Update(t.Context(), others))
			s.written()
			require.True(t, keep(want))
			require.Contains(t, s.written(), way.sent)
			require.Equal(t, "1", s.get().Data["a"])
			require.Equal(t, map[string]string{"ours": "yes", "theirs": "note"}, s.get().Annotations)
			require.False(t, keep(want))
			require.Empty(t, s.written())

			require.True(t, keep(wanted(map[string]string{"b": "1"})))
			require.Equal(t, map[string]string{"b": "1"}, s.get().Data, "what is not wanted any more goes, though it was created")
			require.False(t, keep(wanted(map[string]string{"b": "1"})))
		})
	}
}

func TestWhatOthersAdd(t *testing.T) {
	for name, data := range map[string]map[string]string{"apply": {"a": "1", "theirs": "x"}, "replace": {"a": "1"}} {
		s := newSite(t)
		a, have := s.applier(), &corev1.ConfigMap{}
		want := wanted(map[string]string{"a": "1"})
		_, err := ways[name].keep(a, ControlledBy(parent), want, have)
		require.NoError(t, err)
		others := s.get()
		others.Data["theirs"], others.Labels["theirs"], others.Finalizers = "x", "x", []string{"example.com/hold", "x.kubernetes.io/y", "orphan"}
		require.NoError(t, s.Update(t.Context(), others))
		_, err = ways[name].keep(a, ControlledBy(parent), want, have)
		require.NoError(t, err)
		require.Equal(t, data, s.get().Data, name)
		require.Equal(t, map[string]string{"ours": "yes", "theirs": "x"}, s.get().Labels, name)
		if name == "replace" {
			require.Equal(t, []string{"x.kubernetes.io/y", "orphan"}, s.get().Finalizers)
		}
	}
}

// TestWhatWasCreatedIsGivenUp: the API server keeps apart who creates and who applies.
func TestWhatWasCreatedIsGivenUp(t *testing.T) {
	s := newSite(t)
	a := s.applier()
	for _, data := range []map[string]string{{"a": "1", "b": "2"}, {"a": "1"}} {
		_, err := a.Apply(t.Context(), ControlledBy(parent), wanted(data), nil)
		require.NoError(t, err)
		require.Equal(t, data, s.get().Data)
	}
}

// TestWhatIsWrittenRightAfterItsCreation: the API server writes the names of a
// CustomResourceDefinition immediately. That is not a failure, and the next write releases the
// created fields.
func TestWhatIsWrittenRightAfterItsCreation(t *testing.T) {
	s := newSite(t)
	inner := s.Client.(client.WithWatch)
	s.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := c.Create(ctx, o, options...); err != nil {
				return err
			}
			// The API server answers with managedFields, the fake one does not.
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			other := o.DeepCopyObject().(client.Object)
			other.SetManagedFields(nil)
			other.SetLabels(map[string]string{"ours": "yes", "theirs": "yes"})
			return c.Update(ctx, other, client.FieldOwner("other"))
		},
		// The fake API server does not check the resourceVersion in a JSON patch.
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			text, err := p.Data(o)
			require.NoError(t, err)
			if version := s.get().ResourceVersion; strings.Contains(string(text), "/metadata/resourceVersion") && version != o.GetResourceVersion() {
				return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, o.GetName(), errors.New("the object has been modified"))
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	a := s.applier()
	for _, data := range []map[string]string{{"a": "1", "b": "2"}, {"a": "1"}} {
		_, err := a.Apply(t.Context(), ControlledBy(parent), wanted(data), nil)
		require.NoError(t, err)
		require.Equal(t, data, s.get().Data)
		require.Equal(t, "yes", s.get().Labels["theirs"])
	}
}

// TestFormerManagers: unwanted fields that a former operator set are removed. Fields of other
// managers stay, and so do fields that are set under the operator's name later.
func TestFormerManagers(t *testing.T) {
	for _, former := range [][]string{nil, {"former"}} {
		s := newSite(t)
		require.NoError(t, s.Create(t.Context(), wanted(map[string]string{"a": "0", "old": "x"}), client.FieldOwner("former")))
		others := s.get()
		others.Data["theirs"] = "x"
		require.NoError(t, s.Update(t.Context(), others, client.FieldOwner("kubectl-edit")))
		a, want := s.applier(), map[string]string{"a": "1", "old": "x", "theirs": "x"}
		if a.Former = former; former != nil {
			delete(want, "old")
		}
		for range 2 {
			_, err := a.Apply(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), nil)
			require.NoError(t, err)
			require.Equal(t, want, s.get().Data)
			s.written()
		}
		noted := s.get()
		noted.Data["note"], want["note"] = "x", "x"
		require.NoError(t, s.Update(t.Context(), noted, client.FieldOwner("former")))
		s.written()
		a.wanted = nil // as in a manager that has restarted
		_, err := a.Apply(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), nil)
		require.NoError(t, err)
		require.Equal(t, []string{"apply"}, s.written(), "nothing is taken over again")
		require.Equal(t, want, s.get().Data)
	}
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	foreign := stored("1", map[string]string{"a": "theirs"})
	foreign.OwnerReferences[0].UID = "somebody"
	for name, way := range ways {
		s := newSite(t, foreign.DeepCopy())
		before := s.get()
		_, err := way.keep(s.applier(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), &corev1.ConfigMap{})
		var found *Foreign
		require.ErrorAs(t, err, &found, name)
		require.Equal(t, Foreign{"ConfigMap", shop}, *found)
		require.EqualError(t, err, "ConfigMap shop does not belong to this object and is left alone; delete it, or have this object under another name")
		require.NoError(t, s.applier().Remove(t.Context(), ControlledBy(parent), shop, &corev1.ConfigMap{}))
		require.Empty(t, s.written(), name)
		require.Equal(t, before, s.get())
	}
}

// TestWhoTakesANameMeanwhileKeepsIt: between reading and writing, another object may come.
func TestWhoTakesANameMeanwhileKeepsIt(t *testing.T) {
	for name, way := range ways {
		for begin, objects := range map[string][]client.Object{"after another one": {stored("1", nil)}, "where there was none": nil} {
			s := newSite(t, objects...)
			s.taken = stored("2", map[string]string{"a": "theirs"})
			_, err := way.keep(s.applier(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), &corev1.ConfigMap{})
			require.True(t, Passes(err), "%s %s: %v", name, begin, err)
			require.Equal(t, map[string]string{"a": "theirs"}, s.get().Data, "%s %s", name, begin)
			require.EqualValues(t, "2", s.get().UID)
		}
	}
	s := newSite(t, stored("1", nil))
	s.taken = stored("2", nil)
	err := s.applier().Remove(t.Context(), ControlledBy(parent), shop, &corev1.ConfigMap{})
	require.True(t, Passes(err), "%v", err)
	require.EqualValues(t, "2", s.get().UID)
}

// TestAnObjectThatIsMadeAgainIsAnother: the records of the former object do not apply.
func TestAnObjectThatIsMadeAgainIsAnother(t *testing.T) {
	for name, way := range ways {
		s := newSite(t, stored("1", map[string]string{"a": "1"}))
		a, have := s.applier(), &corev1.ConfigMap{}
		_, err := way.keep(a, ControlledBy(parent), wanted(map[string]string{"a": "1"}), have)
		require.NoError(t, err)
		again := stored("2", map[string]string{"a": "0"})
		require.NoError(t, s.Delete(t.Context(), again.DeepCopy(), client.Preconditions{UID: new(types.UID("1"))}))
		require.NoError(t, s.Create(t.Context(), again))
		_, err = way.keep(a, ControlledBy(parent), wanted(map[string]string{"a": "1"}), have)
		require.NoError(t, err)
		require.Equal(t, "1", s.get().Data["a"], name)
	}
}

// TestObjectsThatTheCacheLacks: it may hold labelled objects only.
func TestObjectsThatTheCacheLacks(t *testing.T) {
	s := newSite(t, stored("1", map[string]string{"a": "0"}))
	a := s.applier()
	a.Client = interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "shop")
		},
	})
	_, err := a.Apply(t.Context(), func(client.Object) bool { return false }, wanted(nil), &corev1.ConfigMap{})
	require.ErrorContains(t, err, "is left alone")
	_, err = a.Apply(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), &corev1.ConfigMap{})
	require.NoError(t, err)
	require.Equal(t, "1", s.get().Data["a"])
	require.NotContains(t, s.written(), "create")
	found, err := a.Find(t.Context(), ControlledBy(parent), client.ObjectKey{Namespace: "ns", Name: "none"}, &corev1.ConfigMap{})
	require.NoError(t, err)
	require.False(t, found)
}

func TestWhatCannotBeChangedIsMadeAnew(t *testing.T) {
	held := stored("1", map[string]string{"a": "0"})
	held.Finalizers = []string{"example.com/hold"}
	s := newSite(t, held)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "shop", nil)
	s.refused = invalid
	changed, err := s.applier().Replace(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), &corev1.ConfigMap{})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []string{"update", "patch", "delete", "create"}, s.written())
	require.Equal(t, "1", s.get().Data["a"])

	kept := stored("1", map[string]string{"a": "0"})
	kept.Finalizers = []string{"x.kubernetes.io/y"}
	s = newSite(t, kept)
	s.refused = invalid
	_, err = s.applier().Replace(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), &corev1.ConfigMap{})
	require.EqualError(t, err, "replacing ConfigMap ns/shop: it is being deleted and waits for its finalizers; remove them")
}

func TestReplacedDeploymentsAndBudgets(t *testing.T) {
	meta := wanted(nil).ObjectMeta
	deployment := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta}
	running := deployment.DeepCopy()
	running.Spec.Template.Annotations = map[string]string{restartedAnnotation: "today", "theirs": "x"}
	budget := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta}
	s := newSite(t, running, budget.DeepCopy())
	version := ""
	a := s.applier()
	a.Client = interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			version = o.GetResourceVersion()
			return c.Update(ctx, o, options...)
		},
	})
	have := &appsv1.Deployment{}
	_, err := a.Replace(t.Context(), ControlledBy(parent), deployment, have)
	require.NoError(t, err)
	require.Equal(t, map[string]string{restartedAnnotation: "today"}, have.Spec.Template.Annotations, "kubectl rollout restart restarts once")
	require.Empty(t, version, "who writes faster keeps nothing away")
	_, err = a.Replace(t.Context(), ControlledBy(parent), budget, &policyv1.PodDisruptionBudget{})
	require.NoError(t, err)
	require.NotEmpty(t, version, "budgets are updated by version only")
}

func TestRemove(t *testing.T) {
	s := newSite(t, stored("1", nil))
	for range 2 {
		require.NoError(t, s.applier().Remove(t.Context(), ControlledBy(parent), shop, &corev1.ConfigMap{}))
		require.True(t, apierrors.IsNotFound(s.Get(t.Context(), shop, &corev1.ConfigMap{})))
	}
	require.Equal(t, []string{"delete"}, s.written())
	going := stored("1", nil)
	going.Finalizers = []string{"example.com/hold"}
	s = newSite(t, going)
	for range 2 {
		require.NoError(t, s.applier().Remove(t.Context(), ControlledBy(parent), shop, &corev1.ConfigMap{}))
	}
	require.Equal(t, []string{"delete"}, s.written(), "what goes is not deleted again")
}

// TestReplacedByMetadata: where only metadata is read, every write of others causes a write,
// because a field that is not read may have changed.
func TestReplacedByMetadata(t *testing.T) {
	s := newSite(t)
	a, have := s.applier(), MetadataOf(ConfigMapKind)
	keep := func() bool {
		t.Helper()
		changed, err := a.Replace(t.Context(), ControlledBy(parent), wanted(map[string]string{"a": "1"}), have)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1"}, s.get().Data)
		return changed
	}
	require.True(t, keep())
	require.False(t, keep())
	require.Equal(t, []string{"create"}, s.written())
	others := s.get()
	others.Data["a"] = "2"
	require.NoError(t, s.Update(t.Context(), others))
	s.written()
	require.True(t, keep())
	require.Equal(t, []string{"update"}, s.written())
	require.False(t, keep())
	require.Empty(t, s.written())
}
