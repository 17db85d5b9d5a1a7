package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Database is an OpenVox DB (PuppetDB) that stores its data in an existing PostgreSQL.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=db
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CertificateRef",type=string,JSONPath=`.spec.certificateRef`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.desired`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Database struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired database.
	// +required
	Spec DatabaseSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status DatabaseStatus `json:"status,omitzero"`
}

// DatabaseList is a list of Databases.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Database `json:"items"`
}

// DatabaseSpec is the desired database.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage) && (!has(self.storage) || self.storage == oldSelf.storage)",message="the volumes of a StatefulSet cannot be changed; delete the Database and make it again"
type DatabaseSpec struct {
	// certificateRef is the Certificate of the database. Lintel adds the name of its Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateRef string `json:"certificateRef"`

	// image is the image of the database.
	// +optional
	// +kubebuilder:default={}
	Image DatabaseImageSpec `json:"image,omitzero"`

	// postgres is the PostgreSQL that stores the data.
	// +required
	Postgres PostgresSpec `json:"postgres"`

	// resources are the resources of each Pod. The heap is 60 % of the memory limit, unless
	// javaArgs sets it.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// replicas is the number of Pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// javaArgs are options of the JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	JavaArgs string `json:"javaArgs,omitempty"`

	// storage is a volume for each Pod, for data that it has received and not stored yet, while
	// PostgreSQL is down or slow. Without it, such data is lost with the Pod.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// allowedCertnames are additional clients that may query and write, by the certnames of
	// their certificates. The servers of Configs that name the Database always may.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	AllowedCertnames []string `json:"allowedCertnames,omitempty"`

	// pdb is a PodDisruptionBudget.
	// +optional
	PDB *PDBSpec `json:"pdb,omitempty"`

	// networkPolicy is a NetworkPolicy that permits only the servers of Configs that name the
	// Database.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// affinity is the affinity of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// priorityClassName is the PriorityClass of the Pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// service is the Service of the database.
	// +optional
	// +kubebuilder:default={}
	Service DatabaseServiceSpec `json:"service,omitzero"`

	// securityContext overrides settings of the Pods' security context.
	// +optional
	SecurityContext *PodSecurityContextSpec `json:"securityContext,omitempty"`
}

// DatabaseImageSpec is the image of an OpenVox DB.
type DatabaseImageSpec struct {
	// repository is the image without its tag.
	// +optional
	// +kubebuilder:default="ghcr.io/slauger/openvox-db"
	Repository string `json:"repository,omitempty"`

	// tag is the tag of the image.
	// +optional
	// +kubebuilder:default=latest
	Tag string `json:"tag,omitempty"`

	// pullPolicy is the pull policy of the image.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets for pulling the image.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// PostgresSpec is a database of an existing PostgreSQL.
type PostgresSpec struct {
	// host is the host name or IP address of PostgreSQL.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// port is the port of PostgreSQL.
	// +optional
	// +kubebuilder:default=5432
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// database is the name of the existing database.
	// +optional
	// +kubebuilder:default=openvoxdb
	// +kubebuilder:validation:MaxLength=63
	Database string `json:"database,omitempty"`

	// credentialsSecretRef is the Secret with the keys username and password. When it changes,
	// the Pods are replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	CredentialsSecretRef string `json:"credentialsSecretRef"`

	// sslMode is how the connection is encrypted, with the values of libpq. verify-ca and
	// verify-full verify PostgreSQL with caSecretRef or, without it, with the CAs of the image.
	// +optional
	// +kubebuilder:default=require
	// +kubebuilder:validation:Enum=disable;allow;prefer;require;verify-ca;verify-full
	SSLMode string `json:"sslMode,omitempty"`

	// caSecretRef is a key of a Secret with certificates of CAs, in PEM, that verify
	// PostgreSQL.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
}

// DatabaseServiceSpec is the Service of an OpenVox DB.
type DatabaseServiceSpec struct {
	// type is the type of the Service.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is the port of the Service.
	// +optional
	// +kubebuilder:default=8081
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// annotations are added to the Service. Other annotations of the Service are not changed.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DatabaseStatus is the observed state of a Database.
type DatabaseStatus struct {
	// phase summarizes the conditions.
	// +optional
	Phase ServerPhase `json:"phase,omitempty"`

	// url is the URL that servers use.
	// +optional
	URL string `json:"url,omitempty"`

	// ready is the number of ready Pods.
	// +optional
	Ready int32 `json:"ready"`

	// desired is the desired number of Pods.
	// +optional
	Desired int32 `json:"desired"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
