package stores

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocations(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	require.NoError(t, store.Close())
	for location, want := range map[string]string{
		"/var/lib": "scheme must be file, s3, gs, azblob", "http://x/y": "scheme must be file, s3", "s3:///x": "must have the form s3://bucket/folder",
		"s3://id:secret@bucket/x": "must not have credentials", "gs://bucket/a/../../b": "must not have empty segments, or segments of dots",
		"s3://bucket/a//b": "must not have empty segments", "s3://bucket/a?unknown=1": `unknown query parameter "unknown"`, "%": "not a URL",
	} {
		_, err := Open(t.Context(), location)
		require.ErrorContains(t, err, want, location)
		require.NotContains(t, err.Error(), "secret")
	}
}

// TestTheManagerHasNoClients: it would need tens of MiB of memory for them, at rest.
func TestTheManagerHasNoClients(t *testing.T) {
	t.Parallel()
	imported, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../../cmd/manager").Output()
	require.NoError(t, err)
	require.Contains(t, string(imported), "policies/record\n")
	for _, client := range []string{"gocloud.dev/blob", "github.com/aws/aws-sdk-go-v2", "cloud.google.com/go/storage", "github.com/Azure/azure-sdk-for-go"} {
		require.NotContains(t, string(imported), client+"\n")
	}
}
