package layout

import (
	"strings"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// The labels of objects that are created for OpenVox's kinds.
const (
	// ManagedByLabel is ManagedBy on all of it: caches hold nothing else.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is what openvox-operator writes, too, so that its objects are ours.
	ManagedBy = "openvox-operator"
	// NameLabel is "openvox".
	NameLabel = "app.kubernetes.io/name"
	// CALabel is the name of the CertificateAuthority.
	CALabel = "openvox.voxpupuli.org/certificateauthority"
	// CAServerLabel is "true" on Pods that are a CA's server.
	CAServerLabel = "openvox.voxpupuli.org/ca"
	// ConfigLabel is the name of the Config.
	ConfigLabel = "openvox.voxpupuli.org/config"
)

// The keys of Secrets, by which Pods name their files. All but the policies are in PEM.
const (
	// CAFile are a CA's certificates, in CASecret.
	CAFile = "ca_crt.pem"
	// CRLFile are a CA's CRLs, in CRLSecret.
	CRLFile = "ca_crl.pem"
	// PolicyFile is what a CA's autosign hook goes by, in AutosignSecret.
	PolicyFile = "signing-policies.yaml"
	// CertificateFile is the certificate of a pair, in TLSSecret.
	CertificateFile = "cert.pem"
	// KeyFile is the private key of a pair, in TLSSecret.
	KeyFile = "key.pem"
)

const (
	// Port is where Puppet servers listen.
	Port = 8140
	// CAFolder is where a CA's server and its setup Job have the CA's volume.
	CAFolder = "/etc/puppetlabs/puppetserver/ca"
	// DefaultCATTL is how long a CA is valid that says nothing in spec.ttl.
	DefaultCATTL = 5 * 365 * 24 * time.Hour
)

// CASecret is the name of the Secret with the certificates of a CA.
func CASecret(ca *v1alpha1.CertificateAuthority) string {
	if ca.Spec.External != nil && ca.Spec.External.CASecretRef != "" {
		return ca.Spec.External.CASecretRef
	}
	return ca.Name + "-ca"
}

// CRLSecret is the name of the Secret with the CRLs of a CA, by the CA's name.
func CRLSecret(ca string) string { return ca + "-ca-crl" }

// RevocationsSecret is the name of the Secret with the certificates that were revoked from here,
// by the CA's name.
func RevocationsSecret(ca string) string { return ca + "-ca-revocations" }

// RevocationsFile is the key of RevocationsSecret: a JSON list, compressed with gzip.
const RevocationsFile = "revocations.json.gz"

// AutosignSecret is the name of the Secret with what a CA's autosign hook goes by, by the CA's
// name.
func AutosignSecret(ca string) string { return ca + "-autosign-policy" }

// TLSSecret returns the name of the Secret with the key and certificate of a Certificate.
func TLSSecret(certificate string) string { return certificate + "-tls" }

// SigningCertificate is the name of the Certificate by which requests to a CA in the cluster
// are signed, by the CA's name.
func SigningCertificate(ca string) string { return ca + "-operator-signing" }

// StandbyCertificate is the name of the Certificate that signs where SigningCertificate cannot,
// by the CA's name: its successor, say.
func StandbyCertificate(ca string) string { return ca + "-operator-standby" }

// IsOperators says whether a Certificate is one of the two by which requests to a CA in the
// cluster are signed, by its name. The CA may be any, also one that is set up later.
func IsOperators(certificate string) bool {
	return strings.HasSuffix(certificate, SigningCertificate("")) || strings.HasSuffix(certificate, StandbyCertificate(""))
}

// CAClaim is the name of the PersistentVolumeClaim of a CA in the cluster, by the CA's name.
func CAClaim(ca string) string { return ca + "-data" }

// DatabaseHost is the name of the host that servers know a Database by.
func DatabaseHost(db *v1alpha1.Database) string { return db.Name + "." + db.Namespace + ".svc" }

// ObjectLabels are the labels of the objects of a CA.
func ObjectLabels(ca string) map[string]string {
	return map[string]string{NameLabel: "openvox", ManagedByLabel: ManagedBy, CALabel: ca}
}
