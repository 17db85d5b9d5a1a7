package openzro

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/reviews"
)

func profile(name string, selector *metav1.LabelSelector) *v1.OZSidecarProfile {
	return &v1.OZSidecarProfile{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u"}, Spec: v1.OZSidecarProfileSpec{
		SetupKeyRef: v1.LocalReference{Name: "ci"}, PodSelector: selector,
	}}
}

// TestProfilesSelectPods of namespaces with a grant: the first profile by name that matches,
// unless the owner of the Pod says otherwise.
func TestProfilesSelectPods(t *testing.T) {
	t.Parallel()
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for name, c := range map[string]struct {
		annotations map[string]string
		app         string
		grants      []string
		key         metav1.ConditionStatus
		by, denied  string
	}{
		"the first that matches": {app: "web", grants: []string{"sh*"}, key: "True", by: "b-web"},
		"the one for all":        {app: "db", grants: []string{"shop"}, key: "True", by: "c-all"},
		"without a grant":        {app: "web", grants: []string{"other"}, key: "False"},
		"against its will":       {app: "web", grants: []string{"shop"}, key: "False", annotations: map[string]string{v1.InjectAnnotation: "false"}},
		"a key that is revoked":  {app: "web", grants: []string{"shop"}, key: "False", denied: `metadata.labels: OZSidecarProfile "b-web" selects this Pod, and its OZSetupKey "ci" is not ready (Revoked: it was revoked)`},
	} {
		t.Run(name, func(t *testing.T) {
			never := profile("a-broken", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "in"}}})
			a := newAdmitter(t, key(c.key), never, profile("b-web", web), profile("c-all", nil))
			a.settings.sidecarProfiles = c.grants
			pod := &corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{GenerateName: "x-", Labels: map[string]string{"app": c.app}, Annotations: c.annotations},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x"}}},
			}
			review := reviews.MakeCreation(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", pod).Named("shop", "").Obj(t)
			answer, err := product(t, a, "openzro-pods", true).Mutate(t.Context(), review)
			require.NoError(t, err)
			patch, err := json.Marshal(answer.Patch)
			require.NoError(t, err)
			if c.by == "" {
				require.Equal(t, "null", string(patch))
			} else {
				require.Contains(t, string(patch), `"`+c.by+`"`)
				require.Contains(t, string(patch), `"restartPolicy":"Always"`)
			}
			validated, err := product(t, a, "openzro-pods", false).Validate(t.Context(), review)
			require.NoError(t, err)
			if c.denied == "" {
				require.Empty(t, validated.Denials)
				return
			}
			require.Len(t, validated.Denials, 1)
			require.Contains(t, validated.Denials[0], c.denied)
		})
	}
}

// TestAProfileReportsWhetherPodsGetAClient.
func TestAProfileReportsWhetherPodsGetAClient(t *testing.T) {
	s := newSite(t)
	of := profile("all", nil)
	of.Namespace, of.UID = team, ""
	s.reconcile(of)
	s.requireReason(of, v1.ReasonDependency, `spec.setupKeyRef.name: this namespace has no OZSetupKey "ci"`)
	s.reconcile(ozkey("ci", v1.OZSetupKeySpec{}))
	s.requireReconciled(of)
	s.atRest()
	s.denied = "metadata.namespace: no grant"
	s.settle()
	s.requireReason(of, v1.ReasonNotAdmitted, "no grant")
	require.Empty(t, get(s, of).Finalizers, "nothing of it is at the server")
	s.requireDeletion(of)
}
