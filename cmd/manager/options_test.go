package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) []string {
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		return []string{"--config", config}
	}
	o, err := parseOptions(append(write("webhook-port: 1\nnamespace: file\nleader-elect: true\nexcluded-namespaces: [a, b]\n"), "--webhook-port=2"))
	require.NoError(t, err)
	require.Equal(t, 2, o.webhookPort, "a flag beats the file")
	require.Equal(t, "file", o.namespace)
	require.True(t, o.leaderElect)
	require.Equal(t, []string{"a", "b"}, o.excludedNamespaces)
	require.Empty(t, o.systems, "none but those that are asked for")

	o, err = parseOptions(write("systems: [openclaw]\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"openclaw"}, o.systems)

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag": {[]string{"--nope"}, "unknown flag"},
		"argument":     {[]string{"start"}, `unexpected argument "start"`},
		"port":         {[]string{"--webhook-port=70000"}, "must be between 0 and 65535"},
		"review size":  {[]string{"--max-review-bytes=0"}, "must be at least 1"},
		"drain":        {[]string{"--drain=-1s"}, "must not be negative"},
		"system":       {[]string{"--systems=openclaw,nope"}, `--systems: Unsupported value "nope": supported values: openclaw`},
		"namespace":    {[]string{"--openvox-namespaces=a,B'x"}, `--openvox-namespaces: Invalid value "B'x"`},
		"no file":      {[]string{"--config=missing.yaml"}, "reading --config"},
	} {
		_, err := parseOptions(c.args)
		require.ErrorContains(t, err, c.want, name)
	}
	for text, want := range map[string]string{
		"nope: 1":                    `unknown flag "nope"`,
		"config: x":                  `unknown flag "config"`,
		"webhook-port: many":         "webhook-port: ",
		"namespace: a\nnamespace: b": "already set",
	} {
		_, err := parseOptions(write(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestHelpNamesValuesInAWord(t *testing.T) {
	(&options{parts: parts()}).flags().VisitAll(func(flag *pflag.Flag) {
		name, usage := pflag.UnquoteUsage(flag)
		require.NotContains(t, usage, "`", flag.Name)
		if flag.Value.Type() == "bool" {
			require.Empty(t, name, flag.Name)
			return
		}
		require.Regexp(t, `^[A-Za-z]+$`, name, flag.Name)
		require.Contains(t, flag.Usage, "`"+name+"`", "%s: its value has no name of its own", flag.Name)
	})
}
