package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSourceGivesWhatCheckReads(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"rules/p.rego": denyAll, "rules/p_test.rego": "package p_test", "rules/data.yaml": "a: 1", "pod.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`}))
	written := lintel(t, "", "source", "rules", "--name", "team", "--failure-policy", "Ignore")
	require.Equal(t, exitAllowed, written.code, written.stderr)
	require.Contains(t, written.stdout, "failurePolicy: Ignore")
	require.Contains(t, written.stdout, "name: team")
	require.Contains(t, written.stdout, "p_test.rego")
	require.NotContains(t, written.stdout, "status")

	t.Chdir(folder(t, map[string]string{"source.yaml": written.stdout, "pod.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`}))
	require.Equal(t, exitDenied, lintel(t, "", "check", "-p", "source.yaml", "-f", "pod.json").code)
}

func TestSourceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {[]string{"source"}, "give one folder of policies"},
		"two":              {[]string{"source", "a", "b"}, "give one folder of policies"},
		"no folder":        {[]string{"source", "missing"}, "no such file"},
		"what fails":       {[]string{"source", "broken"}, "broken/p.rego:1:"},
		"no policies":      {[]string{"source", "empty"}, "has no policies"},
		"a folder's name":  {[]string{"source", "My_Rules"}, `"My_Rules" cannot be the name of a PolicySource: `},
		"a name":           {[]string{"source", "rules", "--name", "a/b"}, `"a/b" cannot be the name of a PolicySource: `},
		"a long name":      {[]string{"source", "rules", "--name", strings.Repeat("a", 64)}, "it is longer than 63 characters; choose another with --name"},
		"too much":         {[]string{"source", "large"}, "bytes are more than"},
		"a failure policy": {[]string{"source", "rules", "--failure-policy", "Maybe"}, "neither Fail nor Ignore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(folder(t, map[string]string{"broken/p.rego": "package", "empty/x.txt": "", "rules/p.rego": denyAll, "My_Rules/p.rego": denyAll,
				"large/p.rego": denyAll, "large/data.json": `{"a":"` + strings.Repeat("x", maxInlineBytes) + `"}`}))
			result := lintel(t, "", c.args...)
			require.Equal(t, exitError, result.code)
			require.Contains(t, result.stderr, c.want)
		})
	}
}
