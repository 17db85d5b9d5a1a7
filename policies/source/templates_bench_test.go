package source

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// BenchmarkRecompileConstraint changes one of many constraints, as the part peers of the benchmarks
// does ten times a second.
func BenchmarkRecompileConstraint(b *testing.B) {
	const folder, changed = "../../config/samples/gatekeeper", "allowed-repos-constraint.yaml"
	files := map[string]string{}
	require.NoError(b, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); err != nil || name != "template.yaml" && name != "constraint.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.Base(filepath.Dir(path))+"-"+filepath.Base(path)] = string(text)
		return err
	}))
	require.Contains(b, files, changed)
	revision := func(n int) definition.Source {
		next := maps.Clone(files)
		next[changed] = strings.Replace(files[changed], "metadata:\n", fmt.Sprintf("metadata:\n  annotations: {revision: %q}\n", fmt.Sprint(n)), 1)
		return definition.Source{Name: "s", Revision: fmt.Sprint(n), Files: next}
	}
	compiler := NewCompiler("", 0)
	set, err := policyset.Compile(revision(0), compiler.templates.Dialect)
	require.NoError(b, err)
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		set, err = policyset.Recompile(revision(n), set, compiler.templates.Dialect)
		require.NoError(b, err)
	}
}
