// Package orloj has the rules for Orloj's kinds: what each may say, who may be stored
// where, and what the store can hold.
package orloj

import (
	"embed"
	"maps"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rules"
)

//go:embed *.rego
var files embed.FS

// Rules are the compiled rules.
type Rules struct {
	// Snapshot has all of them.
	Snapshot *engine.Snapshot
	// parts have those of objects that name a target, and that carry values or not.
	parts map[needs]*engine.Snapshot
}

// needs are what of an object depends on its Namespace.
type needs struct{ mapping, plaintext bool }

// New compiles the rules.
func New() (*Rules, error) {
	own, err := compile("orloj", func(name string) bool { return name != "mapping.rego" && name != "plaintext.rego" })
	if err != nil {
		return nil, err
	}
	mapping, err := compile("orloj-mapping", func(name string) bool { return name == "mapping.rego" })
	if err != nil {
		return nil, err
	}
	plaintext, err := compile("orloj-plaintext", func(name string) bool { return name == "plaintext.rego" })
	if err != nil {
		return nil, err
	}
	snapshot := func(sets ...*engine.PolicySet) *engine.Snapshot {
		return engine.NewSnapshot(admission.BuiltinResources(), sets...)
	}
	whole := snapshot(own, mapping, plaintext)
	return &Rules{Snapshot: whole, parts: map[needs]*engine.Snapshot{
		{}:                               snapshot(own),
		{mapping: true}:                  snapshot(own, mapping),
		{plaintext: true}:                snapshot(own, plaintext),
		{mapping: true, plaintext: true}: whole,
	}}, nil
}

// NewSnapshot compiles the rules into one snapshot.
func NewSnapshot() (*engine.Snapshot, error) {
	compiled, err := New()
	if err != nil {
		return nil, err
	}
	return compiled.Snapshot, nil
}

func compile(name string, wanted func(file string) bool) (*engine.PolicySet, error) {
	texts, err := definition.BuiltInFiles(files)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(texts, func(file, _ string) bool { return !wanted(file) })
	return policyset.Compile(definition.Source{Name: name, Revision: rules.Revision, Files: texts})
}

// For returns the rules that an object needs. If the object does not depend on its
// Namespace, the rules that read the Namespace are left out, and the Namespace need not be
// available.
func (r *Rules) For(o Object) *engine.Snapshot { return r.parts[o.needs()] }

// needs returns the rules about the Namespace that an object needs.
func (o Object) needs() needs {
	return needs{
		mapping:   o.namesTarget(),
		plaintext: o.Kind == "Secret" && len(o.Spec.Data)+len(o.Spec.StringData) > 0,
	}
}

// ReadsNamespace reports whether the decision about the object depends on its Namespace.
func (o Object) ReadsNamespace() bool { return o.needs() != needs{} }
