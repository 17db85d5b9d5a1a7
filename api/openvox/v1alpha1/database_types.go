package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Database is an OpenVox DB (PuppetDB) that keeps its data in a PostgreSQL elsewhere.
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

	// spec is the database that is wanted.
	// +required
	Spec DatabaseSpec `json:"spec"`

	// status is how far it has come.
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

// DatabaseSpec is the database that is wanted.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage) && (!has(self.storage) || self.storage == oldSelf.storage)",message="the volumes of a StatefulSet cannot be changed; delete the Database and make it again"
type DatabaseSpec struct {
	// certificateRef is the Certificate by which its clients know it. The names of its
	// Service are added to it.
	// +required
	// +kubebuilder:validation:MinLength=1
	CertificateRef string `json:"certificateRef"`

	// image is what runs.
	// +optional
	// +kubebuilder:default={}
	Image DatabaseImageSpec `json:"image,omitzero"`

	// postgres is where the data is.
	// +required
	Postgres PostgresSpec `json:"postgres"`

	// resources are those of each. The heap is 60 % of the memory limit, unless javaArgs has
	// one.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// replicas is how many run.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// javaArgs are options of the JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	JavaArgs string `json:"javaArgs,omitempty"`

	// storage has each keep what it was sent and has not stored yet, while PostgreSQL is down
	// or slow, on a volume of its own: without it, in its Pod.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// allowedCertnames are whoever else may ask and write, by the names of their certificates:
	// the servers of the Configs that name the Database may anyway.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	AllowedCertnames []string `json:"allowedCertnames,omitempty"`

	// pdb keeps drains from stopping too many at a time.
	// +optional
	PDB *PDBSpec `json:"pdb,omitempty"`

	// networkPolicy lets in the servers of the Configs that name the Database, and nobody else.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// affinity is that of Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// priorityClassName is that of Pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// service is how it is reached.
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

	// tag is its tag.
	// +optional
	// +kubebuilder:default=latest
	Tag string `json:"tag,omitempty"`

	// pullPolicy is when it is pulled.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// pullSecrets are the Secrets by which it is pulled.
	// +optional
	// +listType=atomic
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// PostgresSpec is a database of a PostgreSQL that runs elsewhere.
type PostgresSpec struct {
	// host is its name or address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// port is its port.
	// +optional
	// +kubebuilder:default=5432
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// database is the name of the database, which is there already.
	// +optional
	// +kubebuilder:default=openvoxdb
	// +kubebuilder:validation:MaxLength=63
	Database string `json:"database,omitempty"`

	// credentialsSecretRef is a Secret with the keys username and password. It is followed as
	// it changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	CredentialsSecretRef string `json:"credentialsSecretRef"`

	// sslMode is how the connection is encrypted, in the words of libpq. By verify-ca and
	// verify-full PostgreSQL is known by caSecretRef, or else by the CAs of the image.
	// +optional
	// +kubebuilder:default=require
	// +kubebuilder:validation:Enum=disable;allow;prefer;require;verify-ca;verify-full
	SSLMode string `json:"sslMode,omitempty"`

	// caSecretRef is a key of a Secret with certificates of CAs, in PEM, by which PostgreSQL
	// is known.
	// +optional
	CASecretRef *SecretKeyRef `json:"caSecretRef,omitempty"`
}

// DatabaseServiceSpec is the Service of an OpenVox DB.
type DatabaseServiceSpec struct {
	// type is that of the Service.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// port is that of the Service.
	// +optional
	// +kubebuilder:default=8081
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// annotations are those of the Service; others of it are left alone.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DatabaseStatus is how far a database has come.
type DatabaseStatus struct {
	// phase is how far it has come.
	// +optional
	Phase ServerPhase `json:"phase,omitempty"`

	// url is where it is reached, as servers are told.
	// +optional
	URL string `json:"url,omitempty"`

	// ready is how many are ready.
	// +optional
	Ready int32 `json:"ready"`

	// desired is how many are wanted.
	// +optional
	Desired int32 `json:"desired"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
