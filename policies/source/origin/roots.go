package origin

import (
	"crypto/x509"

	mozilla "golang.org/x/crypto/x509roots/fallback/bundle"
)

// trustMozillasRoots is for a process on a system without certificate authorities, as
// an image on an empty base is: it trusts those of Mozilla that this program is built
// with. Where the system has some, they alone count. It must come before anything else
// asks for the system's.
func trustMozillasRoots() error {
	roots := x509.NewCertPool()
	for root := range mozilla.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return err
		}
		if root.Constraint != nil {
			roots.AddCertWithConstraint(certificate, root.Constraint)
		} else {
			roots.AddCert(certificate)
		}
	}
	x509.SetFallbackRoots(roots)
	return nil
}
