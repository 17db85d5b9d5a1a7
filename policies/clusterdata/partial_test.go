package clusterdata

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/eval"
)

// TestPartialObjects: an object that is not known is not taken for absent.
func TestPartialObjects(t *testing.T) {
	t.Parallel()
	service := admission.GroupVersionKind{Kind: "Service"}
	part := Part{
		Kind: service, Objects: []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"n","name":"a"}}`)},
		Absent: []Key{{Namespace: "n", Name: "b"}},
	}
	objects, err := NewPartial([]Part{part})
	require.NoError(t, err)
	require.True(t, objects.Has(service))
	require.False(t, objects.Has(admission.GroupVersionKind{Kind: "Pod"}))
	view := clusterView{objects, map[string]admission.GroupVersionKind{"Service": service}, nil}
	_, kind, err := view.Get("Service")
	require.NoError(t, err)
	_, namespace, err := kind.Get("n")
	require.NoError(t, err)
	value, _, err := namespace.Get("a")
	require.NoError(t, err)
	require.NotNil(t, value)
	value, _, err = namespace.Get("b")
	require.NoError(t, err)
	require.Nil(t, value)

	isUnknown := func(err error, reference string) {
		t.Helper()
		unknown, ok := errors.AsType[*eval.UnknownError](err)
		require.True(t, ok, err)
		require.Equal(t, reference, unknown.Reference)
	}
	_, _, err = namespace.Get("c")
	isUnknown(err, `data.cluster["Service"]["n"]["c"]`)
	_, err = namespace.Value()
	isUnknown(err, `data.cluster["Service"]["n"]`)
	_, err = view.Value()
	isUnknown(err, `data.cluster["Service"]`)
	_, err = Inventory(objects, []admission.GroupVersionKind{service}, nil).Value()
	isUnknown(err, `data.cluster["Service"]`)

	part.Complete = true
	objects, err = NewPartial([]Part{part})
	require.NoError(t, err)
	_, err = clusterView{objects, map[string]admission.GroupVersionKind{"Service": service}, nil}.Value()
	require.NoError(t, err)
	part.Objects[0] = json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`)
	_, err = NewPartial([]Part{part})
	require.ErrorContains(t, err, "its kind is Pod")
}
