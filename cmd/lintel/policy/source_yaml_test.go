package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// filesOf reads back the files of a PolicySource.
func filesOf(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var object struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			FailurePolicy string
			Inline        struct{ Files map[string]string }
		}
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &object), "%s", text)
	require.Equal(t, "Fail", object.Spec.FailurePolicy)
	return object.Spec.Inline.Files
}

func TestInlineYAMLIsABlockForEachFile(t *testing.T) {
	files := map[string]string{
		"b.rego":            "package b\n\ndeny contains \"x\" if {\n\ttrue \n}\n",
		"a/data.yaml":       "limit: 1",
		"with a space.rego": "package c\n\n\n",
	}
	text := inlineYAML("team", "Fail", false, files)
	require.Equal(t, `apiVersion: policy.lintel.dev/v1alpha1
kind: PolicySource
metadata:
  name: team
spec:
  failurePolicy: Fail
  inline:
    files:
      a/data.yaml: |-
        limit: 1
      b.rego: |
        package b

        deny contains "x" if {
`+"        \ttrue \n"+`        }
      "with a space.rego": |+
        package c


`, string(text))
	require.Equal(t, files, filesOf(t, text))
}

func TestNamesThatYAMLWouldMisread(t *testing.T) {
	for _, name := range []string{"123", "true", "null", "1e3", "0x1f", "on", "team", "a.b"} {
		var object struct{ Metadata struct{ Name any } }
		require.NoError(t, yaml.Unmarshal(inlineYAML(name, "Fail", false, nil), &object))
		require.Equal(t, name, object.Metadata.Name)
	}
}

// Files with any content are read back unchanged.
func TestInlineYAMLReadsBack(t *testing.T) {
	pieces := []string{"a", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "#", "# x", ":", ": ", "- ", "---\n", "...\n", "\"", "'", "|", ">", "%", "&a", "*a",
		"\\", "\x00", "\x7f", "\u0085", "\u2028", "\u2029", "\uFEFF", "\uFFFE", "é", "😀", "{", "}", "package p\n"}
	random := rand.New(rand.NewPCG(1, 2))
	some := func() string {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 5000 {
		files := map[string]string{some() + ".rego": some(), "z.rego": some()}
		require.Equal(t, files, filesOf(t, inlineYAML("team", "Fail", false, files)), "%q", files)
	}
}

func FuzzInlineYAML(f *testing.F) {
	f.Add("p.rego", "package p\n\tx\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		files := map[string]string{name: text}
		if checkFiles(files) != nil || len(name) > 500 {
			t.Skip()
		}
		require.Equal(t, files, filesOf(t, inlineYAML("team", "Fail", false, files)), "%q", files)
	})
}
