package openzro

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/test/reviews"
)

// TestStoredObjectsAreEvaluatedAsNewOnes: each kind by its own rules, with defaults or without.
func TestStoredObjectsAreEvaluatedAsNewOnes(t *testing.T) {
	snapshot, err := New()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		object v1.Object
		says   string
	}{
		"a group": {&v1.OZGroup{Spec: v1.OZGroupSpec{Name: "Backend Team"}}, ""},
		"a deletion policy": {&v1.OZRoutingPeer{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"openzro.io/deletion-policy": "Keep"}}},
			`metadata.annotations[openzro.io/deletion-policy]: "Keep" is not one of Delete, Retain`},
		"a group with no name": {&v1.OZGroup{}, "spec.name: a value is needed: it is the name of the group at the server"},
		"a policy":             {&v1.OZPolicy{Spec: v1.OZPolicySpec{Name: "a", Ports: []int32{0}}}, "spec.ports[0]: 0 is not a port; they go from 1 to 65535"},
		"a resource": {&v1.OZResource{Spec: v1.OZResourceSpec{Name: "a", NetworkID: "n", Address: "db", Groups: []string{"g"}}},
			`spec.address: "db" is not a host such as 10.0.0.1, no subnet such as 10.0.0.0/24, and no domain such as db.example.com or *.example.com`},
		"a routing peer": {&v1.OZRoutingPeer{}, ""},
		"an override": {&v1.OZRoutingPeer{Spec: v1.OZRoutingPeerSpec{VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
			`spec.volumeMounts[0].name: there is no volume "v" in spec.volumes`},
		"a Pod template": {&v1.OZRoutingPeer{Spec: v1.OZRoutingPeerSpec{PodTemplate: &runtime.RawExtension{Raw: []byte(`{"spec":{"hostNetwork":true}}`)}}},
			"spec.podTemplate.spec.hostNetwork: this namespace has no grant for the field; set metadata.annotations, metadata.labels, spec.affinity, spec.dnsConfig, spec.nodeSelector, spec.terminationGracePeriodSeconds, spec.tolerations, spec.topologySpreadConstraints, and of the container openzro env, imagePullPolicy, resources with plain values, or have the administrator start the manager with --openzro-pod-templates=shop"},
		"a profile": {&v1.OZSidecarProfile{Spec: v1.OZSidecarProfileSpec{SetupKeyRef: v1.LocalReference{Name: "k"}, ContainerOverride: &v1.ContainerOverride{Image: "evil"}}},
			"metadata.namespace: namespace shop has no grant for OZSidecarProfiles, which add containers to the Pods of others; annotate Pods with openzro.io/setup-key, or have the administrator start the manager with --openzro-sidecar-profiles=shop\n" +
				"spec.containerOverride.image: this namespace has no grant for the field; set env with plain values only, or have the administrator start the manager with --openzro-pod-templates=shop"},
		"a key":              {&v1.OZSetupKey{}, ""},
		"a key with All":     {&v1.OZSetupKey{Spec: v1.OZSetupKeySpec{AutoGroups: []string{"All"}}}, `spec.autoGroups[0]: every peer is in "All" already, and the server takes no key with it; take it out`},
		"a network resource": {&v1.OZNetworkResource{}, "spec.routingPeerRef.name: a value is needed: name the OZRoutingPeer of this namespace\nspec.serviceRef.name: a value is needed: name the Service of this namespace"},
		"a route":            {&v1.OZHTTPRoute{Spec: v1.OZHTTPRouteSpec{Domain: "app"}}, `spec.domain: "app" is not a domain such as app.example.com`},
	} {
		t.Run(name, func(t *testing.T) {
			c.object.SetName("x")
			c.object.SetNamespace("shop")
			c.object.SetUID("u")
			verdict, err := Evaluate(t.Context(), snapshot, c.object, Facts{})
			require.NoError(t, err)
			require.Equal(t, c.says, verdict.Message())
		})
	}
}

