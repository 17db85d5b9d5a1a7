package openvox

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/test/reviews"
)

// permittedPaths are the settings of Puppet that name files or folders and may be set, and
// why.
var permittedPaths = map[string]string{
	"basemodulepath":           "modules are the user's own",
	"modulepath":               "an environment has its own, beside which this has no effect",
	"manifest":                 "an environment has its own, beside which this has no effect",
	"trusted_external_command": "a program of the user's own; without the setting there is none",
}

// askPuppet has Puppet's own library print each setting that is of files or folders by its
// class, or has an absolute path.
const askPuppet = `require "puppet"
Puppet.initialize_settings([])
paths = [Puppet::Settings::FileSetting, Puppet::Settings::PathSetting]
Puppet.settings.each do |name, setting|
  puts name if paths.any? { |kind| setting.is_a?(kind) } || setting.default.to_s =~ %r{\A(/|\$[a-z_]+/)}
end
`

// ruby is the program that runs puppet.
func ruby(t *testing.T) string {
	t.Helper()
	puppet, err := exec.LookPath("puppet")
	require.NoError(t, err, "install puppet-agent")
	text, err := os.ReadFile(puppet)
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	program, ok := strings.CutPrefix(line, "#!")
	require.True(t, ok, "%s begins with %q", puppet, line)
	return strings.TrimSpace(program)
}

// TestPathSettings: of the settings that Puppet says are files or folders, a Config sets
// none but those that are permitted.
func TestPathSettings(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), ruby(t), "-e", askPuppet).Output()
	require.NoError(t, err)
	all, seen := snapshot(t), map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(string(output))); lines.Scan(); {
		name := lines.Text()
		seen[name] = true
		for _, section := range []string{"main", "server"} {
			denials := strings.Join(decide(t, all, configWith(t, section, name), RequestFacts{}), "\n")
			if permittedPaths[name] != "" {
				require.Empty(t, denials, name)
			} else {
				require.Contains(t, denials, "spec.puppet.extraConfig."+section+"."+name+": this setting", name)
			}
		}
	}
	require.Subset(t, seen, map[string]bool{"ssldir": true, "hostprivkey": true, "autosign": true, "environmentpath": true, "ssl_lockfile": true})
	for name := range permittedPaths {
		require.Contains(t, seen, name)
	}
}

// configWith is the review of a Config that sets one setting.
func configWith(t *testing.T, section, setting string) *engine.Review {
	t.Helper()
	return reviews.MakeCreation(v1alpha1.SchemeGroupVersion.WithKind("Config"), "configs", map[string]any{
		"metadata": map[string]string{"name": "c", "namespace": "ns"},
		"spec":     map[string]any{"puppet": map[string]any{"extraConfig": map[string]any{section: map[string]string{setting: "x"}}}},
	}).Named("ns", "c").Obj(t)
}
