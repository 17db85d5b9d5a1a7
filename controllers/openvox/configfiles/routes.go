package configfiles

import (
	"cmp"

	"k8s.io/utils/ptr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// routes sends facts to PuppetDB and stores a copy below server_datadir, where the classifier
// reads the facts of a node.
const routes = "---\nserver:\n  facts:\n    terminus: puppetdb\n    cache: json\n"

// routesFacts reports whether servers store facts in PuppetDB. Routes override settings of
// puppet.conf, so a Config that sets the terminus of facts keeps its own.
func (in Input) routesFacts() bool {
	spec := in.Config.Spec.Puppet
	if !in.hasPuppetDB() || !in.storesConfigs() || cmp.Or(spec.StoreBackend, "puppetdb") != "puppetdb" {
		return false
	}
	extra := ptr.Deref(spec.ExtraConfig, v1alpha1.ExtraConfig{})
	_, main := extra.Main["facts_terminus"]
	_, server := extra.Server["facts_terminus"]
	return !main && !server
}
