package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source"
)

func TestNews(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string, generation int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "because", ObservedGeneration: generation}
	}
	ready := func(status metav1.ConditionStatus, reason string, generation int64) metav1.Condition {
		return condition(v1alpha1.ConditionReady, status, reason, generation)
	}
	limits := func(status metav1.ConditionStatus, reason string, generation int64) metav1.Condition {
		return condition(v1alpha1.ConditionWithinLimits, status, reason, generation)
	}
	for name, c := range map[string]struct {
		before, next []metav1.Condition
		want         []change
	}{
		"first served":        {nil, []metav1.Condition{ready("True", ReasonServing, 1)}, []change{{"Normal", ReasonServing, "because"}}},
		"still served":        {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("True", ReasonServing, 1)}, nil},
		"another revision":    {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("True", ReasonServing, 2)}, []change{{"Normal", ReasonServing, "because"}}},
		"on the way":          {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("False", ReasonProgressing, 2)}, nil},
		"refused":             {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("False", source.ReasonCompileFailed, 2)}, []change{{"Warning", source.ReasonCompileFailed, "because"}}},
		"refused for more":    {[]metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: source.ReasonCompileFailed, Message: "before"}}, []metav1.Condition{ready("False", source.ReasonCompileFailed, 0)}, []change{{"Warning", source.ReasonCompileFailed, "because"}}},
		"within limits, new":  {nil, []metav1.Condition{limits("True", ReasonWithinLimits, 1)}, nil},
		"a limit":             {[]metav1.Condition{limits("True", ReasonWithinLimits, 1)}, []metav1.Condition{limits("False", ReasonLimitReached, 1)}, []change{{"Warning", ReasonLimitReached, "because"}}},
		"the limit once more": {[]metav1.Condition{limits("False", ReasonLimitReached, 1)}, []metav1.Condition{limits("False", ReasonLimitReached, 2)}, nil},
		"no limit any more":   {[]metav1.Condition{limits("False", ReasonLimitReached, 1)}, []metav1.Condition{limits("True", ReasonWithinLimits, 1)}, []change{{"Normal", ReasonWithinLimits, "because"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, news(c.before, v1alpha1.PolicySourceStatus{Conditions: c.next}))
		})
	}
}
