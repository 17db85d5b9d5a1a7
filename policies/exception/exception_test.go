package exception

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"web", "web", true},
		{"web", "webs", false},
		{"*", "web", true},
		{"*", "", true},
		{"web-*", "web-1", true},
		{"web-*", "web", false},
		{"*-web", "a-web", true},
		{"*-web", "a-web-b", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"*ab*ab", "ab", false},
		{"registry/*", "registry/team/app:1", true},
		{"registry/*", "registry.evil/app", false},
		{"we?", "web", false},
		{"[w]eb", "web", false},
		{"**", "web", true},
	} {
		assert.Equal(t, test.want, matches(test.pattern, test.text), "%s %s", test.pattern, test.text)
	}
}

func TestFieldPath(t *testing.T) {
	t.Parallel()
	for field, want := range map[string][]string{
		"spec.containers[2].image":               {"spec", "containers", "2", "image"},
		".spec.containers[2]":                    {"spec", "containers", "2"},
		"$.spec.containers[2].ports[0]":          {"spec", "containers", "2", "ports", "0"},
		"/spec/containers/2/image":               {"spec", "containers", "2", "image"},
		`metadata.annotations["a/b"].x`:          {"metadata", "annotations", "a/b", "x"},
		"/metadata/annotations/a~1b~0":           {"metadata", "annotations", "a/b~"},
		"":                                       nil,
		"spec..containers":                       nil,
		"spec.containers[":                       nil,
		"spec.containers[]":                      nil,
		"spec.containers[0]image":                nil,
		"spec.":                                  nil,
		"spec.template.spec.initContainers[0].a": {"spec", "template", "spec", "initContainers", "0", "a"},
	} {
		path, ok := fieldPath(field)
		assert.Equal(t, want != nil, ok, field)
		if ok {
			assert.Equal(t, want, path, field)
		}
	}
}

const workload = `{"uid":"1","operation":"CREATE","name":"web","namespace":"shop",
	"kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},
	"object":{"metadata":{"name":"web"},"spec":{
		"containers":[{"name":"first","image":"nginx"},{"name":"debug","image":"registry/debug"}],
		"initContainers":[{"name":"setup","image":"nginx"}],
		"template":{"spec":{"containers":[{"name":"nested","image":"nginx"}]}},
		"ports":[{"name":"debug"}], "text":"containers"}}}`

func TestCoversField(t *testing.T) {
	t.Parallel()
	review, err := admission.NewReview([]byte(workload))
	require.NoError(t, err)
	for field, want := range map[string]string{
		"spec.containers[0].image":                "first",
		"spec.containers[1]":                      "debug",
		"/spec/containers/1/securityContext":      "debug",
		"spec.initContainers[0].image":            "setup",
		"spec.template.spec.containers[0].image":  "nested",
		"spec.containers[2].image":                "",
		"spec.containers[-1].image":               "",
		"spec.containers[+1].image":               "",
		"spec.containers[01].image":               "",
		"spec.containers[debug].image":            "",
		"spec.containers":                         "",
		"spec.ports[0]":                           "",
		"spec.text.containers[0]":                 "",
		"containers[0]":                           "",
		"metadata.name":                           "",
		"":                                        "",
		"spec.containers[1].image, spec.replicas": "debug",
	} {
		for _, name := range []string{"first", "debug", "setup", "nested"} {
			one := &Exception{Containers: []string{name}}
			assert.Equal(t, name == want, one.CoversField(review.New, field), "%s of %s", field, name)
		}
	}
	both := &Exception{Containers: []string{"debug"}, Images: []string{"nginx"}}
	assert.False(t, both.CoversField(review.New, "spec.containers[1]"), "the image differs")
	assert.True(t, (&Exception{}).CoversField(review.New, ""), "no container is selected")
	assert.False(t, both.CoversField(nil, "spec.containers[1]"))
}

func TestSelects(t *testing.T) {
	t.Parallel()
	namespace, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","name":"shop","namespace":"shop","kind":{"version":"v1","kind":"Namespace"},"resource":{"version":"v1","resource":"namespaces"},"object":{"metadata":{"name":"shop"}}}`))
	require.NoError(t, err)
	node, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","name":"shop","kind":{"version":"v1","kind":"Node"},"resource":{"version":"v1","resource":"nodes"},"object":{"metadata":{"name":"shop"}}}`))
	require.NoError(t, err)
	inShop := &Exception{Namespaces: []string{"*"}}
	assert.True(t, inShop.Selects(namespace, namespace.Kind))
	assert.False(t, inShop.Selects(node, node.Kind), "in no namespace")
	assert.True(t, (&Exception{Names: []string{"shop"}}).Selects(node, node.Kind))
	assert.False(t, (&Exception{Selector: &metav1.LabelSelector{}}).Selects(node, node.Kind), "a selector that is not compiled")
	_, err = Exception{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}}.Compiled()
	assert.ErrorContains(t, err, "spec.match.selector: ")
}

func TestExpired(t *testing.T) {
	t.Parallel()
	expires := time.Now().Add(time.Hour).Round(0)
	one := &Exception{Expires: expires}
	assert.False(t, one.Expired(expires.Add(-1)))
	assert.True(t, one.Expired(expires))
	assert.True(t, one.Expired(expires.Add(1)))
}
