package gatekeeper

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestProvidersWithoutADataSource are refused with the reason. One that is in force stays, so that
// its constraints are not lifted.
func TestProvidersWithoutADataSource(t *testing.T) {
	t.Parallel()
	provider := unstructured.Unstructured{Object: map[string]any{"apiVersion": "externaldata.gatekeeper.sh/v1beta1", "kind": "Provider", "metadata": map[string]any{"name": "cosign"}}}
	inForce := map[string]string{settingsFile: textOf(provider)}
	for name, c := range map[string]struct {
		exists  bool
		present map[string]string
		kept    bool
	}{
		"a DataSource":         {true, nil, false},
		"none":                 {false, nil, false},
		"none any longer":      {false, inForce, true},
		"of another Provider":  {false, map[string]string{settingsFile: "apiVersion: externaldata.gatekeeper.sh/v1beta1\nkind: Provider\nmetadata: {name: other}\n"}, false},
		"one, and it is there": {true, inForce, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{options: Options{HasDataSource: func(_ context.Context, name string) (bool, error) {
				require.Equal(t, "cosign", name)
				return c.exists, nil
			}}}
			found, err := r.unservedProvider(t.Context(), provider, c.present)
			require.NoError(t, err)
			require.Equal(t, c.kept, found.kept)
			if c.exists {
				require.Empty(t, found.message)
				return
			}
			require.Contains(t, found.text(), "the cluster has no DataSource cosign")
			require.Equal(t, "Provider/cosign", id(found.object))
		})
	}
	r := &Reconciler{options: Options{HasDataSource: func(context.Context, string) (bool, error) { return false, errors.New("the server is down") }}}
	_, err := r.unservedProvider(t.Context(), provider, nil)
	require.ErrorContains(t, err, "the server is down")
}
