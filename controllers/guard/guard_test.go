package guard

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/controlled"
)

const testUser = "system:serviceaccount:lintel-system:lintel-manager"

var (
	networkKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Network"}
	networkOf   = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Network", Name: "lan", UID: "1", Controller: new(true)}
)

// owners are the uids of the stored owners, by namespace and name; err is for all of them.
type owners struct {
	client.Reader
	uids map[string]types.UID
	err  error
}

func (o owners) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if o.err != nil {
		return o.err
	}
	uid, found := o.uids[key.String()]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "networks"}, key.Name)
	}
	object.SetUID(uid)
	return nil
}

// newGuard protects the objects of Networks. An object that has a label without a reference is
// reserved for the next Network of that name.
func newGuard(t *testing.T, stored owners, namespaces ...string) *guard {
	t.Helper()
	snapshot, err := rules.New()
	require.NoError(t, err)
	return &guard{
		snapshot: snapshot, owners: stored, users: append([]string{testUser}, kubernetesUsers...),
		controls: []system.Controls{{
			ManagedBy: "network-operator", Group: networkKind.Group, Namespaces: namespaces,
			Resources: system.Resources("", "configmaps", "secrets"),
			Names:     []system.Name{{Prefix: "net-", Suffix: "-data", Resources: system.Resources("", "configmaps"), Owner: networkKind}},
			Owner: func(object *metav1.PartialObjectMetadata) *system.Reference {
				name := object.Labels["example.com/network"]
				if name == "" {
					return nil
				}
				return &system.Reference{Kind: networkKind, NamespacedName: types.NamespacedName{Namespace: object.Namespace, Name: name}, Kept: true}
			},
		}},
	}
}

type object = map[string]any

func configMap(labels object, value string, references ...metav1.OwnerReference) object {
	return object{
		"apiVersion": "v1", "kind": "ConfigMap", "data": object{"key": value},
		"metadata": object{"namespace": "a", "name": "net-lan-data", "labels": labels, "ownerReferences": references},
	}
}

func reviewOf(t *testing.T, user string, old, now object) *admission.Review {
	t.Helper()
	return reviewOfObject(t, "ConfigMap", "net-lan-data", user, old, now)
}

func reviewOfObject(t *testing.T, kind, name, user string, old, now object) *admission.Review {
	t.Helper()
	request := admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Update, Namespace: "a", Name: name, UserInfo: authenticationv1.UserInfo{Username: user},
		Kind:     metav1.GroupVersionKind{Version: "v1", Kind: kind},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	}
	raw := func(o object) (extension runtime.RawExtension) {
		if o != nil {
			text, err := json.Marshal(o)
			require.NoError(t, err)
			extension.Raw = text
		}
		return extension
	}
	request.Object, request.OldObject = raw(now), raw(old)
	if old == nil {
		request.Operation = admissionv1.Create
	}
	if now == nil {
		request.Operation = admissionv1.Delete
	}
	text, err := json.Marshal(request)
	require.NoError(t, err)
	review, err := admission.NewReview(text)
	require.NoError(t, err)
	return review
}

func productNamed(t *testing.T, g *guard, name string) builtin.Product {
	t.Helper()
	for _, product := range g.products() {
		if product.Name == name {
			return product
		}
	}
	require.FailNow(t, "no product", name)
	return builtin.Product{}
}

