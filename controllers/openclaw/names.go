package openclaw

import (
	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// The images of a gateway's Pod, unless the instance names others.
const (
	GatewayImage = "ghcr.io/szaher/openclaw-enterprise/gateway:latest"
	SidecarImage = "openpolicyagent/opa:" + sidecar.Version + "-static"
)

const (
	// instanceManager and bundleManager own the fields that the controllers write.
	instanceManager = "lintel-openclaw-instance"
	bundleManager   = "lintel-openclaw-policybundle"

	// finalizer is on every OpenClawInstance.
	finalizer = v1.GroupName + "/finalizer"

	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "openclaw-operator"
	componentLabel = "app.kubernetes.io/component"
	instanceLabel  = "app.kubernetes.io/instance"
	// gatewayComponent is the component of the Pods of an instance, and of its objects.
	gatewayComponent = "gateway"
	// bundleComponent is the component of what holds the policies of a bundle.
	bundleComponent = "opa-policies"
	bundleLabel     = v1.GroupName + "/bundle"

	// configHashAnnotation is set on the Pod template: a new value causes a rollout of the
	// gateway.
	configHashAnnotation = v1.GroupName + "/config-hash"
	// policiesHashAnnotation is the revision of the policies of a Pod template, for
	// readers. What Pods run is decided by their arguments.
	policiesHashAnnotation = v1.GroupName + "/policies-hash"
)

func gatewayName(instance string) string { return instance + "-gateway" }
func configName(instance string) string  { return instance + "-gateway-config" }
func bundleMapName(bundle string) string { return bundle + "-opa-policies" }

// policiesPrefix begins the names of the ConfigMaps with policies.
func policiesPrefix(instance string) string { return instance + "-gateway-policies" }

func gatewayLabels(instance string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": "openclaw-enterprise",
		instanceLabel:            instance,
		managedByLabel:           managedBy,
		componentLabel:           gatewayComponent,
	}
}

func labelsOfBundle(bundle string) map[string]string {
	return map[string]string{managedByLabel: managedBy, componentLabel: bundleComponent, bundleLabel: bundle}
}
