package openclaw

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

const (
	gatewayContainer = "gateway"
	sidecarContainer = "opa-sidecar"

	gatewayPort = 8080
	// opaPort listens on loopback only: any client that reaches it may change the policies.
	opaPort = 8181
	// healthPort is OPA's, which answers nothing else there.
	healthPort = 8282

	policiesFolder   = "/policies"
	configFolder     = "/etc/openclaw"
	integrationsFile = "integrations.json"

	gatewayUser = 65532
	sidecarUser = 1000
)

// sidecarArguments are those of the OPA of a gateway. It loads the signed bundle once,
// when it starts, and no other.
func sidecarArguments(signed *signedPolicies) []string {
	return append(signed.ServerArguments(policiesFolder+"/"+bundleFile, signed.Scope),
		"--addr=localhost:8181", "--diagnostic-addr=0.0.0.0:8282", "--log-level=info")
}

// gateway is what a Deployment is built from.
type gateway struct {
	instance *v1.OpenClawInstance
	images   images
	signed   *signedPolicies
	// config is the hash of all else that Pods read when they start.
	config string
	// recreate ends all gateways before others start.
	recreate bool
}

// replicas is the number of gateways of an instance.
func replicas(instance *v1.OpenClawInstance) int32 {
	if instance.Spec.DeploymentMode == v1.DeploymentModeHA {
		return instance.Spec.Replicas
	}
	return 1
}

func deployment(g gateway) *appsv1ac.DeploymentApplyConfiguration {
	i := g.instance
	strategy := appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType)
	if g.recreate {
		strategy.WithType(appsv1.RecreateDeploymentStrategyType)
	}
	return appsv1ac.Deployment(gatewayName(i.Name), i.Namespace).
		WithLabels(gatewayLabels(i.Name)).
		WithOwnerReferences(ownedBy(i, "OpenClawInstance")).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas(i)).
			WithSelector(selector(i)).
			WithStrategy(strategy).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(gatewayLabels(i.Name)).
				WithAnnotations(map[string]string{
					configHashAnnotation:   g.config,
					policiesHashAnnotation: g.signed.Revision,
				}).
				WithSpec(podSpec(g))))
}

func podSpec(g gateway) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(gatewayContainerOf(g), sidecarContainerOf(g)).
		WithVolumes(
			configMapVolume("opa-policies", g.signed.ConfigMap),
			configMapVolume("config", configName(g.instance.Name)),
			corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	if g.instance.Spec.DeploymentMode == v1.DeploymentModeHA {
		spec.WithTopologySpreadConstraints(
			spread(g.instance, corev1.LabelHostname),
			spread(g.instance, corev1.LabelTopologyZone))
	}
	return spec
}

func gatewayContainerOf(g gateway) *corev1ac.ContainerApplyConfiguration {
	spec := g.instance.Spec
	references := listSecretReferences(g.instance)
	env := []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName("SSO_PROVIDER").WithValue(spec.Auth.Provider),
		corev1ac.EnvVar().WithName("SSO_CLIENT_ID").WithValue(spec.Auth.ClientID),
		corev1ac.EnvVar().WithName("OPA_URL").WithValue("http://localhost:8181"),
		corev1ac.EnvVar().WithName("OPENCLAW_INTEGRATIONS_FILE").WithValue(configFolder + "/" + integrationsFile),
	}
	for _, reference := range references {
		env = append(env, corev1ac.EnvVar().WithName(reference.variable).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(reference.name).WithKey(reference.key))))
	}
	return corev1ac.Container().
		WithName(gatewayContainer).
		WithImage(g.images.gateway).
		// A change of policies starts Pods: it must not need the registry.
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithPorts(port("http", gatewayPort)).
		WithEnv(env...).
		WithLivenessProbe(probe("/healthz", "http", 15, 20)).
		WithReadinessProbe(probe("/readyz", "http", 5, 10)).
		WithResources(resources("250m", "256Mi", "1", "512Mi")).
		WithSecurityContext(restricted(gatewayUser)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("config").WithMountPath(configFolder).WithReadOnly(true),
			corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp"))
}