// TestLongListsAreEvaluated: within the steps that a rule may take.
func TestLongListsAreEvaluated(t *testing.T) {
	snapshot, err := New()
	require.NoError(t, err)
	const many = 1000
	policy, key := &v1.OZPolicy{Spec: v1.OZPolicySpec{Name: "a"}}, &v1.OZSetupKey{}
	route := &v1.OZHTTPRoute{Spec: v1.OZHTTPRouteSpec{Domain: "app.example.com"}}
	resource := &v1.OZResource{Spec: v1.OZResourceSpec{Name: "a", NetworkID: "n", Address: "10.0.0.1"}}
	for i := range many {
		name := strconv.Itoa(i + 1)
		policy.Spec.Ports, policy.Spec.SourceGroups = append(policy.Spec.Ports, int32(i+1)), append(policy.Spec.SourceGroups, name)
		key.Spec.AutoGroups = append(key.Spec.AutoGroups, name)
		route.Spec.Targets = append(route.Spec.Targets, v1.HTTPTarget{Path: "/" + name, NetworkResourceRef: v1.LocalReference{Name: "n"}})
		resource.Spec.PolicyName += "," + name
	}
	resource.Spec.PolicyName = resource.Spec.PolicyName[1:]
	for _, object := range []v1.Object{policy, key, route, resource} {
		object.SetName("x")
		object.SetNamespace("shop")
		object.SetUID("u")
		verdict, err := Evaluate(t.Context(), snapshot, object, Facts{})
		require.NoError(t, err, "%T", object)
		require.Empty(t, verdict.Message(), "%T", object)
	}
}

func TestTheNameIsAnothersAlready(t *testing.T) {
	snapshot, err := New()
	require.NoError(t, err)
	group := &v1.OZGroup{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "shop", UID: "u"}, Spec: v1.OZGroupSpec{Name: "Devs"}}
	verdict, err := Evaluate(t.Context(), snapshot, group, Facts{Taken: &Reference{Kind: "OZGroup", Name: "devs"}})
	require.NoError(t, err)
	require.Equal(t, `spec.name: OZGroup devs of this namespace has the name "Devs" at the server; give this one another name, or delete that one`, verdict.Message())
}

func TestRemoteNames(t *testing.T) {
	key := &v1.OZSetupKey{ObjectMeta: metav1.ObjectMeta{Name: "ci"}}
	require.Equal(t, "ci", RemoteName(key))
	key.Spec.Name = "CI runners"
	require.Equal(t, "CI runners", RemoteName(key))
	require.Equal(t, "g", RemoteName(&v1.OZGroup{Spec: v1.OZGroupSpec{Name: "g"}}))
	require.Equal(t, "p", RemoteName(&v1.OZPolicy{Spec: v1.OZPolicySpec{Name: "p"}}))
	require.Equal(t, "r", RemoteName(&v1.OZResource{Spec: v1.OZResourceSpec{Name: "r"}}))
	require.Equal(t, "a.example.com", RemoteName(&v1.OZHTTPRoute{Spec: v1.OZHTTPRouteSpec{Domain: "a.example.com"}}))
	require.Empty(t, RemoteName(&v1.OZRoutingPeer{}), "its network is shared")
	require.Len(t, Resources(), 8)
	require.Equal(t, "ozpolicies", ResourceOf("OZPolicy"))
	require.Empty(t, ResourceOf("Pod"))
}

func condition(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: v1.ConditionReady, Status: status, Reason: reason, Message: message}}
}

func TestWhetherAKeyIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		status  v1.OZSetupKeyStatus
		deleted bool
		ready   bool
		reason  string
		// generation is that of the key; its status is about 0.
		generation int64
	}{
		"written again": {status: v1.OZSetupKeyStatus{Status: v1.Status{Conditions: condition("True", "Reconciled", "")}}, reason: "Pending", generation: 1},
		"not looked at": {reason: "Pending"},
		"ready":         {status: v1.OZSetupKeyStatus{State: v1.KeyStateValid, Status: v1.Status{Conditions: condition("True", "Reconciled", "")}}, ready: true},
		"no state":      {status: v1.OZSetupKeyStatus{Status: v1.Status{Conditions: condition("True", "Reconciled", "")}}, ready: true},
		"revoked":       {status: v1.OZSetupKeyStatus{State: v1.KeyStateRevoked, Status: v1.Status{Conditions: condition("True", "Reconciled", "")}}, reason: v1.ReasonInvalidSetupKey},
		"not ready":     {status: v1.OZSetupKeyStatus{Status: v1.Status{Conditions: condition("False", v1.ReasonSecretNotExists, "m")}}, reason: v1.ReasonSecretNotExists},
		"deleted":       {status: v1.OZSetupKeyStatus{Status: v1.Status{Conditions: condition("True", "Reconciled", "")}}, deleted: true, reason: "Deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			key := &v1.OZSetupKey{ObjectMeta: metav1.ObjectMeta{Generation: c.generation}, Status: c.status}
			if c.deleted {
				key.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			}
			facts := FactsOfSetupKey(key, "https://default")
			require.Equal(t, c.ready, facts.Ready)
			require.Equal(t, c.reason, facts.Reason)
		})
	}
}

