// Package openzro has the rules for openZro's kinds, and for Pods that get a client of
// openZro.
package openzro

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

//go:embed *.rego
var files embed.FS

// New compiles the rules.
func New() (*engine.Snapshot, error) { return rules.Snapshot("openzro", files, nil) }
