package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesShowTheDenial compares the denial that a page shows with the one of the command.
func TestPagesShowTheDenial(t *testing.T) {
	t.Parallel()
	for page, test := range map[string]struct {
		stdin string
		args  []string
	}{
		"how-to/install.md": {
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"key": "-----BEGIN PRIVATE KEY-----"}}`,
			[]string{"-p", "../../config/samples/policysource.yaml"},
		},
		"openclaw/tutorial.md": {"", []string{"-f", "../../config/samples/openclaw"}},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../../docs/" + page)
			require.NoError(t, err)
			if test.stdin == "" {
				manifest := regexp.MustCompile("(?s)\n```yaml\n(.*?)```").FindStringSubmatch(string(text))
				require.NotNil(t, manifest)
				test.stdin = manifest[1]
			}
			shown := regexp.MustCompile("(?s) denied the request: (.*?)\n```\n").FindStringSubmatch(string(text))
			require.NotNil(t, shown)

			got := lintel(t, test.stdin, append(append([]string{"check"}, test.args...), "-f", "-")...)
			require.Equal(t, exitDenied, got.code, got.stderr)
			for line := range strings.SplitSeq(shown[1], "\n") {
				require.Contains(t, got.stdout, strings.TrimSpace(line))
			}
		})
	}
}
