// Package openclaw has the rules for OpenClaw's kinds, and the facts that they need about the
// policies in a PolicyBundle.
package openclaw

import (
	"embed"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

//go:embed policybundle.rego instance.rego
var files embed.FS

// New compiles the rules into a snapshot.
func New() (*engine.Snapshot, error) { return rules.Snapshot("openclaw", files, nil) }
