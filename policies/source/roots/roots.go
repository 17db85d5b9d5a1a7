// Package roots has certificate authorities for a system without any, as an image on an
// empty base is. Where the system has some, they alone count.
package roots

import (
	"crypto/x509"

	mozilla "golang.org/x/crypto/x509roots/fallback/bundle"
)

// System returns the system's certificate authorities or, if there are none, Mozilla's.
func System() (*x509.CertPool, error) {
	system, err := x509.SystemCertPool()
	if err == nil && !system.Equal(x509.NewCertPool()) {
		return system, nil
	}
	return Mozilla()
}

// Mozilla are the authorities of Mozilla that this program is built with.
func Mozilla() (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	for root := range mozilla.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, err
		}
		if root.Constraint != nil {
			roots.AddCertWithConstraint(certificate, root.Constraint)
		} else {
			roots.AddCert(certificate)
		}
	}
	return roots, nil
}
