package definition

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
)

// makeMatcher is a Match made ready.
func makeMatcher(t *testing.T, match Match) *Matcher {
	t.Helper()
	m, err := NewMatcher(match)
	require.NoError(t, err)
	return m
}

// makeLabelled is an object with one label.
func makeLabelled(key, value string) *admission.Object {
	return admission.NewObject(ast.MustParseTerm(`{"metadata": {"labels": {"` + key + `": "` + value + `"}}}`).Value.(ast.Object))
}

func TestKindsThatMatch(t *testing.T) {
	deployment := admission.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	source := admission.GroupVersionKind{Group: PolicyGroup, Version: "v1alpha1", Kind: "PolicySource"}
	for name, c := range map[string]struct {
		kinds []admission.GroupVersionKind
		asked admission.GroupVersionKind
		want  bool
	}{
		"none is any":                     {nil, deployment, true},
		"none is not the platform's":      {nil, source, false},
		"any group":                       {[]admission.GroupVersionKind{{Group: "*", Kind: "*"}}, deployment, true},
		"any group is not the platform's": {[]admission.GroupVersionKind{{Group: "*", Kind: "*"}}, source, false},
		"the platform's by name":          {[]admission.GroupVersionKind{{Group: PolicyGroup, Kind: "*"}}, source, true},
		"by group and kind":               {[]admission.GroupVersionKind{{Group: "apps", Kind: "Deployment"}}, deployment, true},
		"another group":                   {[]admission.GroupVersionKind{{Group: "", Kind: "Deployment"}}, deployment, false},
		"another kind":                    {[]admission.GroupVersionKind{{Group: "apps", Kind: "DaemonSet"}}, deployment, false},
		"another version":                 {[]admission.GroupVersionKind{{Group: "apps", Version: "v1beta1", Kind: "Deployment"}}, deployment, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, makeMatcher(t, Match{Kinds: c.kinds}).MatchesKind(c.asked))
		})
	}
}

func TestVerbsThatMatch(t *testing.T) {
	for name, c := range map[string]struct {
		match           Match
		review          admission.Review
		matches, mutate bool
	}{
		"creations":                {Match{}, admission.Review{Operation: "CREATE"}, true, true},
		"updates":                  {Match{}, admission.Review{Operation: "UPDATE"}, true, false},
		"deletions":                {Match{}, admission.Review{Operation: "DELETE"}, false, false},
		"updates by name":          {Match{Operations: []string{"UPDATE"}}, admission.Review{Operation: "UPDATE"}, true, true},
		"deletions by name":        {Match{Operations: []string{"DELETE"}}, admission.Review{Operation: "DELETE"}, true, false},
		"creations where not said": {Match{Operations: []string{"UPDATE"}}, admission.Review{Operation: "CREATE"}, false, false},
		"a subresource":            {Match{}, admission.Review{Operation: "CREATE", SubResource: "exec"}, false, false},
		"a subresource by name":    {Match{Subresources: []string{"exec"}}, admission.Review{Operation: "CREATE", SubResource: "exec"}, true, false},
		"another subresource":      {Match{Subresources: []string{"exec"}}, admission.Review{Operation: "CREATE", SubResource: "scale"}, false, false},
		"any subresource":          {Match{Subresources: []string{"*"}}, admission.Review{Operation: "CREATE", SubResource: "scale"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := makeMatcher(t, c.match)
			c.review.New = makeLabelled("a", "b")
			require.Equal(t, c.matches, m.MatchesVerb(&c.review))
			require.Equal(t, c.mutate, m.Mutates(&c.review))
			c.review.New = nil
			require.False(t, m.Mutates(&c.review), "there is nothing to change")
		})
	}
}

func TestNamespaceLabelsThatMatch(t *testing.T) {
	selects := Match{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
	namespaces := admission.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	a, b := makeLabelled("team", "a"), makeLabelled("team", "b")
	for name, c := range map[string]struct {
		match          Match
		review         admission.Review
		namespace      *admission.Object
		matches, known bool
	}{
		"no selector":               {Match{}, admission.Review{Namespace: "shop"}, nil, true, true},
		"a selector of nothing":     {Match{NamespaceSelector: &metav1.LabelSelector{}}, admission.Review{Namespace: "shop"}, nil, true, true},
		"a namespace selected":      {selects, admission.Review{Namespace: "shop"}, a, true, true},
		"a namespace not selected":  {selects, admission.Review{Namespace: "shop"}, b, false, true},
		"a namespace nobody gave":   {selects, admission.Review{Namespace: "shop"}, nil, false, false},
		"a cluster-scoped object":   {selects, admission.Review{}, nil, true, true},
		"a Namespace by itself":     {selects, admission.Review{Resource: namespaces, New: a}, b, true, true},
		"a Namespace as it becomes": {selects, admission.Review{Resource: namespaces, New: b, Old: a}, a, false, true},
		"a Namespace as it was":     {selects, admission.Review{Resource: namespaces, Old: a}, nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			matches, known := makeMatcher(t, c.match).MatchesNamespaceLabels(&c.review, c.namespace)
			require.Equal(t, c.known, known)
			require.Equal(t, c.matches, matches)
		})
	}
}

func TestObjectLabelsThatMatch(t *testing.T) {
	m := makeMatcher(t, Match{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}})
	a, b := makeLabelled("team", "a"), makeLabelled("team", "b")
	require.True(t, m.MatchesObject(&admission.Review{New: a}))
	require.True(t, m.MatchesObject(&admission.Review{New: b, Old: a}), "one of both is enough")
	require.False(t, m.MatchesObject(&admission.Review{New: b, Old: b}))
	require.False(t, m.MatchesObject(&admission.Review{}))
	require.True(t, makeMatcher(t, Match{}).MatchesObject(&admission.Review{}))
}
