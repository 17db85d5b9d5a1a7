package reference

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/library"
)

// addLibrary adds a page for each bundle of the library, and one with the parameters. The site
// also has a page for each policy, which config/site/hooks.py makes of its METADATA.
func (p pages) addLibrary(t *testing.T) {
	l := readLibrary(t)
	const source = "the METADATA of config/library"
	index := [][]string{}
	for _, bundle := range l.Bundles {
		var rows [][]string
		for _, name := range bundle.Policies {
			policy, _ := l.Policy(name)
			rows = append(rows, []string{policyLink(policy), policy.Severity, cell(sentence(policy.Title))})
		}
		introduction := bundle.Description + fmt.Sprintf(" [Install it](../../how-to/install-policies-from-the-library.md) with `lintel policy add %s -o policies/`.", bundle.Name)
		p.add(t, "library/"+bundle.Name+".md", bundle.Title, source, introduction,
			[]section{{text: table([]string{"Policy", "Severity", "Rule"}, rows)}})
		index = append(index, []string{fmt.Sprintf("[%s](%s.md)", bundle.Title, bundle.Name), code(bundle.Name), fmt.Sprint(len(bundle.Policies))})
	}
	var sections []section
	for _, policy := range l.Policies {
		var rows [][]string
		for _, name := range slices.Sorted(maps.Keys(policy.Parameters)) {
			rows = append(rows, []string{code(name), cell(sentence(policy.Parameters[name]))})
		}
		if len(rows) > 0 {
			sections = append(sections, section{policy.Name, "## " + policy.Name + "\n\n" + table([]string{"Parameter", "Value"}, rows)})
		}
	}
	p.add(t, "library/parameters.md", "Parameters of policies of the library", source,
		"Set parameters in `spec.parameters` of the PolicySource. Policies of one source share its parameters.", sections)
	p.add(t, "library/index.md", "Policy library", source,
		fmt.Sprintf("The library has %d policies in %d bundles. A policy can be in several bundles. [Parameters](parameters.md) lists their settings.", len(l.Policies), len(l.Bundles)),
		[]section{{text: table([]string{"Bundle", "Name", "Policies"}, index)}})
}

// policyLink links a policy to its source, which the site replaces by its page.
func policyLink(policy library.Policy) string {
	return fmt.Sprintf("[%s](../../../config/library/%s/%s.rego)", policy.Name, policy.Folder, policy.Name)
}

func readLibrary(t *testing.T) *library.Library {
	t.Helper()
	folder := os.DirFS(filepath.Join(root, "config/library"))
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".go" {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		files[path] = string(text)
		return err
	}))
	l, err := library.Read(files)
	require.NoError(t, err)
	return l
}
