package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CertificateAuthority is a Puppet CA, in the cluster or external.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ca
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="NotAfter",type=string,JSONPath=`.status.notAfter`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.status=="False")].message`
type CertificateAuthority struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired CA.
	// +optional
	// +kubebuilder:default={}
	Spec CertificateAuthoritySpec `json:"spec,omitzero"`

	// status is the observed state.
	// +optional
	Status CertificateAuthorityStatus `json:"status,omitzero"`
}

// CertificateAuthorityList is a list of CertificateAuthorities.
//
// +kubebuilder:object:root=true
type CertificateAuthorityList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CertificateAuthority `json:"items"`
}

// CertificateAuthoritySpec is the desired CA.
//
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.storage) || !has(self.storage.size) || quantity(string(self.storage.size)).compareTo(quantity('1Gi')) == 0",message="an external CA has no storage here; leave storage out"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.serverCertificateRef)",message="an external CA has its own server; leave serverCertificateRef out"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.intermediateCA) || !has(self.intermediateCA.enabled) || !self.intermediateCA.enabled",message="an external CA has its own keys; leave intermediateCA out"
type CertificateAuthoritySpec struct {
	// ttl is the validity of certificates, and of the CA's own certificate when it is set up.
	// +optional
	// +kubebuilder:default="5y"
	TTL Duration `json:"ttl,omitempty"`

	// allowSubjectAltNames permits the CA to sign requests with subjectAltName.
	// +optional
	// +kubebuilder:default=true
	AllowSubjectAltNames *bool `json:"allowSubjectAltNames,omitempty"`

	// allowAuthorizationExtensions permits the CA to sign requests with extensions that give
	// rights.
	// +optional
	// +kubebuilder:default=true
	AllowAuthorizationExtensions *bool `json:"allowAuthorizationExtensions,omitempty"`

	// enableInfraCRL has no effect: servers check their clients with the CRL that the CA
	// publishes, so the CA always publishes the full CRL.
	// +optional
	// +kubebuilder:default=false
	EnableInfraCRL *bool `json:"enableInfraCRL,omitempty"`

	// allowAutoRenewal permits agents to renew their certificates.
	// +optional
	// +kubebuilder:default=true
	AllowAutoRenewal *bool `json:"allowAutoRenewal,omitempty"`

	// autoRenewalCertTTL is the validity of renewed certificates.
	// +optional
	// +kubebuilder:default="90d"
	AutoRenewalCertTTL Duration `json:"autoRenewalCertTTL,omitempty"`

	// storage is the volume for the CA's data.
	// +optional
	// +kubebuilder:default={}
	Storage StorageSpec `json:"storage,omitzero"`

	// resources are the resources of the setup Job.
	// +optional
	// +kubebuilder:default={requests: {cpu: "200m", memory: "768Mi"}, limits: {cpu: "1", memory: "1Gi"}}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// securityContext overrides settings of the security context of the setup Job's Pod. The
	// Server that runs the CA has a field of its own, and needs the same fsGroup.
	// +optional
	SecurityContext *PodSecurityContextSpec `json:"securityContext,omitempty"`

	// certificatePolicy decides whether Certificates need a SigningPolicy. Trusted issues every
	// Certificate that admission permits, so RBAC decides who gets one. With SigningPolicies,
	// one of the policies must also match.
	// +optional
	// +kubebuilder:default=Trusted
	CertificatePolicy CertificatePolicy `json:"certificatePolicy,omitempty"`

	// crlRefreshInterval is how often Lintel reads the CRL from the CA.
	// +optional
	// +kubebuilder:default="5m"
	CRLRefreshInterval Duration `json:"crlRefreshInterval,omitempty"`

	// intermediateCA imports an existing CA.
	// +optional
	// +kubebuilder:default={}
	IntermediateCA IntermediateCA `json:"intermediateCA,omitzero"`

	// serverCertificateRef is the Certificate of the CA's own server. The setup Job creates its
	// first key pair, which administers the CA. The default is the Certificate of the Server
	// with ca: true or, without such a Server, the Certificate <name>-server, which Lintel
	// creates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerCertificateRef string `json:"serverCertificateRef,omitempty"`

	// external is a CA that runs elsewhere.
	// +optional
	External *ExternalCA `json:"external,omitempty"`

	// deletionPolicy decides whether the keys and the volume of a CA in the cluster stay when
	// this object is deleted.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// CertificatePolicy decides whether Certificates need a SigningPolicy.
//
// +kubebuilder:validation:Enum=Trusted;SigningPolicies
type CertificatePolicy string

const (
	// CertificatesTrusted issues all Certificates.
	CertificatesTrusted CertificatePolicy = "Trusted"
	// CertificatesByPolicies issues those that a SigningPolicy matches.
	CertificatesByPolicies CertificatePolicy = "SigningPolicies"
)

// DeletionPolicy decides whether keys and volumes stay.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

const (
	// DeletionRetain keeps keys and volumes.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionDelete deletes keys and volumes with their object.
	DeletionDelete DeletionPolicy = "Delete"
)

// IntermediateCA is an existing CA to import.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.secretName)",message="secretName is required where enabled is true"
type IntermediateCA struct {
	// enabled imports the CA from the Secret.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// secretName is the Secret with ca.pem, key.pem and crl.pem, and optionally serial and
	// inventory.txt. Its annotation openvox.voxpupuli.org/intermediate-ca must be the name of
	// this CertificateAuthority.
	// +optional
	// +kubebuilder:validation:MinLength=1
	SecretName string `json:"secretName,omitempty"`
}

// ExternalCA is a CA that runs elsewhere.
type ExternalCA struct {
	// url is the URL of the CA's server, such as https://puppet.example.com:8140.
	// +required
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`

	// caSecretRef is the Secret with ca_crt.pem, which identifies the CA's server. The default
	// is <name>-ca.
	// +optional
	CASecretRef string `json:"caSecretRef,omitempty"`

	// tlsSecretRef is the Secret with tls.crt and tls.key of a client that may sign.
	// +optional
	TLSSecretRef string `json:"tlsSecretRef,omitempty"`

	// insecureSkipVerify accepts any server as the CA for submitting requests and for fetching
	// certificates and CRLs, but not for signing.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// CertificateAuthorityPhase summarizes the conditions of a CertificateAuthority.
