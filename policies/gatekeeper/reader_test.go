package gatekeeper

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
)

// TestReader: a Reader gives what Dialect gives, for every revision of a source.
func TestReader(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir("../../config/samples/gatekeeper", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, "../../config/samples/gatekeeper/")] = string(text)
		return err
	}))
	const constraint, template, broken = "allowed-repos/constraint.yaml", "allowed-repos/template.yaml", "capabilities/template.yaml"
	require.Contains(t, files, constraint)
	require.Contains(t, files, template)
	require.Contains(t, files, broken)
	change := func(name, old, text string) func(map[string]string) {
		return func(files map[string]string) {
			require.Contains(t, files[name], old)
			files[name] = strings.Replace(files[name], old, text, 1)
		}
	}
	same := func(map[string]string) {}
	reader := &Reader{}
	for step, edit := range []func(map[string]string){
		same, same,
		change(constraint, "metadata:\n", "metadata:\n  annotations: {a: b}\n"),
		change(template, "comes from none", "is from none"),
		change(template, "metadata:\n", "# moves the lines\nmetadata:\n"),
		change(broken, "rego: |", "rego: |\n            !"),
		change(broken, "openAPIV3Schema:", "openAPIV3Schema: {type: 1}\n          x:"),
		func(files map[string]string) { delete(files, template) },
		func(files map[string]string) { files["again.yaml"] = files[template] },
		func(files map[string]string) {
			files["list.yaml"] = "apiVersion: v1\nkind: List\nitems: [{kind: 1}]\n# gatekeeper.sh/"
		},
		same,
	} {
		next := maps.Clone(files)
		edit(next)
		want, wantErrs := Dialect(next)
		got, gotErrs := reader.Dialect(next)
		require.Equal(t, wantErrs, gotErrs, step)
		require.Equal(t, described(want), described(got), step)
	}
}

// described is what distinguishes templates: functions cannot be compared.
func described(templates []definition.Template) (all []string) {
	for _, template := range templates {
		all = append(all, fmt.Sprintf("%s %v %v", template.Name, template.ReadsNamespace, template.Warnings), template.Text)
		for _, module := range template.Modules {
			all = append(all, fmt.Sprintf("%s %s", module.Package.Location, module))
		}
		for _, constraint := range template.Constraints {
			all = append(all, fmt.Sprintf("%s %s %s %v %v", constraint.Name, constraint.Location, constraint.Fingerprint, constraint.Parameters, constraint.Requires))
		}
	}
	return all
}

// TestReaderKeepsFiles: unchanged files are parsed once, until they are forgotten.
func TestReaderKeepsFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config/samples/gatekeeper/allowed-repos/template.yaml")
	require.NoError(t, err)
	files := map[string]string{"template.yaml": string(text)}
	reader := &Reader{}
	read := func() definition.Template {
		templates, errs := reader.Dialect(files)
		require.Empty(t, errs)
		require.Len(t, templates, 1)
		return templates[0]
	}
	first := read()
	files["other.yaml"] = "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config}\n"
	require.Same(t, first.Modules[0], read().Modules[0])
	reader.Forget()
	require.NotSame(t, first.Modules[0], read().Modules[0])
	require.Equal(t, len(files["template.yaml"])+len(files["other.yaml"]), reader.bytes)

	files["very-large.yaml"] = "# gatekeeper.sh/" + strings.Repeat("x", maxKept)
	read()
	require.NotContains(t, reader.files, keptFile{"other.yaml", files["other.yaml"]}, "the memory is limited")
}
