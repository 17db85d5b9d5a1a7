// Package openvox has the rules for OpenVox's kinds, and for requests to its
// CertificateAuthorities, which package signing decides.
package openvox

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

//go:embed certificate.rego certificateauthority.rego certificaterequest.rego certificatesigningrequest.rego code.rego config.rego database.rego endpoint.rego expressions.rego extras.rego image.rego nodeclassifier.rego pool.rego reportprocessor.rego server.rego signingpolicy.rego workload.rego
var files embed.FS

// New compiles the rules.
func New() (*engine.Snapshot, error) {
	return rules.Snapshot("openvox", files, map[string]string{"signing.rego": signing.Rules})
}
