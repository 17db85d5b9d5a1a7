// Package certificates makes Certificates of OpenVox for tests.
//
// Invariant: a Certificate belongs to CertificateAuthority main in namespace ns, unless the
// test sets another, and two Certificates share no data.
package certificates

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// Builder has the Certificate so far.
type Builder struct{ certificate *v1alpha1.Certificate }

// MakeCertificate is a Certificate by its name, for a certname.
func MakeCertificate(name, certname string) Builder {
	return Builder{&v1alpha1.Certificate{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       v1alpha1.CertificateSpec{AuthorityRef: "main", Certname: certname},
	}}
}

// Of has another CertificateAuthority issue it.
func (b Builder) Of(authority string) Builder {
	b.certificate.Spec.AuthorityRef = authority
	return b
}

// DNSNames gives it further names.
func (b Builder) DNSNames(names ...string) Builder {
	b.certificate.Spec.DNSAltNames = names
	return b
}

// Extensions sets the requested extensions.
func (b Builder) Extensions(extensions v1alpha1.CSRExtensions) Builder {
	b.certificate.Spec.CSRExtensions = &extensions
	return b
}

// UID has the API server have given it one.
func (b Builder) UID(uid types.UID) Builder {
	b.certificate.UID = uid
	return b
}

// Created sets the creation time, in seconds since 1970.
func (b Builder) Created(second int64) Builder {
	b.certificate.CreationTimestamp = metav1.NewTime(time.Unix(second, 0))
	return b
}

// Issued sets the serial number of the issued certificate in the status.
func (b Builder) Issued(serial string) Builder {
	b.certificate.Status.SerialNumber = serial
	return b
}

// Obj is the Certificate.
func (b Builder) Obj() *v1alpha1.Certificate { return b.certificate }
