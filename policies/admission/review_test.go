package admission

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/terms"
)

// makeObject is an object of a review, from JSON.
func makeObject(text string) *Object {
	return NewObject(ast.MustParseTerm(text).Value.(ast.Object))
}

func TestOnlyRemovesFinalizers(t *testing.T) {
	state := func(deleted, finalizers, rest string) string {
		return fmt.Sprintf(`{"metadata":{"name":"a","deletionTimestamp":%q,"finalizers":%s}%s}`, deleted, finalizers, rest)
	}
	const now = "2026-01-01T00:00:00Z"
	for name, c := range map[string]struct {
		operation, before, after string
		want                     bool
	}{
		"one of two":           {"UPDATE", state(now, `["a","b"]`, ""), state(now, `["b"]`, ""), true},
		"the last":             {"UPDATE", state(now, `["a"]`, ""), `{"metadata":{"name":"a","deletionTimestamp":"` + now + `","resourceVersion":"2","generation":3,"managedFields":[]}}`, true},
		"none":                 {"UPDATE", state(now, `["a"]`, ""), state(now, `["a"]`, ""), false},
		"another for two":      {"UPDATE", state(now, `["a","b"]`, ""), state(now, `["c"]`, ""), false},
		"with another change":  {"UPDATE", state(now, `["a"]`, `,"spec":1`), state(now, `[]`, `,"spec":2`), false},
		"with another label":   {"UPDATE", state(now, `["a"]`, ""), `{"metadata":{"name":"a","deletionTimestamp":"` + now + `","labels":{"a":"b"}}}`, false},
		"of one that stays":    {"UPDATE", state("", `["a"]`, ""), state("", `[]`, ""), false},
		"of another operation": {"DELETE", state(now, `["a"]`, ""), state(now, `[]`, ""), false},
		"of an empty object":   {"UPDATE", `{}`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			review := &Review{Operation: c.operation, Old: makeObject(c.before), New: makeObject(c.after)}
			require.Equal(t, c.want, review.OnlyRemovesFinalizers())
		})
	}
	require.False(t, (&Review{Operation: "UPDATE"}).OnlyRemovesFinalizers())
}

func TestNamespacesByGlob(t *testing.T) {
	namespaces := GroupVersionResource{Version: "v1", Resource: "namespaces"}
	for name, c := range map[string]struct {
		review Review
		globs  []string
		want   bool
	}{
		"by name":                        {Review{Namespace: "shop"}, []string{"bank", "shop"}, true},
		"by the beginning":               {Review{Namespace: "shop-a"}, []string{"shop-*"}, true},
		"by the end":                     {Review{Namespace: "a-shop"}, []string{"*-shop"}, true},
		"by a class of letters":          {Review{Namespace: "shop"}, []string{"[r-t]hop"}, true},
		"by any letter":                  {Review{Namespace: "shop"}, []string{"?hop"}, true},
		"by an escaped letter":           {Review{Namespace: "shop"}, []string{`\shop`}, true},
		"another":                        {Review{Namespace: "bank"}, []string{"shop", "b"}, false},
		"a cluster-scoped object":        {Review{}, []string{"*"}, false},
		"a Namespace, by its name":       {Review{Resource: namespaces, Name: "shop"}, []string{"shop"}, true},
		"a Namespace without a name":     {Review{Resource: namespaces, Namespace: "shop"}, []string{"*"}, false},
		"a Namespace, not its request's": {Review{Resource: namespaces, Name: "bank", Namespace: "shop"}, []string{"shop"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.review.InNamespaces(c.globs)) })
	}
}

func TestLabelsAreTexts(t *testing.T) {
	require.Equal(t, labels.Set{"a": "b"}, makeObject(`{"metadata":{"labels":{"a":"b","c":1,"d":null}}}`).Labels())
	require.Empty(t, makeObject(`{"metadata":{"labels":["a"]}}`).Labels())
	require.Empty(t, (*Object)(nil).Labels())
}

