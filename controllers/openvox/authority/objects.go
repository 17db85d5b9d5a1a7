package authority

import (
	_ "embed"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const (
	// setupHash identifies the settings of a setup Job, to detect an outdated one.
	setupHash = "openvox.voxpupuli.org/setup-hash"

	caPrivateKey = "ca_key.pem"

	workFolder         = "/tmp"
	tokenFolder        = "/var/run/secrets/kubernetes.io/serviceaccount"
	intermediateFolder = "/run/intermediate-ca"
	// setupProgram is cmd/openvox-ca-setup, in images that have it; setupFinal is its exit
	// code where running it again will not help.
	setupProgram = "/usr/local/bin/lintel-openvox-ca-setup"
	setupFinal   = 2
)

// setupScript is what the setup Job runs.
//
//go:embed setup.sh
var setupScript string

// setupMissing are the exit codes by which shells and container runtimes say that the image
// lacks a program, or has none that the node can run.
var setupMissing = []int32{126, 127, 128}

func caKeySecret(ca string) string   { return ca + "-ca-key" }
func setupJobName(ca string) string  { return ca + "-ca-setup" }
func signingSecret(ca string) string { return layout.TLSSecret(layout.SigningCertificate(ca)) }
func standbySecret(ca string) string { return layout.TLSSecret(layout.StandbyCertificate(ca)) }

// signerSecrets returns the Secrets with keys that may sign requests at an in-cluster CA, in
// order of preference.
func signerSecrets(ca string) []string {
	return []string{signingSecret(ca), standbySecret(ca), setupJobName(ca)}
}

// keptSecrets outlive their CA unless its deletionPolicy is different: the three Secrets of the
// CA, and the certificate that the setup Job has created for the CA's server.
func keptSecrets(ca string) []string {
	return []string{ca + "-ca", caKeySecret(ca), layout.CRLSecret(ca), setupJobName(ca)}
}

func internalURL(ca *v1alpha1.CertificateAuthority) string {
	return "https://" + layout.ServiceHost(ca) + ":" + strconv.Itoa(layout.Port)
}

// inClusterCA is what the objects of an internal CA are made of.
type inClusterCA struct {
	ca *v1alpha1.CertificateAuthority
	// image is that of the Config.
	image v1alpha1.ImageSpec
	// certificate is the Certificate of the CA's server, or nil if it is missing. server is its
	// desired content.
	certificate *v1alpha1.Certificate
	server      v1alpha1.CertificateSpec
	// exists says that the Secrets have a CA already: another one is never set up.
	exists bool
	// served says that the CA's server has a pair, and may be running on it.
	served bool
	// nextSerial is the first one that an imported CA has not used, and optional are the keys of
	// its Secret that the Job reads, too.
	nextSerial string
	optional   []string
	// rescue makes the Job create another signing key, because none is left.
	rescue bool
	// node is where the CA's server has the volume: empty for none.
	node string
	// fsGroup is nil where the cluster gives each namespace its own group.
	fsGroup *int64
}

// serverSpec is what the certificate of the CA's server is to have: what its Certificate asks
// for, and the name of the Service.
func serverSpec(ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate) v1alpha1.CertificateSpec {
	spec := v1alpha1.CertificateSpec{Certname: layout.ServiceName(ca.Name)}
	if certificate != nil {
		spec.Certname, spec.DNSAltNames = certificate.Spec.Certname, slices.Clone(certificate.Spec.DNSAltNames)
	}
	spec.DNSAltNames = layout.WithNames(spec.DNSAltNames, []string{layout.ServiceHost(ca)})
	return spec
}

// serverCertificate is the Certificate of the CA's server, which the CertificateAuthority
// names: nil where it is not there.
func serverCertificate(ca *v1alpha1.CertificateAuthority, certificates []v1alpha1.Certificate) *v1alpha1.Certificate {
	name := rules.ServerCertificate(ca)
	for i := range certificates {
		if c := &certificates[i]; c.Name == name && c.Spec.AuthorityRef == ca.Name && c.DeletionTimestamp.IsZero() {
			return c
		}
	}
	return nil
}

// meta is of an object that goes with the CA.
func (s inClusterCA) meta(name string) metav1.ObjectMeta {
	kept := s.keptMeta(name)
	kept.OwnerReferences = []metav1.OwnerReference{ownerOf(s.ca)}
	return kept
}

// keptMeta returns the metadata of an object that outlives the CA, unless the deletionPolicy is
// different.
func (s inClusterCA) keptMeta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: s.ca.Namespace, Name: name, Labels: layout.ObjectLabels(s.ca.Name)}
	if s.ca.Spec.DeletionPolicy == v1alpha1.DeletionDelete {
		m.OwnerReferences = []metav1.OwnerReference{ownerOf(s.ca)}
	}
	return m
}

