package rules

import (
	"embed"
	"maps"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// Revision is the revision of the rules that ship with Lintel.
const Revision = "built-in"

// Compile compiles the embedded rules of a system, without their tests, and more files by
// name.
func Compile(system string, files embed.FS, more map[string]string) (*engine.PolicySet, error) {
	texts, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	maps.Copy(texts, more)
	return policyset.Compile(definition.Source{Name: system, Revision: Revision, Files: texts})
}

// Snapshot is Compile with the result as a snapshot of its own.
func Snapshot(system string, files embed.FS, more map[string]string) (*engine.Snapshot, error) {
	set, err := Compile(system, files, more)
	if err != nil {
		return nil, err
	}
	return engine.NewSnapshot(admission.BuiltinResources(), set), nil
}
