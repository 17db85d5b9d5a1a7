package configfiles

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// TestRoutes: facts are sent to PuppetDB where the Config stores in one and does not set
// another terminus.
func TestRoutes(t *testing.T) {
	t.Parallel()
	external := func(in *Input) {
		in.Config.Spec.PuppetDB = &v1alpha1.PuppetDBSpec{ServerURLs: []string{"https://a:8081"}}
	}
	for name, c := range map[string]struct {
		change func(*Input)
		routed bool
	}{
		"no PuppetDB":              {func(*Input) {}, false},
		"storeconfigs without one": {func(in *Input) { in.Config.Spec.Puppet.StoreConfigs = new(true) }, false},
		"a PuppetDB":               {external, true},
		"a Database":               {func(in *Input) { in.DatabaseURL = "https://db:8081" }, true},
		"storeconfigs is off":      {func(in *Input) { external(in); in.Config.Spec.Puppet.StoreConfigs = new(false) }, false},
		"another backend":          {func(in *Input) { external(in); in.Config.Spec.Puppet.StoreBackend = "other" }, false},
		"a terminus of its own": {func(in *Input) {
			external(in)
			in.Config.Spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"facts_terminus": "yaml"}}
		}, false},
		"a terminus for all": {func(in *Input) {
			external(in)
			in.Config.Spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Main: map[string]string{"facts_terminus": "yaml"}}
		}, false},
	} {
		in := makeInput()
		c.change(&in)
		text, ok := renderFiles(t, in)[RoutesFile]
		require.Equal(t, c.routed, ok, name)
		if ok {
			var got map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(text), &got), name)
			require.Equal(t, map[string]any{"server": map[string]any{"facts": map[string]any{"terminus": "puppetdb", "cache": "json"}}}, got, name)
		}
	}
}

// TestHashWithoutRoutes: the hash of files without routes is that of earlier versions, so an
// upgrade does not replace their servers.
func TestHashWithoutRoutes(t *testing.T) {
	t.Parallel()
	const earlier = "ca00c8828c92195c49ee1973858d6f22"
	files := map[string]string{"puppet.conf": "a", "metrics.conf": "b"}
	require.Equal(t, earlier, Hash(files))
	files[RoutesFile] = ""
	require.NotEqual(t, earlier, Hash(files))
}

// TestCommands: the user's own programs replace those of Lintel.
func TestCommands(t *testing.T) {
	t.Parallel()
	in := makeInput()
	in.Authority = &v1alpha1.CertificateAuthority{}
	in.Config.Spec.Puppet.AutosignCommand, in.Config.Spec.Puppet.ExternalNodesCommand = "/hooks/sign", "/hooks/classify"
	text := renderFiles(t, in)["puppet.conf"]
	require.Contains(t, text, "\nautosign = /hooks/sign\n")
	require.Contains(t, text, "\nnode_terminus = exec\nexternal_nodes = /hooks/classify\n")
	require.NotContains(t, text, AutosignProgram)
}
