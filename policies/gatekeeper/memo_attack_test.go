package gatekeeper

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// TestMemoKeepsGroupsApart has two templates whose parts differ in nothing but that one
// puts into its message what the other only looks into.
func TestMemoKeepsGroupsApart(t *testing.T) {
	template := func(name, rule string) string {
		return fmt.Sprintf(`apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: %[1]s
spec:
  crd:
    spec:
      names:
        kind: %[2]s
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package x
        violation[{"msg": msg}] { not input.review.object.spec.list.x; %[3]s }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: %[2]s
metadata:
  name: all
`, name, map[string]string{"afirst": "AFirst", "bsecond": "BSecond"}[name], rule)
	}
	set, err := engine.Compile(engine.Source{Name: "s", Files: map[string]string{
		"a.yaml": template("afirst", `input.review.object.never; msg := "no"`),
		"b.yaml": template("bsecond", `input.review.object.spec; not input.review.object.never; msg := concat(",", input.review.object.spec.list)`),
	}}, Dialect)
	require.NoError(t, err)
	review := func(list string) *engine.Review {
		review, err := engine.NewReview([]byte(`{"uid": "1", "operation": "CREATE", "name": "x", "namespace": "shop",
			"kind": {"version": "v1", "kind": "ConfigMap"}, "resource": {"version": "v1", "resource": "configmaps"},
			"object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "shop"}, "spec": {"list": ` + list + `}}}`))
		require.NoError(t, err)
		return review
	}
	s := engine.NewSnapshot(engine.BuiltinResources(), set).Remembering(engine.NewMemo(engine.MemoOn, 0, nil))
	for _, reads := range s.Reads("CREATE") {
		t.Log(reads)
	}
	for range 3 {
		require.Empty(t, s.Validate(t.Context(), review(`[1]`), engine.Options{}).Denials)
	}
	require.Len(t, s.Validate(t.Context(), review(`["a"]`), engine.Options{}).Denials, 1)
}