func ownerOf(ca *v1alpha1.CertificateAuthority) metav1.OwnerReference {
	return *metav1.NewControllerRef(ca, v1alpha1.SchemeGroupVersion.WithKind("CertificateAuthority"))
}

// claim returns the volume of the CA. An existing volume is never changed.
func (s inClusterCA) claim() *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "PersistentVolumeClaim"), ObjectMeta: s.keptMeta(layout.CAClaim(s.ca.Name)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: s.ca.Spec.Storage.Size}},
		},
	}
	if class := s.ca.Spec.Storage.StorageClass; class != "" {
		claim.Spec.StorageClassName = &class
	}
	return claim
}

// service reaches the server of this CA, and of no other in the namespace.
func (s inClusterCA) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Service"), ObjectMeta: s.meta(layout.ServiceName(s.ca.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{layout.CAServerLabel: "true", layout.CALabel: s.ca.Name},
			Ports:    []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: layout.Port, TargetPort: intstr.FromInt32(layout.Port)}},
		},
	}
}

// secrets are empty: the setup Job fills those of the CA, and needs no permission to create any.
func (s inClusterCA) secrets() (list []*corev1.Secret) {
	for _, name := range append(keptSecrets(s.ca.Name), layout.RevocationsSecret(s.ca.Name)) {
		list = append(list, &corev1.Secret{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Secret"), ObjectMeta: s.keptMeta(name)})
	}
	return list
}

func (s inClusterCA) serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: s.meta(setupJobName(s.ca.Name)),
		AutomountServiceAccountToken: new(false),
	}
}

// role permits to fill the CA's own Secrets: not to read them, nor others.
func (s inClusterCA) role() *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: layout.KindOf(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: s.meta(setupJobName(s.ca.Name)),
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: keptSecrets(s.ca.Name), Verbs: []string{"patch"}}},
	}
}

func (s inClusterCA) roleBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: layout.KindOf(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: s.meta(setupJobName(s.ca.Name)),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: setupJobName(s.ca.Name)},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: setupJobName(s.ca.Name), Namespace: s.ca.Namespace}},
	}
}

// signing returns the two Certificates that sign requests: neither can sign its own successor.
// They are retained together with the keys. Without them, a CA that takes the keys over under
// the same name could not sign.
func (s inClusterCA) signing() (list []*v1alpha1.Certificate) {
	add := func(name, certname string) {
		list = append(list, &v1alpha1.Certificate{
			TypeMeta: layout.KindOf(v1alpha1.SchemeGroupVersion, "Certificate"), ObjectMeta: s.keptMeta(name),
			Spec: v1alpha1.CertificateSpec{AuthorityRef: s.ca.Name, Certname: certname},
		})
	}
	add(layout.SigningCertificate(s.ca.Name), rules.OperatorCertname(s.ca.Name))
	add(layout.StandbyCertificate(s.ca.Name), rules.StandbyCertname(s.ca.Name))
	return list
}

// made is the Certificate of the CA's server, where the CertificateAuthority names none.
func (s inClusterCA) made() *v1alpha1.Certificate {
	return &v1alpha1.Certificate{
		TypeMeta: layout.KindOf(v1alpha1.SchemeGroupVersion, "Certificate"), ObjectMeta: s.keptMeta(rules.OwnServerCertificate(s.ca.Name)),
		Spec: v1alpha1.CertificateSpec{AuthorityRef: s.ca.Name, Certname: layout.ServiceName(s.ca.Name)},
	}
}

// setupImport is the annotation of a setup Job with the next serial of the CA that it imports, and
// the optional keys that it reads. It is not part of the hash: both are unknown once the Job has
// filled a Secret.
const setupImport = v1alpha1.GroupName + "/setup-import"

// setupNode is the annotation of a setup Job with the node that its Pod is for.
const setupNode = v1alpha1.GroupName + "/setup-node"

// intermediateKeys are those of the Secret with a CA's own keys, and nothing else of it is mounted.
var intermediateKeys = []string{cadir.ImportCertificates, cadir.ImportKey, cadir.ImportCRLs}

// intermediateOptional are those that it may have, too.
var intermediateOptional = []string{cadir.ImportSerial, cadir.ImportInventory}

// imports says whether the Job needs keys from elsewhere: a CA that is there has its own.
func (s inClusterCA) imports() bool { return s.ca.Spec.IntermediateCA.Enabled && !s.exists }
