// Package openclaw has the rules for OpenClaw's kinds, and what they need to know about
// the policies in a PolicyBundle.
package openclaw

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

//go:embed policybundle.rego instance.rego
var files embed.FS

// Set compiles the rules.
func Set() (*engine.PolicySet, error) {
	rules, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	return engine.Compile(definition.Source{Name: "openclaw", Revision: "built-in", Files: rules})
}