func TestControlled(t *testing.T) {
	t.Parallel()
	stored := owners{uids: map[string]types.UID{"a/lan": "1"}}
	labelled, kept := object{system.ManagedByLabel: "network-operator"}, object{system.ManagedByLabel: "network-operator", "example.com/network": "lan"}
	foreign := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "lan", UID: "1", Controller: new(true)}
	const (
		edit   = "ConfigMap a/net-lan-data is controlled by Network lan; edit that instead (this write changes data)"
		remove = "ConfigMap a/net-lan-data is controlled by Network lan, and is deleted with that"
		marked = `metadata.labels[app.kubernetes.io/managed-by]: "network-operator" marks the objects that Lintel creates; remove the label from ConfigMap a/net-lan-data`
	)
	for name, c := range map[string]struct {
		user       string
		old, now   object
		owners     owners
		namespaces []string
		denial     string
	}{
		"an edit":                                 {"tenant", configMap(labelled, "x", networkOf), configMap(labelled, "y", networkOf), stored, nil, edit},
		"an edit by the manager":                  {testUser, configMap(labelled, "x", networkOf), configMap(labelled, "y", networkOf), stored, nil, ""},
		"an edit of what was unlabelled":          {"tenant", configMap(nil, "x", networkOf), configMap(nil, "y", networkOf), stored, nil, ""},
		"the label is taken away":                 {"tenant", configMap(labelled, "x", networkOf), configMap(nil, "x", networkOf), stored, nil, "ConfigMap a/net-lan-data is controlled by Network lan; edit that instead (this write changes metadata.labels)"},
		"a deletion":                              {"tenant", configMap(labelled, "x", networkOf), nil, stored, nil, remove},
		"a deletion by the garbage collector":     {"system:serviceaccount:kube-system:generic-garbage-collector", configMap(labelled, "x", networkOf), nil, stored, nil, ""},
		"a deletion after the owner":              {"tenant", configMap(labelled, "x", networkOf), nil, owners{}, nil, ""},
		"another owner of the name":               {"tenant", configMap(labelled, "x", networkOf), nil, owners{uids: map[string]types.UID{"a/lan": "2"}}, nil, ""},
		"the owner's kind is gone":                {"tenant", configMap(labelled, "x", networkOf), nil, owners{err: &meta.NoKindMatchError{}}, nil, ""},
		"controlled by another kind":              {"tenant", configMap(labelled, "x", foreign), configMap(labelled, "y", foreign), stored, nil, ""},
		"labelled, and controlled by nothing":     {"tenant", configMap(labelled, "x"), configMap(labelled, "y"), stored, nil, ""},
		"named by a label":                        {"tenant", configMap(kept, "x"), configMap(kept, "y"), stored, nil, edit},
		"named by a label, without an owner":      {"tenant", configMap(kept, "x"), nil, owners{}, nil, ""},
		"a creation with the label":               {"tenant", nil, configMap(labelled, "x"), stored, nil, marked},
		"a creation with label and reference":     {"tenant", nil, configMap(labelled, "x", networkOf), stored, nil, marked},
		"a creation by the manager":               {testUser, nil, configMap(labelled, "x", networkOf), stored, nil, ""},
		"restored before the owner":               {"tenant", nil, configMap(kept, "x"), owners{}, nil, ""},
		"restored after the owner":                {"tenant", nil, configMap(kept, "x"), stored, nil, marked},
		"a creation without the label":            {"tenant", nil, configMap(nil, "x"), stored, nil, ""},
		"the label is added":                      {"tenant", configMap(nil, "x"), configMap(labelled, "x"), stored, nil, marked},
		"an edit where the system does not serve": {"tenant", configMap(labelled, "x", networkOf), configMap(labelled, "y", networkOf), stored, []string{"b"}, ""},
		"an edit where the system serves":         {"tenant", configMap(labelled, "x", networkOf), configMap(labelled, "y", networkOf), stored, []string{"a", "b"}, edit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			product := productNamed(t, newGuard(t, c.owners, c.namespaces...), "controlled")
			answer, err := product.Validate(t.Context(), reviewOf(t, c.user, c.old, c.now))
			require.NoError(t, err)
			if c.denial == "" {
				require.Empty(t, answer.Denials)
				return
			}
			require.Equal(t, []string{c.denial}, answer.Denials)
		})
	}
}

// TestOwn: policies below the enterprise are not evaluated for what the manager writes of its objects.
func TestOwn(t *testing.T) {
	own := Own(testUser, newGuard(t, owners{}, "a").controls)
	labelled := configMap(object{system.ManagedByLabel: "network-operator"}, "1")
	changed := configMap(object{system.ManagedByLabel: "network-operator"}, "2")
	foreign := configMap(object{system.ManagedByLabel: "helm"}, "1")
	for name, c := range map[string]struct {
		user     string
		old, now object
		want     bool
	}{
		"created":          {testUser, nil, labelled, true},
		"changed":          {testUser, labelled, changed, true},
		"deleted":          {testUser, labelled, nil, true},
		"of another user":  {"jane", labelled, changed, false},
		"of another owner": {testUser, foreign, foreign, false},
		"taken over":       {testUser, foreign, labelled, false},
		"without a label":  {testUser, nil, configMap(nil, "1"), false},
	} {
		require.Equal(t, c.want, own(reviewOf(t, c.user, c.old, c.now)), name)
	}
	network := func(value string, finalizers ...string) object {
		return object{"apiVersion": "example.com/v1", "kind": "Network", "spec": object{"key": value}, "metadata": object{"namespace": "a", "name": "lan", "finalizers": finalizers}}
	}
	for name, c := range map[string]struct {
		user, subresource string
		old, now          object
		want              bool
	}{
		"a finalizer that is added":   {testUser, "", network("1"), network("1", "example.com/finalizer"), true},
		"a finalizer and the spec":    {testUser, "", network("1"), network("2", "example.com/finalizer"), false},
		"a finalizer of another user": {"jane", "", network("1"), network("1", "example.com/finalizer"), false},
		"a status":                    {testUser, "status", network("1"), network("1"), true},
		"another subresource":         {testUser, "scale", network("1"), network("2"), false},
		"a creation":                  {testUser, "", nil, network("1"), false},
	} {
		review := reviewOf(t, c.user, c.old, c.now)
		review.Resource, review.SubResource = admission.GroupVersionResource{Group: networkKind.Group, Version: "v1", Resource: "networks"}, c.subresource
		require.Equal(t, c.want, own(review), name)
	}
	elsewhere := Own(testUser, newGuard(t, owners{}, "b").controls)
	require.False(t, elsewhere(reviewOf(t, testUser, nil, labelled)), "no namespace of the system")
}

