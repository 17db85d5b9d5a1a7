package openzro

import (
	"slices"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/system"
)

// controls are the objects of OZRoutingPeers and OZSetupKeys. An OZGroup that is created for
// OZResources may have several owners, none of which controls it: users may edit it.
func (a *admitter) controls() *system.Controls {
	children := system.Resources(v1.GroupName, "ozgroups", "ozsetupkeys")
	return &system.Controls{
		ManagedBy: managedBy, Group: v1.GroupName,
		Resources:  slices.Concat(children, system.Resources("", "secrets"), system.Resources("apps", "deployments")),
		Names:      []system.Name{{Prefix: childPrefix, Resources: children, Owner: v1.SchemeGroupVersion.WithKind("OZRoutingPeer")}},
		Namespaces: a.settings.namespaces,
	}
}
