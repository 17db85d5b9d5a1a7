package openclaw

import (
	"slices"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/system"
)

// controls are the objects of instances and bundles, all of which have a controller
// reference.
func (a *admitter) controls() *system.Controls {
	configMaps := system.Resources("", "configmaps")
	gateways := slices.Concat(system.Resources("", "services"), system.Resources("apps", "deployments"), system.Resources("policy", "poddisruptionbudgets"))
	instance, bundle := v1.SchemeGroupVersion.WithKind(instanceKind), v1.SchemeGroupVersion.WithKind(bundleKind)
	return &system.Controls{
		ManagedBy: managedBy, Group: v1.GroupName, Resources: slices.Concat(configMaps, gateways), Namespaces: a.served(),
		Names: []system.Name{
			{Suffix: gatewayName(""), Resources: gateways, Owner: instance},
			{Suffix: policiesPrefix(""), Generated: true, Resources: configMaps, Owner: instance},
			{Suffix: configName(""), Resources: configMaps, Owner: instance},
			{Suffix: bundleMapName(""), Resources: configMaps, Owner: bundle},
		},
	}
}
