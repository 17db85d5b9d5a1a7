package layout

import (
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// OverrideSecurity sets the fields that an object overrides.
func OverrideSecurity(security *corev1.PodSecurityContext, override *v1alpha1.PodSecurityContextSpec) {
	if override == nil {
		return
	}
	security.RunAsUser, security.RunAsGroup = override.RunAsUser, override.RunAsGroup
	if override.FSGroup != nil {
		security.FSGroup, security.FSGroupChangePolicy = override.FSGroup, new(corev1.FSGroupChangeOnRootMismatch)
	}
	if override.FSGroupChangePolicy != nil && security.FSGroup != nil {
		security.FSGroupChangePolicy = override.FSGroupChangePolicy
	}
}
