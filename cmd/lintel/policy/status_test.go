package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

func TestStatusShowsWhatIsNotAsItShouldBe(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	good := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "good", CreationTimestamp: ago(48 * time.Hour)}}
	good.Spec.Scope.Level, good.Spec.Scope.Name = "team", "payments"
	good.Status = v1alpha1.PolicySourceStatus{
		Revision: "main@sha1:0123456789abcdef", Digest: "sha256:aaaaaaaaaaaaaaaa", Policies: 3, Rules: 14,
		Replicas: []v1alpha1.ReplicaStatus{
			{Name: "lintel-0", Digest: "sha256:aaaaaaaaaaaaaaaa", Time: ago(time.Hour)},
			{Name: "lintel-1", Digest: "sha256:bbbbbbbbbbbbbbbb", Time: ago(2 * time.Minute)},
			{Name: "lintel-2", Time: ago(time.Minute)},
		},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Serving", Message: "fine"}},
	}
	bad := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "bad", CreationTimestamp: ago(time.Minute)}}
	bad.Status.Conditions = []metav1.Condition{
		{Type: "Compiled", Status: "False", Reason: "CompileFailed", Message: "p.rego:2:1: no\x1b[2J\np.rego:3:1: no"},
		{Type: "Ready", Status: "False", Reason: "CompileFailed", Message: "p.rego:2:1: no\x1b[2J\np.rego:3:1: no"},
	}
	var out strings.Builder
	require.NoError(t, writeStatusText(&out, statusReport{Sources: []sourceStatus{sourceStatusOf(good), sourceStatusOf(bad)}}, now))
	require.Equal(t, `NAME   SCOPE           READY   REVISION            POLICIES   RULES   REPLICAS   AGE
good   team payments   True    main@0123456789ab   3          14      1/3        2d
bad    enterprise      False   none                0          0       0/0        60s

good
  replica lintel-1 serves bbbbbbbbbbbb, since 2m
  replica lintel-2 serves nothing of it, since 60s

bad
  Compiled is False, CompileFailed: p.rego:2:1: no\x1b[2J
  p.rego:3:1: no
`, out.String())

	out.Reset()
	require.NoError(t, writeStatusText(&out, statusReport{}, now))
	require.Equal(t, "there are no policy sources\n", out.String())
}
