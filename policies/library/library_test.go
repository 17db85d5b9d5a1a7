package library

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	privileged = `# METADATA
# title: Containers must not be privileged
# description: Denies privileged containers.
# related_resources:
#   - ref: https://example.com/standard
#     description: The standard
# custom:
#   severity: high
#   category: pods
#   rationale: A privileged container can take over the node.
#   remedy: Remove the field.
#   parameters: {most: the limit}
#   match: {kinds: [{group: "", kind: Pod}]}
package library.privileged
`
	list = "title: All\ndescription: All policies.\npolicies: [privileged]\n"
)

func libraryFiles() map[string]string {
	return map[string]string{
		"pods/privileged/privileged.rego":      privileged,
		"pods/privileged/privileged_test.rego": "package library.privileged_test\n",
		"pods/privileged/bad.yaml":             "kind: Pod\n",
		"pods/ports/ports.rego":                strings.ReplaceAll(privileged, "rivileged", "orts"),
		"shared/pods.rego":                     "package library.shared.pods\n",
		"bundles/all.yaml":                     list,
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	l, err := Read(libraryFiles())
	require.NoError(t, err)
	assert.Equal(t, []string{"ports", "privileged", "all"}, l.Names())
	policy, ok := l.Policy("privileged")
	require.True(t, ok)
	assert.Equal(t, Policy{
		Name: "privileged", Folder: "pods/privileged", Title: "Containers must not be privileged", Description: "Denies privileged containers.",
		Severity: "high", Category: "pods", Rationale: "A privileged container can take over the node.", Remedy: "Remove the field.",
		Bundles: []string{"all"}, Parameters: map[string]string{"most": "the limit"},
		References: []Reference{{"https://example.com/standard", "The standard"}},
	}, policy)
	assert.Equal(t, "kind: Pod\n", l.File(policy, "bad.yaml"))
	assert.Empty(t, l.File(policy, "good.yaml"))
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"unknown policy":   {"bundles/all.yaml", strings.ReplaceAll(list, "[p", "[r, p"), `bundles/all.yaml: the library has no policy "r"`},
		"unknown field":    {"bundles/all.yaml", list + "more: 1\n", "bundles/all.yaml: "},
		"name of a policy": {"bundles/privileged.yaml", list, "bundles/privileged.yaml: a policy has the same name"},
		"name twice":       {"more/ports/ports.rego", strings.ReplaceAll(privileged, "category: pods", "category: more"), "more/ports and pods/ports have the same name"},
		"severity":         {"pods/ports/ports.rego", strings.ReplaceAll(privileged, "high", "higher"), `custom.severity is "higher", not one of critical, high, medium, low, info`},
		"category":         {"pods/ports/ports.rego", strings.ReplaceAll(privileged, "category: pods", "category: pod"), `custom.category is "pod", but the folder is "pods"`},
		"no remedy":        {"pods/ports/ports.rego", strings.ReplaceAll(privileged, "remedy", "remedies"), "METADATA custom.remedy is missing"},
		"no METADATA":      {"pods/ports/ports.rego", "package library.ports\n", "METADATA of the package are missing"},
		"no Rego":          {"pods/ports/ports.rego", "package", "pods/ports/ports.rego:1"},
		"no references":    {"pods/ports/ports.rego", strings.ReplaceAll(strings.ReplaceAll(privileged, "#   - ref: https://example.com/standard\n", ""), "#     description: The standard\n", ""), "related_resources are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := libraryFiles()
			files[test.file] = test.text
			_, err := Read(files)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := Read(map[string]string{"a.rego": privileged})
	require.ErrorContains(t, err, "the library has no policies")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	l, err := Read(libraryFiles())
	require.NoError(t, err)
	for words, want := range map[string]int{"PRIVILEGED": 1, "take node": 2, "all": 1, "standard": 2, "high ports": 1, "missing": 0, "": 2} {
		assert.Len(t, l.Search(strings.Fields(words)...), want, words)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	l, err := Read(libraryFiles())
	require.NoError(t, err)
	selected, err := l.Select("all")
	require.NoError(t, err)
	assert.Equal(t, []string{"privileged"}, selected.Policies)
	assert.Equal(t, map[string]string{
		"pods/privileged/privileged.rego": privileged, "pods/privileged/privileged_test.rego": "package library.privileged_test\n",
		"shared/pods.rego": "package library.shared.pods\n",
	}, selected.Files)
	selected, err = l.Select("ports", "all", "ports")
	require.NoError(t, err)
	assert.Equal(t, []string{"ports", "privileged"}, selected.Policies)
	_, err = l.Select("all", "port")
	require.ErrorContains(t, err, `neither a policy nor a bundle "port"`)
}
