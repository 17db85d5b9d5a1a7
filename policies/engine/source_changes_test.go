package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func TestDataFilesAreRootedAtTheirFolder(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "s", Files: map[string]string{
		"data.yaml":        "top: 1",
		"limits/data.json": `{"cpu": ["a", {"b": 2}]}`,
		"limits/notes.yml": "not: read",
		"p.rego":           "package p\ndeny contains \"ok\" if { data.top == 1; data.limits.cpu[1].b == 2; not data.limits.not }",
	}})
	decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{})
	require.Equal(t, "ok", decision.Denials[0].Words)
}

func TestSnapshotDigestCoversWhatDecides(t *testing.T) {
	base := definition.Source{Name: "s", Files: one("package p\ndeny contains \"x\"")}
	digest := func(change func(*definition.Source)) string {
		source := base
		change(&source)
		return snapshotOf(compileSource(t, source)).Digest()
	}
	same := digest(func(*definition.Source) {})
	require.Equal(t, same, digest(func(*definition.Source) {}))
	for name, change := range map[string]func(*definition.Source){
		"name":       func(s *definition.Source) { s.Name = "t" },
		"files":      func(s *definition.Source) { s.Files = one("package p\ndeny contains \"y\"") },
		"failure":    func(s *definition.Source) { s.FailurePolicy = definition.Ignore },
		"scope":      func(s *definition.Source) { s.Scope.Level = hierarchy.Team },
		"parameters": func(s *definition.Source) { s.Parameters = []byte(`{"a":1}`) },
	} {
		require.NotEqual(t, same, digest(change), name)
	}
}

// TestEmptyCollections: OPA 1.21.0 and 1.22.0 refused to iterate over them, and keys of those
// that `with` replaces.
func TestEmptyCollections(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "s", Files: one(`package p
import rego.v1

m := {}
default cfg := {}
allow if cfg.key

deny contains "list" if { count([x | some x in []]) == 0 }
deny contains "object" if { count([x | x := m[_]]) == 0 }
deny contains "set" if { count([x | some x in set()]) == 0 }
deny contains "key" if not allow
deny contains "with" if { allow with cfg as {"key": 1} }`)})
	decision := snapshotOf(set).Validate(t.Context(), makeReview(t, pod), Options{})
	var words []string
	for _, denial := range decision.Denials {
		words = append(words, denial.Words)
	}
	require.Equal(t, []string{"key", "list", "object", "set", "with"}, words)
}
