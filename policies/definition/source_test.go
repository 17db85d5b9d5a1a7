package definition

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDigestTellsFilesApart(t *testing.T) {
	digest := func(files map[string]string) string { return Source{Files: files}.Digest() }
	require.NotEqual(t, digest(map[string]string{"a": "bc"}), digest(map[string]string{"ab": "c"}))
	require.NotEqual(t, digest(map[string]string{"a": "b", "c": ""}), digest(map[string]string{"a": "", "c": "b"}))
	require.Equal(t, digest(map[string]string{"a": "b", "c": "d"}), digest(map[string]string{"c": "d", "a": "b"}))
}

func TestShortRevision(t *testing.T) {
	for revision, want := range map[string]string{
		"main@sha1:0123456789abcdef": "0123456789ab",
		"sha256:0123456789abcdef":    "0123456789ab",
		"v1":                         "v1",
		"":                           "",
	} {
		require.Equal(t, want, ShortRevision(revision))
	}
}
