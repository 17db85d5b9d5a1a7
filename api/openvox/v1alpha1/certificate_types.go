package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Certificate is one certificate of a CertificateAuthority, stored in Secret <name>-tls.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=cert
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Authority",type=string,JSONPath=`.spec.authorityRef`
// +kubebuilder:printcolumn:name="Certname",type=string,JSONPath=`.spec.certname`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="NotAfter",type=string,JSONPath=`.status.notAfter`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="CertSigned")].message`
type Certificate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired certificate.
	// +required
	Spec CertificateSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status CertificateStatus `json:"status,omitzero"`
}

// CertificateList is a list of Certificates.
//
// +kubebuilder:object:root=true
type CertificateList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Certificate `json:"items"`
}

// CertificateSpec is the desired certificate.
type CertificateSpec struct {
	// authorityRef is the name of the CertificateAuthority.
	// +required
	// +kubebuilder:validation:MinLength=1
	AuthorityRef string `json:"authorityRef"`

	// certname is the common name, which is reserved: no agent gets a certificate for it. It is
	// immutable; create another Certificate for another name.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="certname is immutable; create another Certificate for another name, and delete this one"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9_]([a-z0-9_-]|\.[a-z0-9_-])*$`
	Certname string `json:"certname"`

	// dnsAltNames are additional DNS names and IP addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.:-]+$`
	DNSAltNames []string `json:"dnsAltNames,omitempty"`

	// csrExtensions are Puppet's extensions of the certificate.
	// +optional
	CSRExtensions *CSRExtensions `json:"csrExtensions,omitempty"`

	// renewBefore is how long before its end the certificate is renewed: a number with the unit
	// s, m, h, d or y.
	// +optional
	// +kubebuilder:default="60d"
	// +kubebuilder:validation:Pattern=`^\d{1,9}[smhdy]$`
	RenewBefore string `json:"renewBefore,omitempty"`
}

// CSRExtensions are Puppet's extensions of a certificate.
type CSRExtensions struct {
	// ppCliAuth gives the certificate the rights of an administrator of the CA. Only the
	// Certificate of the CA's own server may have it.
	// +optional
	PPCLIAuth bool `json:"ppCliAuth,omitempty"`

	// ppRole is the value of pp_role.
	// +optional
	PPRole string `json:"ppRole,omitempty"`

	// ppEnvironment is the value of pp_environment.
	// +optional
	PPEnvironment string `json:"ppEnvironment,omitempty"`

	// customExtensions are other extensions by name, such as pp_project.
	// +optional
	CustomExtensions map[string]string `json:"customExtensions,omitempty"`
}

// CertificatePhase summarizes the conditions of a Certificate.
//
// +kubebuilder:validation:Enum=Pending;Requesting;WaitingForSigning;Signed;Renewing;Error
type CertificatePhase string

const (
	// CertificatePending waits for its CertificateAuthority.
	CertificatePending CertificatePhase = "Pending"
	// CertificateRequesting has submitted a request.
	CertificateRequesting CertificatePhase = "Requesting"
	// CertificateWaitingForSigning waits for an administrator to sign at the CA.
	CertificateWaitingForSigning CertificatePhase = "WaitingForSigning"
	// CertificateSigned has its certificate.
	CertificateSigned CertificatePhase = "Signed"
	// CertificateRenewing has a certificate, and requests its successor.
	CertificateRenewing CertificatePhase = "Renewing"
	// CertificateError has failed, and retries.
	CertificateError CertificatePhase = "Error"
)

// ConditionCertSigned reports whether a Certificate has its certificate.
const ConditionCertSigned = "CertSigned"

// CertificateStatus is the observed state of a Certificate.
type CertificateStatus struct {
	// phase summarizes the conditions.
	// +optional
	Phase CertificatePhase `json:"phase,omitempty"`

	// secretName is the Secret with cert.pem and key.pem.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// notAfter is when the certificate expires.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// serialNumber is the serial number of the certificate, in hexadecimal. Lintel revokes only
	// the certificate with this serial number.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain CertSigned.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