// TestUnreadableOwnerIsAnError: it is neither a denial nor a permission.
func TestUnreadableOwnerIsAnError(t *testing.T) {
	t.Parallel()
	labels := object{system.ManagedByLabel: "network-operator"}
	product := productNamed(t, newGuard(t, owners{err: errors.New("no answer")}), "controlled")
	_, err := product.Validate(t.Context(), reviewOf(t, "tenant", configMap(labels, "x", networkOf), nil))
	require.EqualError(t, err, "reading Network a/lan: no answer")
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	stored := owners{uids: map[string]types.UID{"a/lan": "1"}}
	denial := []string{"metadata.name: Lintel creates ConfigMap a/net-lan-data for Network lan; choose another name"}
	for name, c := range map[string]struct {
		user       string
		owners     owners
		namespaces []string
		denials    []string
	}{
		"a needed name":              {"tenant", stored, nil, denial},
		"by the manager":             {testUser, stored, nil, nil},
		"no such owner":              {"tenant", owners{}, nil, nil},
		"where no system serves":     {"tenant", stored, []string{"b"}, nil},
		"an owner of any generation": {"tenant", owners{uids: map[string]types.UID{"a/lan": "7"}}, nil, denial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			product := productNamed(t, newGuard(t, c.owners, c.namespaces...), "reserved-names")
			answer, err := product.Validate(t.Context(), reviewOf(t, c.user, nil, configMap(nil, "x")))
			require.NoError(t, err)
			require.Equal(t, c.denials, answer.Denials)
		})
	}
}

func TestClaimed(t *testing.T) {
	t.Parallel()
	fixed, generated := system.Name{Prefix: "net-", Suffix: "-data"}, system.Name{Suffix: "-data", Generated: true}
	for _, c := range []struct {
		name   system.Name
		under  string
		owners []string
	}{
		{fixed, "net-lan-data", []string{"lan"}},
		{fixed, "net-lan-data-data", []string{"lan-data"}},
		{fixed, "net--data", nil},
		{fixed, "lan-data", nil},
		{fixed, "net-lan-data-1", nil},
		{generated, "lan-data", []string{"lan"}},
		{generated, "lan-data-1", []string{"lan"}},
		{generated, "lan-data-data-1", []string{"lan", "lan-data"}},
		{generated, "-data-1", nil},
		{system.Name{Prefix: "net-"}, "net-lan", []string{"lan"}},
	} {
		require.Equal(t, c.owners, claimed(c.name, c.under), c.under)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	g := newGuard(t, owners{})
	g.controls = append(g.controls, system.Controls{ManagedBy: "a-operator", Group: "a.example.com", Resources: append(system.Resources("apps", "deployments"), system.Resources("", "secrets")...)})
	entry := productNamed(t, g, "controlled")
	require.Equal(t, []string{"a-operator", "network-operator"}, entry.ObjectSelector.MatchExpressions[0].Values)
	require.True(t, entry.NotOfPlatform)
	require.Empty(t, entry.FailurePolicy, "that is Fail")
	all := []admissionregistrationv1.OperationType{"CREATE", "UPDATE", "DELETE"}
	require.Equal(t, append(
		builtin.Called(admissionregistrationv1.NamespacedScope, "", "*", []string{"configmaps", "secrets"}, all...),
		builtin.Called(admissionregistrationv1.NamespacedScope, "apps", "*", []string{"deployments"}, all...)...), entry.Rules)

	off := &guard{snapshot: g.snapshot}
	require.Len(t, off.products(), 2)
	for _, product := range off.products() {
		require.Empty(t, product.Rules)
		require.Empty(t, product.MatchConditions)
	}
}

func TestEntriesOfNamespaces(t *testing.T) {
	t.Parallel()
	conditions := func(namespaces ...[]string) []string {
		g := &guard{}
		for _, list := range namespaces {
			g.controls = append(g.controls, system.Controls{Namespaces: list})
		}
		names := []string{}
		for _, condition := range g.conditions() {
			names = append(names, condition.Expression)
		}
		return names[1:]
	}
	require.Empty(t, conditions(nil))
	require.Empty(t, conditions([]string{"a"}, nil))
	require.Equal(t, []string{"request.namespace in ['a', 'b']"}, conditions([]string{"b"}, []string{"a", "b"}))
}

// TestEntriesWithoutNames: no system that is on, as zopp alone, needs a name.
func TestEntriesWithoutNames(t *testing.T) {
	products, err := Entries(testUser, nil, []system.Controls{{ManagedBy: "zopp-operator", Group: "zopp.dev", Resources: system.Resources("", "secrets")}})
	require.NoError(t, err)
	require.Equal(t, "controlled.lintel.dev", products[0].Entry)
	require.NotEmpty(t, products[0].Rules)
	require.Equal(t, "reserved-names.lintel.dev", products[1].Entry)
	require.Empty(t, products[1].Rules)
	require.Empty(t, products[1].MatchConditions, "an empty list of names is no expression")
}
