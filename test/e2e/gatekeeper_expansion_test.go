package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// webKind is a kind of users with a Pod template.
const webKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.expansion.example.com}
spec:
  group: expansion.example.com
  scope: Namespaced
  names: {kind: Web, listKind: WebList, plural: webs, singular: web}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// webExpansion expands it, and names a kind in a SyncSet that the cluster does not have.
const webExpansion = `apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: webs}
spec: {applyTo: [{groups: [expansion.example.com], versions: [v1], kinds: [Web]}], templateSource: spec.pod, generatedGVK: {version: v1, kind: Pod}}
---
apiVersion: syncset.gatekeeper.sh/v1alpha1
kind: SyncSet
metadata: {name: unknown}
spec: {gvks: [{group: "", version: v1, kind: Pod}, {group: missing.example.com, version: v1, kind: Missing}]}
`

// TestGatekeeperExpandsOwnKinds reviews the Pods of a kind of users, and reports a kind that the
// cluster does not serve in the status of the SyncSet that names it.
func TestGatekeeperExpandsOwnKinds(t *testing.T) {
	namespace := newNamespace(t)
	applyForTest(t, webKind)
	applyForTest(t, sampleTemplate(t, "disallowed-repos"))
	applyForTest(t, constraintIn(namespace, "ImagesDoNotComeFrom", "", "Pod")+"  parameters: {repos: [evil.example/]}\n")
	applyForTest(t, webExpansion)
	web := func(image string) string {
		return "apiVersion: expansion.example.com/v1\nkind: Web\nmetadata: {name: web, namespace: " + namespace + "}\nspec: {pod: {spec: {containers: [{name: web, image: " + image + "}]}}}\n"
	}
	eventually(t, func() bool {
		output, ok := kubectl(t, web("evil.example/web:1"), "apply", "--dry-run=server", "-f", "-")
		return !ok && strings.Contains(output, "[Implied by webs] image evil.example/web:1 comes from evil.example/ [ImagesDoNotComeFrom/here deny, ")
	}, "the Pods of the kind to be reviewed")
	output, ok := kubectl(t, web("good.example/web:1"), "apply", "--dry-run=server", "-f", "-")
	require.True(t, ok, output)
	output, ok = kubectl(t, "apiVersion: expansion.example.com/v1\nkind: Web\nmetadata: {name: web, namespace: "+namespace+"}\nspec: {}\n", "apply", "--dry-run=server", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, "the object has no Pod template at spec.pod")
	eventually(t, func() bool {
		return strings.Contains(jsonPath(t, `{.status.byPod[?(@.id=="lintel")].errors[0].message}`, "syncset", "unknown"), "spec.gvks[1]: the cluster has no kind Missing.missing.example.com")
	}, "the SyncSet to report the missing kind")
	require.Contains(t, jsonPath(t, `{.status.conditions[?(@.type=="Ready")].message}`, "policysource", "gatekeeper"), "SyncSet/unknown: spec.gvks[1]")
}
