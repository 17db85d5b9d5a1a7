package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/docpage"
	"github.com/lintel-policy/lintel/test/installation"
)

// TestFirstPolicyTutorial runs the commands of kubectl in docs/tutorials/first-policy.md, in a
// namespace and with a PolicySource of other names, and compares their output.
func TestFirstPolicyTutorial(t *testing.T) {
	t.Parallel()
	const namespace, source = "e2e-tutorial", "e2e-tutorial"
	text, err := os.ReadFile(filepath.Join(installation.Root(), "docs", "tutorials", "first-policy.md"))
	require.NoError(t, err)
	page := strings.NewReplacer(
		"namespace: shop", "namespace: "+namespace, "namespaces: [shop]", "namespaces: ["+namespace+"]",
		"namespace shop", "namespace "+namespace, "namespace/shop", "namespace/"+namespace, `namespace "shop"`, `namespace "`+namespace+`"`,
		"-n shop", "-n "+namespace, "Pod shop/", "Pod "+namespace+"/", "from shop namespace", "from "+namespace+" namespace",
		"  name: team\n", "  name: "+source+"\n", "policysource/team", "policysource/"+source, "policysource team", "policysource "+source,
		"lintel.dev/team ", "lintel.dev/"+source+" ", `lintel.dev "team"`, `lintel.dev "`+source+`"`, "PolicySource team ", "PolicySource "+source+" ",
		", team@", ", "+source+"@", "package team.", "package tutorial.", "[team.labels", "[tutorial.labels", "policy team.labels", "policy tutorial.labels",
	).Replace(string(text))
	t.Cleanup(func() {
		removeSource(context.Background(), source)
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "namespace", namespace, "--wait=false", "--ignore-not-found")
	})

	revision := regexp.MustCompile("@[0-9a-f]{12}]")
	folder, ran := t.TempDir(), 0
	for _, b := range docpage.ParseBlocks(page) {
		if file := b.File(); file != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(b.Text), 0o600))
		}
		for _, c := range b.Commands() {
			if strings.HasPrefix(c.Text, "lintel ") {
				continue // TestDocumentedCommands runs these
			}
			ran++
			if strings.HasPrefix(c.Text, "kubectl delete") {
				c.Text += " --wait=false" // not every cluster of the tests deletes what namespaces hold
			}
			sh := exec.CommandContext(t.Context(), "sh", "-c", c.Text)
			sh.Dir = folder
			sh.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig,
				"PATH="+filepath.Dir(cluster.Binaries.Kubectl)+":"+os.Getenv("PATH"))
			output, _ := sh.CombinedOutput()
			require.Equal(t, strings.TrimSpace(revision.ReplaceAllString(c.Output, "@]")), strings.TrimSpace(revision.ReplaceAllString(string(output), "@]")),
				"first-policy.md:%d: %s", c.Line, c.Text)
		}
	}
	require.Greater(t, ran, 10)
}
