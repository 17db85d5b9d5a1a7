package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ExtraVolume is a volume of a Server's Pods in addition to those that Lintel adds.
//
// +kubebuilder:validation:XValidation:rule="[has(self.secret), has(self.configMap), has(self.emptyDir), has(self.persistentVolumeClaim), has(self.projected), has(self.downwardAPI), has(self.image)].filter(given, given).size() == 1",message="set exactly one of secret, configMap, emptyDir, persistentVolumeClaim, projected, downwardAPI and image"
type ExtraVolume struct {
	// name is the name by which extraVolumeMounts refer to the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=57
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// secret mounts a Secret.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// configMap mounts a ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// emptyDir is a directory that is deleted with the Pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`

	// persistentVolumeClaim mounts a PersistentVolumeClaim. The volume of a CA is rejected.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`

	// projected mounts several sources in one directory.
	// +optional
	Projected *ExtraProjection `json:"projected,omitempty"`

	// downwardAPI mounts fields of the Pod.
	// +optional
	DownwardAPI *corev1.DownwardAPIVolumeSource `json:"downwardAPI,omitempty"`

	// image mounts an OCI image. Puppet code belongs in spec.code.
	// +optional
	Image *corev1.ImageVolumeSource `json:"image,omitempty"`
}

// ExtraProjection are several sources in one directory.
type ExtraProjection struct {
	// sources are the sources of the volume.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Sources []ExtraSource `json:"sources"`

	// defaultMode are the permissions of files whose source sets none.
	// +optional
	DefaultMode *int32 `json:"defaultMode,omitempty"`
}

// ExtraSource is one source of a projected volume.
//
// +kubebuilder:validation:XValidation:rule="[has(self.secret), has(self.configMap), has(self.downwardAPI)].filter(given, given).size() == 1",message="set exactly one of secret, configMap and downwardAPI"
type ExtraSource struct {
	// secret adds keys of a Secret.
	// +optional
	Secret *corev1.SecretProjection `json:"secret,omitempty"`

	// configMap adds keys of a ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapProjection `json:"configMap,omitempty"`

	// downwardAPI adds fields of the Pod.
	// +optional
	DownwardAPI *corev1.DownwardAPIProjection `json:"downwardAPI,omitempty"`
}

// PodSecurityContextSpec overrides settings of a Pod's security context. Fields that are not set
// keep Lintel's defaults, and no Pod runs as root.
type PodSecurityContextSpec struct {
	// runAsUser is the user ID. The default is the user of the image.
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the primary group ID. The default is the group of the image. The images
	// expect 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// runAsNonRoot is always true.
	// +optional
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`

	// fsGroup is the group that owns the files of mounted volumes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FSGroup *int64 `json:"fsGroup,omitempty"`

	// fsGroupChangePolicy decides when the group of files is changed. The default is
	// OnRootMismatch.
	// +optional
	// +kubebuilder:validation:Enum=OnRootMismatch;Always
	FSGroupChangePolicy *corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`
}
