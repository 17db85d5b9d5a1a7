package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Certificate is one certificate of a CertificateAuthority, kept in the Secret
// <name>-tls.
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

	// spec is the certificate that is wanted.
	// +required
	Spec CertificateSpec `json:"spec"`

	// status is how far it has come.
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

// CertificateSpec is the certificate that is wanted.
type CertificateSpec struct {
	// authorityRef is the CertificateAuthority.
	// +required
	// +kubebuilder:validation:MinLength=1
	AuthorityRef string `json:"authorityRef"`

	// certname is the common name. No agent gets a certificate for it. It cannot be changed:
	// create another Certificate instead.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="certname is immutable; create another Certificate for another name, and delete this one"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9_]([a-z0-9_-]|\.[a-z0-9_-])*$`
	Certname string `json:"certname"`

	// dnsAltNames are further DNS names and IP addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.:-]+$`
	DNSAltNames []string `json:"dnsAltNames,omitempty"`

	// csrExtensions are Puppet's extensions.
	// +optional
	CSRExtensions *CSRExtensions `json:"csrExtensions,omitempty"`

	// renewBefore is how long before its end the certificate is renewed.
	// +optional
	// +kubebuilder:default="60d"
	// +kubebuilder:validation:Pattern=`^\d{1,9}[smhdy]$`
	RenewBefore string `json:"renewBefore,omitempty"`
}

// CSRExtensions are Puppet's extensions of a certificate.
type CSRExtensions struct {
	// ppCliAuth makes an administrator of the CA, which only the CA's own server is.
	// +optional
	PPCLIAuth bool `json:"ppCliAuth,omitempty"`

	// ppRole is pp_role.
	// +optional
	PPRole string `json:"ppRole,omitempty"`

	// ppEnvironment is pp_environment.
	// +optional
	PPEnvironment string `json:"ppEnvironment,omitempty"`

	// customExtensions are others, by their names, such as pp_project.
	// +optional
	CustomExtensions map[string]string `json:"customExtensions,omitempty"`
}

// CertificatePhase is how far a certificate has come.
//
// +kubebuilder:validation:Enum=Pending;Requesting;WaitingForSigning;Signed;Renewing;Error
type CertificatePhase string

const (
	// CertificatePending waits for its CertificateAuthority.
	CertificatePending CertificatePhase = "Pending"
	// CertificateRequesting has asked for a certificate.
	CertificateRequesting CertificatePhase = "Requesting"
	// CertificateWaitingForSigning waits for somebody to sign it.
	CertificateWaitingForSigning CertificatePhase = "WaitingForSigning"
	// CertificateSigned has its certificate.
	CertificateSigned CertificatePhase = "Signed"
	// CertificateRenewing has a certificate, and asks for the next.
	CertificateRenewing CertificatePhase = "Renewing"
	// CertificateError has failed, and tries again.
	CertificateError CertificatePhase = "Error"
)

// ConditionCertSigned is whether a Certificate has its certificate.
const ConditionCertSigned = "CertSigned"

// CertificateStatus is how far the certificate has come.
type CertificateStatus struct {
	// phase is how far it has come.
	// +optional
	Phase CertificatePhase `json:"phase,omitempty"`

	// secretName is the Secret with cert.pem and key.pem.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// notAfter is when the certificate ends.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// serialNumber is the certificate's, in hexadecimal: what the CA has under the
	// certname is revoked only where it has this one.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has CertSigned.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
