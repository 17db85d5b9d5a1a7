package openvox

import (
	"strings"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// SignerPrefix begins the signerName of a CertificateSigningRequest to a
// CertificateAuthority; <namespace>.<name> follows.
const SignerPrefix = "certificateauthorities.openvox.voxpupuli.org/"

// ParseSigner is the CertificateAuthority that a signerName names.
func ParseSigner(signer string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(signer, SignerPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ".")
	return namespace, name, ok && namespace != "" && name != ""
}

// RequestFacts are what the rules read as input.facts about a request for a certificate.
type RequestFacts struct {
	// Authority says whether the CertificateAuthority exists.
	Authority bool `json:"authority"`
	// MayReference says whether the requester may name the signer.
	MayReference bool `json:"mayReference"`
	signing.Rendered
}

// PolicyFacts are what the rules read as input.facts about a SigningPolicy or a
// Certificate.
type PolicyFacts struct {
	// Names are those of extensions and attributes that there are.
	Names []string `json:"names"`
}

// KnownNames are the same facts for all.
func KnownNames() PolicyFacts { return PolicyFacts{Names: csr.Names()} }
