package mutation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAMutatorMayRead(t *testing.T) {
	t.Parallel()
	env := []any{"spec", "containers", 0, "env", 1, "value"}
	for _, test := range []struct {
		location string
		path     []any
		want     bool
	}{
		{"spec.containers[name: *].imagePullPolicy", env, false},
		{"spec.containers[name: a].env", env, true},
		{"spec.containers[name: a].env[name: A].value", env, true},
		{"spec.containers[name: a].env[value: A].name", env, true},
		{"spec.containers[env: a].image", env, true},
		{"spec.containers", env, true},
		{"spec.dnsPolicy", env, false},
		{"spec.containers[name: *].image", []any{"spec", "containers", 0, "name"}, true},
		{"spec.containers[name: *].image", []any{"spec", "containers", 0}, true},
		{"spec.containers[name: *].image", []any{"spec", "containers"}, true},
		{"spec.containers[name: *].image", []any{"spec"}, true},
		{"spec.containers[name: *].image", []any{"data", "password"}, false},
		{"spec.dnsPolicy", []any{"metadata", "labels", "team"}, true},
		{"spec.dnsPolicy", []any{"metadata", "name"}, true},
		{"spec.dnsPolicy", []any{"metadata", "annotations", "a"}, false},
		{"metadata.annotations.a", []any{"metadata", "annotations", "a"}, true},
		{"metadata.annotations.a", []any{"metadata", "annotations", "b"}, false},
		{"metadata.annotations.a", []any{"metadata", "annotations"}, true},
		{"spec.dnsPolicy", nil, true},
	} {
		location, err := ParseLocation(test.location)
		require.NoError(t, err)
		require.Equal(t, test.want, (&Mutator{Location: location}).MayRead(test.path), "%s %v", test.location, test.path)
	}
}
