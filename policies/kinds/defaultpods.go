package kinds

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	fieldVersion       = "v1"
	fileMode           = 0o644
	gracePeriodSeconds = 30
)

// defaultPod sets more than defaultPodSpec: some defaults are those of Pods, not of their templates.
func defaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	setIfNil(&spec.EnableServiceLinks, true)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; spec.HostNetwork {
					setIfZero(&port.HostPort, port.ContainerPort)
				}
			}
		}
	}
	defaultPodSpec(spec)
}

// defaultAccount sets the ServiceAccount of a Pod that is created, as the admission plugin
// ServiceAccount does. The plugin does not change the mirrors of static Pods.
func defaultAccount(pod *corev1.Pod) {
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		return
	}
	setIfZero(&pod.Spec.ServiceAccountName, "default")
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
}

// requestLimits requests resources that are limited, and not requested.
func requestLimits(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, requested := resources.Requests[name]; requested {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = limit.DeepCopy()
	}
}

func defaultPodSpec(spec *corev1.PodSpec) {
	setIfZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setIfZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setIfNil(&spec.SecurityContext, corev1.PodSecurityContext{})
	setIfNil(&spec.TerminationGracePeriodSeconds, gracePeriodSeconds)
	setIfZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setIfZero(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultContainer(&containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		ephemeral := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&ephemeral)
		spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(ephemeral)
	}
}

func defaultContainer(container *corev1.Container) {
	setIfZero(&container.ImagePullPolicy, pullPolicy(container.Image))
	setIfZero(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setIfZero(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		setIfZero(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		if from := container.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			setIfZero(&from.FieldRef.APIVersion, fieldVersion)
		}
	}
	roundUp(container.Resources.Limits)
	roundUp(container.Resources.Requests)
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		defaultProbe(probe)
	}
	if container.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{container.Lifecycle.PostStart, container.Lifecycle.PreStop} {
			if handler != nil {
				defaultGet(handler.HTTPGet)
			}
		}
	}
}

// roundUp rounds quantities up to thousandths.
func roundUp(resources corev1.ResourceList) {
	for name, quantity := range resources {
		quantity.RoundUp(resource.Milli)
		resources[name] = quantity
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	setIfZero(&probe.TimeoutSeconds, 1)
	setIfZero(&probe.PeriodSeconds, 10)
	setIfZero(&probe.SuccessThreshold, 1)
	setIfZero(&probe.FailureThreshold, 3)
	defaultGet(probe.HTTPGet)
	if probe.GRPC != nil {
		setIfNil(&probe.GRPC.Service, "")
	}
}

func defaultGet(get *corev1.HTTPGetAction) {
	if get != nil {
		setIfZero(&get.Path, "/")
		setIfZero(&get.Scheme, corev1.URISchemeHTTP)
	}
}

// imageReference is a valid reference of an image: registry, repository, tag and digest.
var imageReference = regexp.MustCompile(`^(?:(?:` + domainPart + `(?:\.` + domainPart + `)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?` +
	namePart + `(?:/` + namePart + `)*` +
	`(?::(\w[\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)

const (
	domainPart = `(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])`
	namePart   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
)

// imageID is the identifier of an image, which is not a reference.
var imageID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// pullPolicy is Always for images with the tag latest, and for those without tag and digest.
func pullPolicy(image string) corev1.PullPolicy {
	found := imageReference.FindStringSubmatch(image)
	if found != nil && !imageID.MatchString(image) && (found[1] == "latest" || found[1] == "" && found[2] == "") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultVolume(volume *corev1.VolumeSource) {
	if *volume == (corev1.VolumeSource{}) {
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case volume.Secret != nil:
		setIfNil(&volume.Secret.DefaultMode, fileMode)
	case volume.ConfigMap != nil:
		setIfNil(&volume.ConfigMap.DefaultMode, fileMode)
	case volume.DownwardAPI != nil:
		setIfNil(&volume.DownwardAPI.DefaultMode, fileMode)
		defaultDownwardFiles(volume.DownwardAPI.Items)
	case volume.Projected != nil:
		defaultProjected(volume.Projected)
	case volume.HostPath != nil:
		setIfNil(&volume.HostPath.Type, corev1.HostPathUnset)
	case volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil:
		setIfNil(&volume.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case volume.Image != nil:
		setIfZero(&volume.Image.PullPolicy, pullPolicy(volume.Image.Reference))
	case volume.ISCSI != nil:
		setIfZero(&volume.ISCSI.ISCSIInterface, "default")
	case volume.RBD != nil:
		setIfZero(&volume.RBD.RBDPool, "rbd")
		setIfZero(&volume.RBD.RadosUser, "admin")
		setIfZero(&volume.RBD.Keyring, "/etc/ceph/keyring")
	case volume.AzureDisk != nil:
		defaultAzureDisk(volume.AzureDisk)
	case volume.ScaleIO != nil:
		setIfZero(&volume.ScaleIO.StorageMode, "ThinProvisioned")
		setIfZero(&volume.ScaleIO.FSType, "xfs")
	}
}

func defaultAzureDisk(disk *corev1.AzureDiskVolumeSource) {
	setIfNil(&disk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	setIfNil(&disk.Kind, corev1.AzureSharedBlobDisk)
	setIfNil(&disk.FSType, "ext4")
	setIfNil(&disk.ReadOnly, false)
}

func defaultProjected(projected *corev1.ProjectedVolumeSource) {
	setIfNil(&projected.DefaultMode, fileMode)
	for i := range projected.Sources {
		source := &projected.Sources[i]
		if source.ServiceAccountToken != nil {
			setIfNil(&source.ServiceAccountToken.ExpirationSeconds, tokenSeconds)
		}
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
	}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		if ref := files[i].FieldRef; ref != nil {
			setIfZero(&ref.APIVersion, fieldVersion)
		}
	}
}

// defaultPersistentVolume sets the defaults of the volume, and of those of its sources that have any.
func defaultPersistentVolume(volume *corev1.PersistentVolume) {
	spec := &volume.Spec
	setIfZero(&volume.Status.Phase, corev1.VolumePending)
	setIfZero(&spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	setIfNil(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	switch {
	case spec.HostPath != nil:
		setIfNil(&spec.HostPath.Type, corev1.HostPathUnset)
	case spec.ISCSI != nil:
		setIfZero(&spec.ISCSI.ISCSIInterface, "default")
	case spec.RBD != nil:
		setIfZero(&spec.RBD.RBDPool, "rbd")
		setIfZero(&spec.RBD.RadosUser, "admin")
		setIfZero(&spec.RBD.Keyring, "/etc/ceph/keyring")
	case spec.AzureDisk != nil:
		defaultAzureDisk(spec.AzureDisk)
	case spec.ScaleIO != nil:
		setIfZero(&spec.ScaleIO.StorageMode, "ThinProvisioned")
		setIfZero(&spec.ScaleIO.FSType, "xfs")
	}
}
