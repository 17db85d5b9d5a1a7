// Package openclaw has the rules for OpenClaw's kinds, and what they need to know about
// the policies in a PolicyBundle.
package openclaw

import (
	"embed"
	"fmt"
	"strings"

	"github.com/lintel-policy/lintel/policies/engine"
)

//go:embed policybundle.rego instance.rego
var files embed.FS

// Set compiles the rules.
func Set() (*engine.PolicySet, error) {
	source := engine.Source{Name: "openclaw", Revision: "built-in", Files: map[string]string{}}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded rules: %w", err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the embedded rules: %w", err)
		}
		if !strings.HasSuffix(entry.Name(), "_test.rego") {
			source.Files[entry.Name()] = string(text)
		}
	}
	return engine.Compile(source)
}
