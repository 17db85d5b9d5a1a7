// Package openvox has the rules for OpenVox's kinds, and for requests to its
// CertificateAuthorities, which package signing decides.
package openvox

import (
	"embed"
	"fmt"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

//go:embed certificate.rego certificateauthority.rego certificaterequest.rego certificatesigningrequest.rego config.rego signingpolicy.rego
var files embed.FS

// Set compiles the rules.
func Set() (*engine.PolicySet, error) {
	source := engine.Source{Name: "openvox", Revision: "built-in", Files: map[string]string{"signing.rego": signing.Rules}}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded rules: %w", err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the embedded rules: %w", err)
		}
		source.Files[entry.Name()] = string(text)
	}
	return engine.Compile(source)
}
