package openclaw

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// sampleInstance is the product document's, as the API server would store it.
func sampleInstance(t *testing.T) *v1.OpenClawInstance {
	t.Helper()
	instance := &v1.OpenClawInstance{}
	readSample(t, "openclawinstance.yaml", instance)
	instance.UID, instance.Generation = "instance-uid", 1
	return instance
}

func sampleBundle(t *testing.T) *v1.PolicyBundle {
	t.Helper()
	bundle := &v1.PolicyBundle{}
	readSample(t, "policybundle.yaml", bundle)
	bundle.UID, bundle.Generation = "bundle-uid", 1
	return bundle
}

func readSample(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../config/samples/openclaw/" + name)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
}

// makeBundle is a bundle with one policy.
func makeBundle(name string, scope v1.Scope, content string) *v1.PolicyBundle {
	bundle := &v1.PolicyBundle{Spec: v1.PolicyBundleSpec{Policies: []v1.Policy{
		{Scope: scope, Domain: "models", Name: "routing", Content: content},
	}}}
	bundle.Name, bundle.Namespace, bundle.Generation = name, "openclaw-enterprise", 1
	bundle.UID = types.UID(name)
	return bundle
}

const allowAll = "package openclaw.enterprise.models\nimport rego.v1\nallow := true\n"
