//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package source

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

func TestPackAndUnpack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 2*ChunkBytes) // does not compress
	for i := range noise {
		noise[i] = byte('!' + random.IntN(90))
	}
	for name, files := range map[string]map[string]string{
		"one":   {"p.rego": "package p"},
		"none":  {},
		"large": {"p.rego": "package p", "data.json": string(noise)},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, err := Pack(files)
			require.NoError(t, err)
			for _, chunk := range chunks {
				require.LessOrEqual(t, len(chunk), ChunkBytes)
			}
			again, err := Pack(files)
			require.NoError(t, err)
			require.Equal(t, chunks, again)

			digest := definition.Source{Files: files}.Digest()
			unpacked, err := Unpack(chunks, digest)
			require.NoError(t, err)
			require.Equal(t, files, unpacked)

			_, err = Unpack(chunks, "sha256:other")
			require.ErrorContains(t, err, "the artifact holds "+digest+", not sha256:other")
			_, err = Unpack(chunks[:len(chunks)-1], digest)
			require.Error(t, err)
		})
	}
}

func TestUnpackRefusesABomb(t *testing.T) {
	chunks, err := Pack(map[string]string{"data.json": strings.Repeat("a", MaxArtifactBytes)})
	require.NoError(t, err)
	_, err = Unpack(chunks, "")
	require.ErrorContains(t, err, "holds more than")
}
