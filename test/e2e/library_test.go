package e2e

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/library"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestLibrary applies the library, a source for each category, and sends the manifests of each policy as dry runs: the
// API server rejects the bad one by exactly that policy, and accepts the good one.
//
// Other tests use the same cluster. Therefore each policy of the test matches objects with its
// own name in a label only.
func TestLibrary(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "create", "serviceaccount", "web", "-n", namespace)
	files, err := installation.ReadFolder(filepath.Join(installation.Root(), "config/library"))
	require.NoError(t, err)
	l, err := library.Read(files)
	require.NoError(t, err)
	categories := map[string][]string{}
	for _, policy := range l.Policies {
		categories[policy.Category] = append(categories[policy.Category], policy.Name)
	}
	for category, names := range categories { // a small source compiles in time, also on a busy machine
		selected, err := l.Select(names...)
		require.NoError(t, err)
		name := "library-" + category
		t.Cleanup(func() { removeSource(context.Background(), name) })
		serveSource(t, name, withLibraryLabel(t, l, selected), nil)
	}

	for _, policy := range l.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			t.Parallel()
			err := createLabeled(t, namespace, policy.Name, l.File(policy, "bad.yaml"))
			if reason, invalid := invalidManifests[policy.Name]; invalid {
				require.ErrorContains(t, err, reason)
			} else {
				require.ErrorContains(t, err, "denied the request: ")
				require.Equal(t, []string{"library." + policy.Name}, policiesIn(err.Error()), err.Error())
			}
			require.NoError(t, createLabeled(t, namespace, policy.Name, l.File(policy, "good.yaml")))
		})
	}
}

// withLibraryLabel are the files of a selection without their tests, which the gate runs for the
// library itself. Each policy matches only objects with its name in the label.
func withLibraryLabel(t *testing.T, l *library.Library, selected library.Selection) map[string]string {
	t.Helper()
	files := map[string]string{}
	for file, text := range selected.Files {
		if !strings.HasSuffix(file, "_test.rego") {
			files[file] = text
		}
	}
	for _, name := range selected.Policies {
		policy, _ := l.Policy(name)
		file := policy.Folder + "/" + name + ".rego"
		require.Equal(t, 1, strings.Count(files[file], "#   match:\n"), file)
		files[file] = strings.Replace(files[file], "#   match:\n", "#   match:\n#     objectSelector: {matchLabels: {"+libraryLabel+": "+name+"}}\n", 1)
	}
	return files
}

// invalidManifests are bad manifests that a present API server rejects by its own validation,
// before it calls webhooks.
var invalidManifests = map[string]string{"proc_mount": "`hostUsers` must be false to use `Unmasked`"}

const libraryLabel = "e2e.lintel.dev/library"

// createLabeled creates an object in a dry run, with the label of a policy of the library.
func createLabeled(t *testing.T, namespace, policy, manifest string) error {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &object.Object))
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[libraryLabel] = policy
	object.SetLabels(labels)
	if object.GetNamespace() == metav1.NamespaceDefault {
		namespace = metav1.NamespaceDefault
	}
	mapping, err := api.mapper.RESTMapping(schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()).GroupKind())
	require.NoError(t, err)
	client, err := api.of(mapping.Resource, namespace)
	require.NoError(t, err)
	if mapping.Scope.Name() == "namespace" {
		object.SetNamespace(namespace)
	}
	_, err = client.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// policiesIn are the policies of the denials of a message.
func policiesIn(message string) (names []string) {
	for _, match := range regexp.MustCompile(`\[(library\.[a-z0-9_]+) deny, `).FindAllStringSubmatch(message, -1) {
		if len(names) == 0 || names[len(names)-1] != match[1] {
			names = append(names, match[1])
		}
	}
	return names
}