// TestTestReviews: reviews for tests have default fields, overridden by the given ones.
func TestTestReviews(t *testing.T) {
	review, err := NewTestReview([]byte(`{"operation":"UPDATE","oldObject":{"apiVersion":"apps/v1","kind":"Deployment"}}`))
	require.NoError(t, err)
	require.Equal(t, "UPDATE", review.Operation)
	require.Equal(t, GroupVersionKind{"apps", "v1", "Deployment"}, review.Kind)
	require.Equal(t, `{}`, terms.Lookup(review.Request(), "userInfo").String())

	review, err = NewTestObjectReview([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"}}`))
	require.NoError(t, err)
	require.Equal(t, GroupVersionKind{"", "v1", "Pod"}, review.Kind)
	require.Equal(t, "shop/web", review.Namespace+"/"+review.Name)

	for text, want := range map[string]string{
		`[]`: "it has no kind", `{"apiVersion":"v1"}`: "it has no kind", `{`: "reading the object",
	} {
		_, err := NewTestObjectReview([]byte(text))
		require.ErrorContains(t, err, want)
	}
	_, err = NewTestReview([]byte(`[]`))
	require.ErrorContains(t, err, "it is not a JSON object")
}

func TestCertificateRequestsOfReviews(t *testing.T) {
	signing := GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
	encoded := base64.StdEncoding.EncodeToString([]byte("no PEM"))
	for name, c := range map[string]struct {
		resource GroupVersionResource
		object   string
		want     string // in what policies read, empty where that is nothing
	}{
		"no PEM":           {signing, `{"spec":{"request":"` + encoded + `"}}`, `"error": "`},
		"no base64":        {signing, `{"spec":{"request":"!"}}`, "spec.request: must be base64"},
		"no request":       {signing, `{"spec":{}}`, ""},
		"another resource": {GroupVersionResource{Version: "v1", Resource: "pods"}, `{"spec":{"request":"!"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			term := (&Review{Resource: c.resource, New: makeObject(c.object)}).CertificateRequest()
			if c.want == "" {
				require.Nil(t, term)
				return
			}
			require.Contains(t, term.String(), c.want)
		})
	}
}

func TestPodsOfWorkloads(t *testing.T) {
	deployment := GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	const object = `{"metadata":{"name":"web"},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"hostPID":true}}}}`
	for name, c := range map[string]struct {
		review Review
		want   bool
	}{
		"a creation":          {Review{Kind: deployment, Operation: "CREATE", New: makeObject(object)}, true},
		"an update":           {Review{Kind: deployment, Operation: "UPDATE", New: makeObject(object)}, true},
		"an object by itself": {Review{Kind: deployment, New: makeObject(object)}, true},
		"a connection":        {Review{Kind: deployment, Operation: "CONNECT", New: makeObject(object)}, false},
		"a deletion":          {Review{Kind: deployment, Operation: "DELETE"}, false},
		"its scale":           {Review{Kind: deployment, Operation: "UPDATE", SubResource: "scale", New: makeObject(object)}, false},
		"no template":         {Review{Kind: deployment, Operation: "CREATE", New: makeObject(`{"spec":{}}`)}, false},
		"no workload":         {Review{Kind: PodKind, Operation: "CREATE", New: makeObject(object)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.review.Namespace = "shop"
			c.review.Request = func() ast.Object { return ast.NewObject() }
			pod := PodReview(&c.review)
			if !c.want {
				require.Nil(t, pod)
				return
			}
			require.Equal(t, PodKind, pod.Kind)
			require.Equal(t, c.review.Operation, pod.Operation)
			require.Equal(t, labels.Set{"app": "web"}, pod.New.Labels())
			require.Equal(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "web"}, "name": "web-pod", "namespace": "shop", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": ""}]}, "spec": {"hostPID": true}}`, pod.New.Value().String())
			require.Equal(t, pod.New.Value().String(), terms.Lookup(pod.Request(), "object").String())
		})
	}
}

// TestOwnersOfPods are those of the template, and the workload once.
func TestOwnersOfPods(t *testing.T) {
	const other, web = `{"apiVersion": "v1", "kind": "Node", "name": "web", "uid": "1"}`, `{"apiVersion": "v1", "kind": "ReplicationController", "name": "web", "uid": ""}`
	for name, c := range map[string]struct{ name, metadata, want string }{
		"none":             {`"name": "web"`, `{}`, `[` + web + `]`},
		"another":          {`"name": "web"`, `{"ownerReferences": [` + other + `]}`, `[` + other + `, ` + web + `]`},
		"the workload":     {`"name": "web"`, `{"ownerReferences": [` + web + `, ` + other + `]}`, `[` + web + `, ` + other + `]`},
		"null":             {`"name": "web"`, `{"ownerReferences": null}`, `[` + web + `]`},
		"a generated name": {`"generateName": "web"`, `{}`, `[` + web + `]`},
		"no metadata":      {`"name": "web"`, `null`, `[` + web + `]`},
	} {
		t.Run(name, func(t *testing.T) {
			pod := PodReview(&Review{
				Kind: GroupVersionKind{Version: "v1", Kind: "ReplicationController"}, Operation: "CREATE", Namespace: "shop",
				New:     makeObject(`{"metadata": {` + c.name + `}, "spec": {"template": {"metadata": ` + c.metadata + `}}}`),
				Request: func() ast.Object { return ast.NewObject() },
			})
			metadata, _ := terms.Lookup(pod.New.Value(), "metadata").(ast.Object)
			require.Equal(t, c.want, terms.Lookup(metadata, "ownerReferences").String())
		})
	}
}