func TestWhatPodsLearnOfAKey(t *testing.T) {
	key := &v1.OZSetupKey{ObjectMeta: metav1.ObjectMeta{Name: "ci"}}
	facts := FactsOfSetupKey(key, "https://default")
	require.Equal(t, SecretKey{Name: "ci-key", Key: "setupKey"}, facts.Secret)
	require.Equal(t, "https://default", facts.ManagementURL)
	require.True(t, facts.ExtraDNSLabels, "it is not known yet")
	key.Status.SetupKeyID = "k"
	require.False(t, FactsOfSetupKey(key, "").ExtraDNSLabels)
	key.Status.Adopted = true
	require.True(t, FactsOfSetupKey(key, "").ExtraDNSLabels, "it is not known of a key that somebody else made")
	key.Status.Adopted, key.Spec.AllowExtraDNSLabels = false, new(true)
	require.True(t, FactsOfSetupKey(key, "").ExtraDNSLabels)
	key.Spec.ManagementURL = "https://own"
	require.Equal(t, "https://own", FactsOfSetupKey(key, "https://default").ManagementURL)
}

// TestInjectionSettles checks that the client is injected only once, also into Pods that have no
// name and no lists yet (Z21).
func TestInjectionSettles(t *testing.T) {
	snapshot, err := New()
	require.NoError(t, err)
	key := &v1.OZSetupKey{
		ObjectMeta: metav1.ObjectMeta{Name: "ci"},
		Spec: v1.OZSetupKeySpec{
			Volumes:      []corev1.Volume{{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "state", MountPath: "/var/lib/openzro"}},
		},
		Status: v1.OZSetupKeyStatus{Status: v1.Status{Conditions: condition("True", "Reconciled", "")}},
	}
	facts, err := engine.ReadFacts(PodFacts{SetupKey: FactsOfSetupKey(key, "https://openzro.example.com"), ClientImage: "openzro/openzro:latest"})
	require.NoError(t, err)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Annotations: map[string]string{v1.SetupKeyAnnotation: "ci", v1.InitSidecarAnnotation: "true", v1.ExtraDNSLabelsAnnotation: "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	mutate := func(pod *corev1.Pod) (*corev1.Pod, int) {
		review := reviews.MakeCreation(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", pod).Obj(t)
		mutation := snapshot.Mutate(t.Context(), review, engine.Options{Facts: facts})
		denials, err := mutation.Verdict()
		require.NoError(t, err)
		require.Empty(t, denials)
		return read(t, mutation.Review), len(mutation.Patch)
	}
	injected, operations := mutate(pod)
	require.Equal(t, 2, operations)
	require.Len(t, injected.Spec.Containers, 1)
	require.Len(t, injected.Spec.InitContainers, 1)
	client := injected.Spec.InitContainers[0]
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *client.RestartPolicy)
	require.Equal(t, []corev1.EnvVar{
		{Name: "OZ_SETUP_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "ci-key"}, Key: "setupKey"}}},
		{Name: "OZ_MANAGEMENT_URL", Value: "https://openzro.example.com"},
		{Name: "OZ_EXTRA_DNS_LABELS", Value: "web"},
	}, client.Env)
	require.Equal(t, key.Spec.VolumeMounts, client.VolumeMounts)
	require.Equal(t, key.Spec.Volumes, injected.Spec.Volumes)
	again, operations := mutate(injected)
	require.Zero(t, operations)
	require.Equal(t, injected, again)
}

func read(t *testing.T, review *admission.Review) *corev1.Pod {
	text, err := review.Object()
	require.NoError(t, err)
	pod := &corev1.Pod{}
	require.NoError(t, json.Unmarshal(text, pod))
	return pod
}

// TestSamplesAreAdmitted without a warning.
func TestSamplesAreAdmitted(t *testing.T) {
	snapshot, err := New()
	require.NoError(t, err)
	paths, err := filepath.Glob("../../../config/samples/openzro/oz*.yaml")
	require.NoError(t, err)
	require.Len(t, paths, 7)
	facts, err := engine.ReadFacts(Facts{})
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			object := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object), path)
			kind := object.GroupVersionKind()
			review := reviews.MakeCreation(kind, ResourceOf(kind.Kind), object.Object).Named(object.GetNamespace(), object.GetName()).Obj(t)
			decision := snapshot.Validate(t.Context(), review, engine.Options{Facts: facts})
			denials, err := decision.Verdict()
			require.NoError(t, err, path)
			require.Empty(t, denials, path)
			require.Empty(t, decision.Warnings, path)
			require.Positive(t, decision.Policies, path)
		}
	}
}
