package openzro

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openzro"
	"github.com/lintel-policy/lintel/test/reviews"
)

func TestSettings(t *testing.T) {
	check := func(args ...string) (settings, error) {
		var s settings
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.addTo(flags)
		require.NoError(t, flags.Parse(args))
		return s, s.check()
	}
	s, err := check()
	require.NoError(t, err)
	require.Equal(t, settings{
		managementURL: "https://api.openzro.io", clientImage: "openzro/openzro:latest",
		interval: time.Minute, clusterName: "kubernetes", clusterDNS: "svc.cluster.local",
	}, s)
	_, err = check("--openzro-management-url=http://openzro.openzro.svc:80/", "--openzro-default-namespaces=team-*,shop", "--openzro-namespaces=a,b", "--openzro-auto-groups=team-*=Servers, and more")
	require.NoError(t, err)
	for arg, says := range map[string]string{
		"--openzro-management-url=api.openzro.io": `--openzro-management-url: "api.openzro.io" is not a URL such as https://openzro.example.com`,
		"--openzro-management-url=https://u:p@x":  `--openzro-management-url: "https://u:p@x" is not a URL such as https://openzro.example.com`,
		"--openzro-default-namespaces=[":          `--openzro-default-namespaces: "[" is not a name of a namespace and no glob such as team-*`,
		"--openzro-auto-groups=team":              `--openzro-auto-groups: Invalid value "team": must be NAMESPACE=NAME`,
		"--openzro-sidecar-profiles=a[b]":         `--openzro-sidecar-profiles: Invalid value "a[b]"`,
		"--openzro-pod-templates=[":               "--openzro-pod-templates",
		"--openzro-adoptions=[=a":                 `--openzro-adoptions: Invalid value "[=a": must be NAMESPACE=NAME`,
		"--openzro-client-image=":                 "--openzro-client-image is empty: name the image of the client, such as openzro/openzro:latest",
		"--openzro-interval=10ms":                 "--openzro-interval is 10ms: at least 1s is between two looks at the server",
		"--openzro-cluster-name=My Cluster":       `--openzro-cluster-name: "My Cluster" is not a DNS label such as kubernetes`,
		"--openzro-cluster-dns=":                  `--openzro-cluster-dns: "" is not a domain such as svc.cluster.local`,
		"--openzro-namespaces=A":                  `--openzro-namespaces: Invalid value "A"`,
	} {
		_, err := check(arg)
		require.ErrorContains(t, err, says)
	}
}

// newAdmitter has objects in a cluster.
func newAdmitter(t *testing.T, objects ...client.Object) *admitter {
	t.Helper()
	known := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(known))
	require.NoError(t, v1.AddToScheme(known))
	store := fake.NewClientBuilder().WithScheme(known).WithObjects(objects...)
	for _, kind := range kinds() {
		store = store.WithIndex(kind, nameIndex, remoteName)
	}
	c := store.Build()
	snapshot, err := rules.New()
	require.NoError(t, err)
	return &admitter{
		settings: settings{managementURL: "https://default.example.com", clientImage: "client:1"}, snapshot: snapshot,
		objects: c, live: c, excluded: []string{"lintel-system"},
	}
}

func makeGroup(namespace, name, remote string, age time.Duration) *v1.OZGroup {
	return &v1.OZGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: "openzro.io/v1", Kind: "OZGroup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u", CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
		Spec:       v1.OZGroupSpec{Name: remote},
	}
}

func product(t *testing.T, a *admitter, name string, mutates bool) builtin.Product {
	t.Helper()
	for _, p := range a.products(true) {
		if p.Name == name && (p.Mutate != nil) == mutates {
			return p
		}
	}
	require.Fail(t, "there is no product "+name)
	return builtin.Product{}
}

// TestEntriesNeverComeAndGo: those of a system that is off are called for nothing.
func TestEntriesNeverComeAndGo(t *testing.T) {
	a := newAdmitter(t)
	off, on := a.products(false), a.products(true)
	require.Len(t, off, len(on))
	for i := range on {
		require.Equal(t, on[i].Entry, off[i].Entry)
		require.Empty(t, off[i].Rules)
		require.NotEmpty(t, on[i].Rules)
	}
	a.settings.namespaces = []string{"a", "b"}
	for _, p := range a.products(true) {
		require.Contains(t, p.MatchConditions, builtin.InNamespaces([]string{"a", "b"}, builtin.OfTheirs)[0])
	}
}

// TestOffNeedsNothing: neither a cluster nor its kinds.
func TestOffNeedsNothing(t *testing.T) {
	products, err := Part().SetUp(t.Context(), system.Manager{}, false)
	require.NoError(t, err)
	require.Len(t, products, 3)
}

