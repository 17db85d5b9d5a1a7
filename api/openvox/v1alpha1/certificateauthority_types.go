package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CertificateAuthority is a Puppet CA: one that runs here, or an external one.
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

	// spec is the CA that is wanted.
	// +optional
	// +kubebuilder:default={}
	Spec CertificateAuthoritySpec `json:"spec,omitzero"`

	// status is how far it has come.
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

// CertificateAuthoritySpec is the CA that is wanted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.storage) || !has(self.storage.size) || quantity(string(self.storage.size)).compareTo(quantity('1Gi')) == 0",message="an external CA has no storage here; leave storage out"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.serverCertificateRef)",message="an external CA has its own server; leave serverCertificateRef out"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.intermediateCA) || !has(self.intermediateCA.enabled) || !self.intermediateCA.enabled",message="an external CA has its own keys; leave intermediateCA out"
type CertificateAuthoritySpec struct {
	// ttl is how long certificates are valid.
	// +optional
	// +kubebuilder:default="5y"
	TTL Duration `json:"ttl,omitempty"`

	// allowSubjectAltNames lets the CA sign requests with subjectAltName.
	// +optional
	// +kubebuilder:default=true
	AllowSubjectAltNames *bool `json:"allowSubjectAltNames,omitempty"`

	// allowAuthorizationExtensions lets the CA sign requests with extensions that give
	// rights.
	// +optional
	// +kubebuilder:default=true
	AllowAuthorizationExtensions *bool `json:"allowAuthorizationExtensions,omitempty"`

	// enableInfraCRL is of no effect: servers check their clients by the CRL that the CA
	// gives away, so that is always the full one.
	// +optional
	// +kubebuilder:default=false
	EnableInfraCRL *bool `json:"enableInfraCRL,omitempty"`

	// allowAutoRenewal lets agents renew their certificates.
	// +optional
	// +kubebuilder:default=true
	AllowAutoRenewal *bool `json:"allowAutoRenewal,omitempty"`

	// autoRenewalCertTTL is how long a renewed certificate is valid.
	// +optional
	// +kubebuilder:default="90d"
	AutoRenewalCertTTL Duration `json:"autoRenewalCertTTL,omitempty"`

	// storage is the volume for the CA's data.
	// +optional
	// +kubebuilder:default={}
	Storage StorageSpec `json:"storage,omitzero"`

	// resources are those of the setup Job.
	// +optional
	// +kubebuilder:default={requests: {cpu: "200m", memory: "768Mi"}, limits: {cpu: "1", memory: "1Gi"}}
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// securityContext overrides settings of the security context of the setup Job's Pod. That of
	// the CA's server is in its Server, and needs the same fsGroup.
	// +optional
	SecurityContext *PodSecurityContextSpec `json:"securityContext,omitempty"`

	// certificatePolicy is whether Certificates need a SigningPolicy: Trusted, the default, issues
	// every Certificate that admission permits, so RBAC decides who gets one; with SigningPolicies,
	// one of the policies must match, too.
	// +optional
	// +kubebuilder:default=Trusted
	CertificatePolicy CertificatePolicy `json:"certificatePolicy,omitempty"`

	// crlRefreshInterval is how often the CRL is read from the CA.
	// +optional
	// +kubebuilder:default="5m"
	CRLRefreshInterval Duration `json:"crlRefreshInterval,omitempty"`

	// intermediateCA makes the CA one below another.
	// +optional
	// +kubebuilder:default={}
	IntermediateCA IntermediateCA `json:"intermediateCA,omitzero"`

	// serverCertificateRef is the Certificate of the CA's own server. Its first pair is made
	// by the setup Job and administers the CA, as no other's does. Unless given, it is that of the
	// Server with ca, and where there is none yet, Certificate <name>-server is made for it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerCertificateRef string `json:"serverCertificateRef,omitempty"`

	// external is a CA that runs elsewhere.
	// +optional
	External *ExternalCA `json:"external,omitempty"`

	// deletionPolicy is whether the keys and the volume of a CA that runs here stay when
	// this object is deleted, or go with it.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// CertificatePolicy is whether Certificates need a SigningPolicy.
//
// +kubebuilder:validation:Enum=Trusted;SigningPolicies
type CertificatePolicy string

const (
	// CertificatesTrusted issues all Certificates.
	CertificatesTrusted CertificatePolicy = "Trusted"
	// CertificatesByPolicies issues those that a SigningPolicy matches.
	CertificatesByPolicies CertificatePolicy = "SigningPolicies"
)

// DeletionPolicy is what becomes of keys and volumes.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

const (
	// DeletionRetain keeps them.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionDelete deletes them with their object.
	DeletionDelete DeletionPolicy = "Delete"
)

// IntermediateCA is where a CA below another has its certificate from.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.secretName)",message="secretName is required where enabled is true"
type IntermediateCA struct {
	// enabled makes the CA use the Secret.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// secretName is a Secret with ca.pem, key.pem and crl.pem, whose annotation
	// openvox.voxpupuli.org/intermediate-ca is the name of this CertificateAuthority.
	// +optional
	// +kubebuilder:validation:MinLength=1
	SecretName string `json:"secretName,omitempty"`
}

// ExternalCA is a CA that runs elsewhere.
type ExternalCA struct {
	// url is where its server answers, such as https://puppet.example.com:8140.
	// +required
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`

	// caSecretRef is a Secret with ca_crt.pem, by which the server is known: <name>-ca
	// unless given.
	// +optional
	CASecretRef string `json:"caSecretRef,omitempty"`

	// tlsSecretRef is a Secret with tls.crt and tls.key of a client that may sign.
	// +optional
	TLSSecretRef string `json:"tlsSecretRef,omitempty"`

	// insecureSkipVerify takes any server for the CA when requests are submitted and
	// certificates and CRLs fetched.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// CertificateAuthorityPhase is how far a CA has come.
//
// +kubebuilder:validation:Enum=Pending;Initializing;Ready;External;Error
type CertificateAuthorityPhase string

const (
	// CertificateAuthorityPending waits for a Config.
	CertificateAuthorityPending CertificateAuthorityPhase = "Pending"
	// CertificateAuthorityInitializing has a setup Job that runs.
	CertificateAuthorityInitializing CertificateAuthorityPhase = "Initializing"
	// CertificateAuthorityReady answers.
	CertificateAuthorityReady CertificateAuthorityPhase = "Ready"
	// CertificateAuthorityExternal answers, and runs elsewhere.
	CertificateAuthorityExternal CertificateAuthorityPhase = "External"
	// CertificateAuthorityError has failed, and tries again.
	CertificateAuthorityError CertificateAuthorityPhase = "Error"
)

const (
	// ConditionInitialized is whether the Secrets of a CA that runs here have its
	// certificate, key and CRL: its server may start.
	ConditionInitialized = "Initialized"
	// ConditionCAReady is whether the CA answers.
	ConditionCAReady = "CAReady"
	// ConditionOperatorSigningReady is whether there is a certificate by which requests
	// are signed.
	ConditionOperatorSigningReady = "OperatorSigningReady"
	// ConditionPoliciesRendered is whether the CA's autosign hook has the SigningPolicies.
	ConditionPoliciesRendered = "PoliciesRendered"
)

// CertificateAuthorityStatus is how far the CA has come.
type CertificateAuthorityStatus struct {
	// phase is how far it has come.
	// +optional
	Phase CertificateAuthorityPhase `json:"phase,omitempty"`

	// caSecretName is the Secret with ca_crt.pem.
	// +optional
	CASecretName string `json:"caSecretName,omitempty"`

	// serviceName is the Service of the CA's server: empty of an external one.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// serverCertificateName is the Certificate of the CA's server, as the Server with ca that
	// was there first names it: empty where spec.serverCertificateRef does, or none does.
	// +optional
	ServerCertificateName string `json:"serverCertificateName,omitempty"`

	// signingSecretName is the Secret with the certificate by which requests are signed.
	// +optional
	SigningSecretName string `json:"signingSecretName,omitempty"`

	// notAfter is when the CA's certificate ends.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// crl is what is known of the CRL.
	// +optional
	CRL *CRLStatus `json:"crl,omitempty"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has Initialized, CAReady, OperatorSigningReady, CRLCurrent and PoliciesRendered.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CRLStatus is what is known of a CRL.
type CRLStatus struct {
	// thisUpdate is when the CA issued it.
	// +optional
	ThisUpdate *metav1.Time `json:"thisUpdate,omitempty"`

	// nextUpdate is until when it may be relied on.
	// +optional
	NextUpdate *metav1.Time `json:"nextUpdate,omitempty"`

	// refreshed is when the CA was asked for it last, and answered.
	// +optional
	Refreshed *metav1.Time `json:"refreshed,omitempty"`

	// lastRevoked is the certificate that was revoked last from here.
	// +optional
	LastRevoked *RevokedCertificate `json:"lastRevoked,omitempty"`

	// missingCount is the number of certificates that were revoked from here, have not expired,
	// and are not on the CRL.
	// +optional
	MissingCount int32 `json:"missingCount,omitempty"`

	// missing are the first 20 of these.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Missing []RevokedCertificate `json:"missing,omitempty"`
}

// RevokedCertificate is a certificate that was revoked.
type RevokedCertificate struct {
	// serialNumber is the certificate's, in hexadecimal.
	// +required
	SerialNumber string `json:"serialNumber"`

	// certname is the certificate's common name.
	// +optional
	Certname string `json:"certname,omitempty"`

	// notAfter is when it ends: a CA may leave it out of its CRL then.
	// +required
	NotAfter metav1.Time `json:"notAfter"`
}
