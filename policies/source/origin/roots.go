package origin

import (
	"crypto/x509"

	"github.com/lintel-policy/lintel/policies/source/roots"
)

// trustMozillasRoots is for a process on a system without certificate authorities: it
// trusts those of Mozilla. Where the system has some, they alone count. It must come
// before anything else asks for the system's.
func trustMozillasRoots() error {
	trusted, err := roots.Mozilla()
	if err != nil {
		return err
	}
	x509.SetFallbackRoots(trusted)
	return nil
}
