package zopp

import (
	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
)

// controls are the Secrets of ZoppSecretSyncs. Annotated Secrets are their users' own.
func (a *admitter) controls() *system.Controls {
	if !a.settings.secretSyncs {
		return nil
	}
	return &system.Controls{
		ManagedBy: legacyManager, Group: v1alpha1.GroupName,
		Resources: system.Resources("", "secrets"), Owner: syncOf, Namespaces: a.settings.namespaces,
	}
}
