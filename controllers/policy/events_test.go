package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
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
	tell := func(warning bool, reason string) []object.Event {
		return []object.Event{{Warning: warning, Reason: reason, Message: "because"}}
	}
	for name, c := range map[string]struct {
		before, next []metav1.Condition
		want         []object.Event
	}{
		"first served":        {nil, []metav1.Condition{ready("True", ReasonServing, 1)}, tell(false, ReasonServing)},
		"still served":        {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("True", ReasonServing, 1)}, nil},
		"another revision":    {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("True", ReasonServing, 2)}, tell(false, ReasonServing)},
		"on the way":          {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("False", ReasonProgressing, 2)}, nil},
		"refused":             {[]metav1.Condition{ready("True", ReasonServing, 1)}, []metav1.Condition{ready("False", source.ReasonCompileFailed, 2)}, tell(true, source.ReasonCompileFailed)},
		"refused for more":    {[]metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: source.ReasonCompileFailed, Message: "before"}}, []metav1.Condition{ready("False", source.ReasonCompileFailed, 0)}, tell(true, source.ReasonCompileFailed)},
		"within limits, new":  {nil, []metav1.Condition{limits("True", ReasonWithinLimits, 1)}, nil},
		"a limit":             {[]metav1.Condition{limits("True", ReasonWithinLimits, 1)}, []metav1.Condition{limits("False", ReasonLimitReached, 1)}, tell(true, ReasonLimitReached)},
		"the limit once more": {[]metav1.Condition{limits("False", ReasonLimitReached, 1)}, []metav1.Condition{limits("False", ReasonLimitReached, 2)}, nil},
		"no limit any more":   {[]metav1.Condition{limits("False", ReasonLimitReached, 1)}, []metav1.Condition{limits("True", ReasonWithinLimits, 1)}, tell(false, ReasonWithinLimits)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, object.Changes(news, c.before, c.next))
		})
	}
}
