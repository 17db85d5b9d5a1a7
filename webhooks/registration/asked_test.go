package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

func TestVersionsAsked(t *testing.T) {
	autoscaler := func(version string, failure definition.FailurePolicy) engine.PolicyInfo {
		return engine.PolicyInfo{
			Package: "p" + version, Validates: true, FailurePolicy: failure,
			Match: definition.Match{Kinds: []admission.GroupVersionKind{{Group: "autoscaling", Version: version, Kind: "HorizontalPodAutoscaler"}}},
		}
	}
	everything := engine.PolicyInfo{Package: "all", Validates: true}
	for name, test := range map[string]struct {
		policies  []engine.PolicyInfo
		arrives   string
		operation string
		want      []string
	}{
		"the preferred version":    {[]engine.PolicyInfo{autoscaler("", definition.Fail)}, "v1", "CREATE", []string{"v2"}},
		"as it arrives":            {[]engine.PolicyInfo{autoscaler("", definition.Fail)}, "v2", "CREATE", []string{"v2"}},
		"a version by name":        {[]engine.PolicyInfo{autoscaler("v1", definition.Fail)}, "v2", "CREATE", []string{"v1"}},
		"every version":            {[]engine.PolicyInfo{autoscaler("*", definition.Fail)}, "v1", "CREATE", []string{"v2"}},
		"every kind":               {[]engine.PolicyInfo{everything}, "v1", "CREATE", []string{"v1"}},
		"nobody":                   {nil, "v1", "CREATE", nil},
		"another operation":        {[]engine.PolicyInfo{autoscaler("", definition.Fail)}, "v1", "DELETE", nil},
		"each entry has its own":   {[]engine.PolicyInfo{autoscaler("v1", definition.Fail), autoscaler("v2", definition.Ignore)}, "v1", "CREATE", []string{"v2", "v1"}},
		"an entry is one of both":  {[]engine.PolicyInfo{autoscaler("v1", definition.Fail), everything}, "v2", "CREATE", []string{"v2"}},
		"what is not served":       {[]engine.PolicyInfo{autoscaler("", definition.Fail)}, "v2beta2", "CREATE", []string{"v2"}},
		"nor taken by any but all": {[]engine.PolicyInfo{everything}, "v2beta2", "CREATE", []string{"v2beta2"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := NewAsked(test.policies, nil, admission.BuiltinResources())
			resource := admission.ServedResource{Group: "autoscaling", Version: test.arrives, Kind: "HorizontalPodAutoscaler", Name: "horizontalpodautoscalers", Namespaced: true}
			assert.Equal(t, test.want, asked.Versions(resource, test.operation))
		})
	}
}
