// Package openzro has the rules for openZro's kinds, and for Pods that get a client of
// openZro.
package openzro

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

//go:embed *.rego
var files embed.FS

// New compiles the rules.
func New() (*engine.Snapshot, error) {
	rules, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	set, err := engine.Compile(definition.Source{Name: "openzro", Revision: "built-in", Files: rules})
	if err != nil {
		return nil, err
	}
	return engine.NewSnapshot(admission.BuiltinResources(), set), nil
}