func sidecarContainerOf(g gateway) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(sidecarContainer).
		WithImage(g.images.sidecar).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs(sidecarArguments(g.signed)...).
		WithPorts(port("opa", opaPort), port("health", healthPort)).
		// Both fail until the bundle is active. An OPA that refused it looks for it again
		// only when it is restarted.
		WithLivenessProbe(probe("/health?bundles", "health", 5, 15)).
		WithReadinessProbe(probe("/health?bundles", "health", 0, 5)).
		WithResources(resources("100m", "128Mi", "500m", "256Mi")).
		WithSecurityContext(restricted(sidecarUser)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("opa-policies").WithMountPath(policiesFolder).WithReadOnly(true))
}

func service(i *v1.OpenClawInstance) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(gatewayName(i.Name), i.Namespace).
		WithLabels(gatewayLabels(i.Name)).
		WithOwnerReferences(ownedBy(i, "OpenClawInstance")).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(gatewayLabels(i.Name)).
			WithPorts(corev1ac.ServicePort().WithName("http").WithProtocol(corev1.ProtocolTCP).
				WithPort(80).WithTargetPort(intstr.FromString("http"))))
}

func disruptionBudget(i *v1.OpenClawInstance) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(gatewayName(i.Name), i.Namespace).
		WithLabels(gatewayLabels(i.Name)).
		WithOwnerReferences(ownedBy(i, "OpenClawInstance")).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			// A gateway that does not become ready must not hold up a node's drain.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(selector(i)))
}

// configMap is a ConfigMap of an instance.
func configMap(i *v1.OpenClawInstance, name string, data map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, i.Namespace).
		WithLabels(gatewayLabels(i.Name)).
		WithOwnerReferences(ownedBy(i, "OpenClawInstance")).
		WithData(data)
}

// policiesMap is the ConfigMap with the signed policies of an instance. It cannot be
// edited, only be deleted and created again.
func policiesMap(i *v1.OpenClawInstance, signed *signedPolicies) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(signed.ConfigMap, i.Namespace).
		WithLabels(gatewayLabels(i.Name)).
		WithOwnerReferences(ownedBy(i, "OpenClawInstance")).
		WithImmutable(true).
		WithBinaryData(map[string][]byte{bundleFile: signed.Bundle})
}

// bundleMap is the ConfigMap of a bundle.
func bundleMap(b *v1.PolicyBundle, files map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(bundleMapName(b.Name), b.Namespace).
		WithLabels(labelsOfBundle(b.Name)).
		WithOwnerReferences(ownedBy(b, "PolicyBundle")).
		WithData(files)
}

func ownedBy(owner metav1.Object, kind string) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1.SchemeGroupVersion.String()).WithKind(kind).
		WithName(owner.GetName()).WithUID(owner.GetUID()).
		WithController(true).WithBlockOwnerDeletion(true)
}

func selector(i *v1.OpenClawInstance) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(gatewayLabels(i.Name))
}

// spread prefers gateways apart from each other: a cluster of one node must be able to
// run them all.
func spread(i *v1.OpenClawInstance, key string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).WithTopologyKey(key).WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(selector(i)).WithMatchLabelKeys("pod-template-hash")
}

func port(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
}

func probe(path, port string, delay, period int32) *corev1ac.ProbeApplyConfiguration {
	out := corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(port))).
		WithPeriodSeconds(period)
	if delay > 0 {
		out.WithInitialDelaySeconds(delay)
	}
	return out
}

func resources(cpu, memory, cpuLimit, memoryLimit string) *corev1ac.ResourceRequirementsApplyConfiguration {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	return corev1ac.ResourceRequirements().WithRequests(list(cpu, memory)).WithLimits(list(cpuLimit, memoryLimit))
}

// restricted returns the container settings of the PodSecurity level "restricted", with a read-
// only root file system.
func restricted(user int64) *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithRunAsNonRoot(true).WithRunAsUser(user).WithRunAsGroup(user).
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

func configMapVolume(name, configMap string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(configMap))
}
