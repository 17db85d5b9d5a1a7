package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// validatingPolicy is a policy of Kyverno about Pods in one namespace, and in workloads.
const validatingPolicy = `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: tagged}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.all(c, image(c.image).tag() != "latest")
    messageExpression: '"a tag is missing in " + object.metadata.namespace'
`

// TestPoliciesOfKyvernoAreEnforced applies a ValidatingPolicy in a PolicySource, without Kyverno.
func TestPoliciesOfKyvernoAreEnforced(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	text := fmt.Sprintf(validatingPolicy, namespace)
	t.Cleanup(func() { removeSource(context.Background(), "kyverno-cel") })
	serveSource(t, "kyverno-cel", map[string]string{"policy.yaml": text}, nil)

	deployment := func(image string) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":%q},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"web","image":%q}]}}}}`, namespace, image)
	}
	for image, admitted := range map[string]bool{"web:1": true, "web": false} {
		for kind, object := range map[string]string{
			"Pod":        pod(namespace, "web", fmt.Sprintf(`{"containers":[{"name":"web","image":%q}]}`, image)),
			"Deployment": deployment(image),
		} {
			output, ok := kubectl(t, object, "create", "--dry-run=server", "-f", "-")
			require.Equal(t, admitted, ok, "%s with %s: %s", kind, image, output)
			if !admitted {
				require.Contains(t, output, "a tag is missing in "+namespace+" [ValidatingPolicy/tagged deny, policy.yaml:9, kyverno-cel@")
			}
		}
	}

	for text, want := range map[string]string{
		"apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: m}\n": `policy.yaml:1: MutatingPolicy "m" of Kyverno is not supported`,
		text + "  - expression: resource.Get('v1', 'nodes', 'a') != null\n":               `policy.yaml:11: ValidatingPolicy "tagged": spec.validations[1].expression: resource.Get is not supported`,
	} {
		output, ok := apply(t, installation.PolicySource("kyverno-refused", map[string]string{"policy.yaml": text}, nil))
		require.False(t, ok)
		require.Contains(t, output, want)
	}
}