func TestOneNameOneObject(t *testing.T) {
	a := newAdmitter(t, makeGroup("shop", "devs", "Devs", time.Hour), makeGroup("other", "ops", "Ops", time.Hour))
	ask := func(operation string, object, old *v1.OZGroup) []string {
		t.Helper()
		review := reviews.MakeCreation(v1.SchemeGroupVersion.WithKind("OZGroup"), "ozgroups", object).Named(object.Namespace, object.Name)
		review["operation"] = operation
		if old != nil {
			review["oldObject"] = old
		}
		answer, err := product(t, a, "openzro", false).Validate(t.Context(), review.Obj(t))
		require.NoError(t, err)
		return answer.Denials
	}
	taken := []string{`spec.name: OZGroup devs of this namespace has the name "Devs" at the server; give this one another name, or delete that one`}
	require.Equal(t, taken, ask("CREATE", makeGroup("shop", "more", "Devs", 0), nil))
	require.Empty(t, ask("CREATE", makeGroup("other", "more", "Devs", 0), nil), "nothing crosses from one tenant to another")
	require.Empty(t, ask("CREATE", makeGroup("shop", "ops", "Ops", 0), nil))
	require.Empty(t, ask("CREATE", makeGroup("shop", "devs", "Devs", 0), nil), "it is the object itself")
	require.Empty(t, ask("UPDATE", makeGroup("shop", "more", "Devs", 0), makeGroup("shop", "more", "Devs", 0)), "it had the name before")
	require.Equal(t, taken, ask("UPDATE", makeGroup("shop", "more", "Devs", 0), makeGroup("shop", "more", "Other", 0)))
}

// TestTheOlderOneHasTheName checks two objects that may have been created concurrently, before
// the cache had either.
func TestTheOlderOneHasTheName(t *testing.T) {
	first, second := makeGroup("shop", "z", "Devs", time.Hour), makeGroup("shop", "a", "Devs", time.Minute)
	a := newAdmitter(t, first, second)
	verdict, err := a.admit(t.Context(), first)
	require.NoError(t, err)
	require.False(t, verdict.Denied())
	verdict, err = a.admit(t.Context(), second)
	require.NoError(t, err)
	require.Contains(t, verdict.Message(), "OZGroup z of this namespace has the name")
	_, err = a.admit(t.Context(), &corev1.Pod{})
	require.EqualError(t, err, "there are no rules for *v1.Pod")
}

func key(ready metav1.ConditionStatus) *v1.OZSetupKey {
	return &v1.OZSetupKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ci"},
		Status:     v1.OZSetupKeyStatus{Status: v1.Status{Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: ready, Reason: "Revoked", Message: "it was revoked"}}}},
	}
}

func podReview(t *testing.T, annotations map[string]string) *admission.Review {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
	}
	return reviews.MakeCreation(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", pod).Named("shop", "").Obj(t)
}

// TestPodsGetAClient: from the URL of their namespace, if it has one of its own.
func TestPodsGetAClient(t *testing.T) {
	asks := podReview(t, map[string]string{v1.SetupKeyAnnotation: "ci"})
	inject := func(a *admitter) string {
		t.Helper()
		answer, err := product(t, a, "openzro-pods", true).Mutate(t.Context(), asks)
		require.NoError(t, err)
		text, err := json.Marshal(answer.Patch)
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, inject(newAdmitter(t, key("True"))), `{"name":"OZ_MANAGEMENT_URL","value":"https://default.example.com"}`)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: v1.APIKeySecret}, Data: map[string][]byte{v1.APIManagementURL: []byte("https://own.example.com\n")}}
	require.Contains(t, inject(newAdmitter(t, key("True"), own)), `{"name":"OZ_MANAGEMENT_URL","value":"https://own.example.com"}`)
	require.Equal(t, "null", inject(newAdmitter(t, key("False"))))
}

func TestPodsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		objects     []client.Object
		annotations map[string]string
		says        string
	}{
		"there is no key":      {nil, map[string]string{v1.SetupKeyAnnotation: "ci"}, `there is no OZSetupKey "ci" in namespace "shop"`},
		"the key is not ready": {[]client.Object{key("False")}, map[string]string{v1.SetupKeyAnnotation: "ci"}, `OZSetupKey "ci" is not ready (Revoked: it was revoked)`},
		"no name":              {nil, map[string]string{v1.SetupKeyAnnotation: " "}, "the name of an OZSetupKey of this namespace"},
		"the key is ready":     {[]client.Object{key("True")}, map[string]string{v1.SetupKeyAnnotation: "ci"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := product(t, newAdmitter(t, c.objects...), "openzro-pods", false).Validate(t.Context(), podReview(t, c.annotations))
			require.NoError(t, err)
			if c.says == "" {
				require.Empty(t, answer.Denials)
				return
			}
			require.Len(t, answer.Denials, 1)
			require.Contains(t, answer.Denials[0], c.says)
		})
	}
}

func TestWhatCannotBeReadIsNoDenial(t *testing.T) {
	a := newAdmitter(t, key("True"))
	a.live = fake.NewClientBuilder().WithScheme(scheme).Build() // which knows no Secrets
	_, err := product(t, a, "openzro-pods", false).Validate(t.Context(), podReview(t, map[string]string{v1.SetupKeyAnnotation: "ci"}))
	require.ErrorContains(t, err, "reading Secret shop/openzro-mgmt-api-key")
}
