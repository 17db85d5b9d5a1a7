// Package openvox has the rules for OpenVox's kinds, and for requests to its
// CertificateAuthorities, which package signing decides.
package openvox

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

//go:embed certificate.rego certificateauthority.rego certificaterequest.rego certificatesigningrequest.rego code.rego config.rego database.rego endpoint.rego expressions.rego extras.rego image.rego nodeclassifier.rego pool.rego reportprocessor.rego server.rego signingpolicy.rego workload.rego
var files embed.FS

// Set compiles the rules.
func Set() (*engine.PolicySet, error) {
	rules, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	rules["signing.rego"] = signing.Rules
	return engine.Compile(definition.Source{Name: "openvox", Revision: "built-in", Files: rules})
}