//
// +kubebuilder:validation:Enum=Pending;Initializing;Ready;External;Error
type CertificateAuthorityPhase string

const (
	// CertificateAuthorityPending waits for another object, such as a Config.
	CertificateAuthorityPending CertificateAuthorityPhase = "Pending"
	// CertificateAuthorityInitializing is being set up, or has not answered yet.
	CertificateAuthorityInitializing CertificateAuthorityPhase = "Initializing"
	// CertificateAuthorityReady is set up and answers.
	CertificateAuthorityReady CertificateAuthorityPhase = "Ready"
	// CertificateAuthorityExternal runs elsewhere and answers.
	CertificateAuthorityExternal CertificateAuthorityPhase = "External"
	// CertificateAuthorityError has failed, and retries.
	CertificateAuthorityError CertificateAuthorityPhase = "Error"
)

const (
	// ConditionInitialized reports whether the Secrets of a CA in the cluster have its
	// certificate, key and CRL, so that its server may start.
	ConditionInitialized = "Initialized"
	// ConditionCAReady reports whether the CA answers.
	ConditionCAReady = "CAReady"
	// ConditionOperatorSigningReady reports whether Lintel has a certificate to sign requests
	// with.
	ConditionOperatorSigningReady = "OperatorSigningReady"
	// ConditionPoliciesRendered reports whether the CA's autosign hook has the SigningPolicies.
	ConditionPoliciesRendered = "PoliciesRendered"
)

// CertificateAuthorityStatus is the observed state of a CA.
type CertificateAuthorityStatus struct {
	// phase summarizes the conditions.
	// +optional
	Phase CertificateAuthorityPhase `json:"phase,omitempty"`

	// caSecretName is the Secret with ca_crt.pem.
	// +optional
	CASecretName string `json:"caSecretName,omitempty"`

	// serviceName is the Service of the CA's server. It is empty for an external CA.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// serverCertificateName is the Certificate of the CA's server, from the oldest Server with
	// ca: true. It is empty if spec.serverCertificateRef is set, or if no Server names one.
	// +optional
	ServerCertificateName string `json:"serverCertificateName,omitempty"`

	// signingSecretName is the Secret with the certificate that signs requests.
	// +optional
	SigningSecretName string `json:"signingSecretName,omitempty"`

	// notAfter is when the CA's certificate expires.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// crl describes the stored CRL.
	// +optional
	CRL *CRLStatus `json:"crl,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain Initialized, CAReady, OperatorSigningReady, CRLCurrent,
	// CertificateCurrent and PoliciesRendered.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CRLStatus describes a CRL.
type CRLStatus struct {
	// thisUpdate is when the CA issued the CRL.
	// +optional
	ThisUpdate *metav1.Time `json:"thisUpdate,omitempty"`

	// nextUpdate is when the CRL expires.
	// +optional
	NextUpdate *metav1.Time `json:"nextUpdate,omitempty"`

	// refreshed is when the CA last answered a request for the CRL.
	// +optional
	Refreshed *metav1.Time `json:"refreshed,omitempty"`

	// lastRevoked is the certificate that Lintel revoked last.
	// +optional
	LastRevoked *RevokedCertificate `json:"lastRevoked,omitempty"`

	// missingCount is the number of unexpired certificates that Lintel has revoked and that are
	// not on the CRL.
	// +optional
	MissingCount int32 `json:"missingCount,omitempty"`

	// missing are the first 20 of these certificates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Missing []RevokedCertificate `json:"missing,omitempty"`
}

// RevokedCertificate is a revoked certificate.
type RevokedCertificate struct {
	// serialNumber is the serial number of the certificate, in hexadecimal.
	// +required
	SerialNumber string `json:"serialNumber"`

	// certname is the common name of the certificate.
	// +optional
	Certname string `json:"certname,omitempty"`

	// notAfter is when the certificate expires. Afterwards, the CA may remove it from its CRL.
	// +required
	NotAfter metav1.Time `json:"notAfter"`
}
