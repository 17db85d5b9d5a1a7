package sidecar

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/engine"
)

// Level is the breadth of a scope. A narrower one can restrict what the broader ones
// allow, never widen it.
type Level = engine.ScopeLevel

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	if level := Level(name); slices.Contains(engine.ScopeLevels, level) {
		return level, nil
	}
	return "", fmt.Errorf("unknown scope %q: it is one of enterprise, org, team, user", name)
}
