package policyset

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/lintel-policy/lintel/policies/definition"
)

const violationForm = `template %s: each member of violation must be an object with "msg", and %s, which never denies: write violation[{"msg": msg}] { … }`

// violationsWithoutMsg finds the rules of a compiled template whose values can have no msg:
// they never deny. Like Gatekeeper, it refuses a template in which no
// value can have one; where others can, the rules are warnings.
func (s *Set) violationsWithoutMsg(d *draft) (errs definition.CompileErrorList, warnings []definition.Unused) {
	set, ok := s.compiler.TypeEnv.GetByRef(entryRule(d.entry.path, definition.EntryViolation)).(*types.Set)
	if !ok || !anyOf(set.Of(), hasNoMsg) {
		return nil, nil
	}
	refused := !anyOf(set.Of(), func(t types.Type) bool { return !hasNoMsg(t) })
	for _, rule := range s.compiler.Modules[d.names[0]].Rules {
		if definition.ViolationOf(rule) == "" {
			continue
		}
		value := s.typeOf(rule)
		if value == nil || anyOf(value, func(t types.Type) bool { return !hasNoMsg(t) }) {
			continue
		}
		err := definition.ErrorAt(rule.Location, violationForm, d.template.Name, "this rule gives "+describeType(value))
		err.Column = 0 // it counts from the block's indentation
		if refused {
			errs = append(errs, err)
			continue
		}
		warnings = append(warnings, definition.Unused{CompileError: err})
	}
	if refused && len(errs) == 0 {
		errs = append(errs, definition.ErrorAt(d.modules[0].Package.Location, violationForm, d.template.Name, "it gives "+describeType(set.Of())))
	}
	return errs, warnings
}

// typeOf is the type of what a rule adds to its set: nil where it is not known.
func (s *Set) typeOf(rule *ast.Rule) types.Type {
	query := s.compiler.QueryCompiler()
	if _, err := query.Compile(rule.Body.Copy()); err != nil {
		return nil
	}
	return query.TypeEnv().GetByValue(rule.Head.Key.Value)
}

// hasNoMsg says whether no value of a type has a field msg.
func hasNoMsg(t types.Type) bool {
	_, isSet := t.(*types.Set)
	return isSet || types.Select(t, "msg") == nil
}

// anyOf says whether a condition holds for one of the types that a type is made of.
func anyOf(t types.Type, holds func(types.Type) bool) bool {
	union, ok := t.(types.Any)
	if !ok || len(union) == 0 {
		return holds(t)
	}
	for _, one := range union {
		if holds(one) {
			return true
		}
	}
	return false
}

// describeType names a type, and the fields of an object.
func describeType(t types.Type) string {
	object, ok := t.(*types.Object)
	if !ok {
		return fmt.Sprintf("a value of type %s", types.Sprint(t))
	}
	return fmt.Sprintf("an object with the fields %v", object.Keys())
}
