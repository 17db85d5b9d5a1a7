package gatekeeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// constraintObject is what is read of a constraint.
type constraintObject struct {
	Spec struct {
		EnforcementAction        string          `json:"enforcementAction"`
		ScopedEnforcementActions []scopedAction  `json:"scopedEnforcementActions"`
		Match                    json.RawMessage `json:"match"`
		Parameters               json.RawMessage `json:"parameters"`
	} `json:"spec"`
}

type scopedAction struct {
	Action            string `json:"action"`
	EnforcementPoints []struct {
		Name string `json:"name"`
	} `json:"enforcementPoints"`
}

// readConstraint reads a constraint of a template. asked is false where it is
// enforced at other points alone, such as an audit.
func (f *folder) readConstraint(d document, t *template) (c definition.Constraint, asked bool, errs definition.CompileErrors) {
	c = definition.Constraint{
		Name:     fmt.Sprintf("%s/%s", d.kind, d.name),
		Title:    t.title,
		Location: definition.Location{File: d.file, Line: d.line},
	}
	if reasons := validation.IsDNS1123Subdomain(d.name); len(reasons) > 0 {
		return c, false, definition.CompileErrors{d.errorIn([]any{"metadata", "name"}, "constraint of kind %s: %s", d.kind, reasons[0])}
	}
	var object constraintObject
	if err := d.decode(&object); err != nil {
		return c, false, definition.CompileErrors{d.errorAt("%v", err)}
	}
	c.Enforcement, asked, errs = f.enforcement(d, object)
	m, matchErrs := f.readMatch(d, object.Spec.Match)
	errs = append(errs, matchErrs...)
	parameters, parameterErrs := readParameters(d, t, object.Spec.Parameters)
	c.Parameters, errs = parameters, append(errs, parameterErrs...)
	if t.readsInventory {
		requires, err := f.requires(t)
		if err != nil {
			errs = append(errs, d.errorAt("constraint %s: %v", c.Name, err))
		}
		c.Requires = requires
	}
	if len(errs) > 0 {
		return c, false, errs
	}
	c.Match, c.Matches = m.registered(t.operations), m.matches
	if m.Source != sourceOriginal && m.matchesKind(admission.GroupVersionKind{Version: "v1", Kind: "Pod"}) {
		c.Expansions = f.podExpansions()
	}
	if len(c.Expansions) > 0 {
		c.Match.Expand = definition.ExpandDeny
	}
	return c, asked, nil
}

// readMatch refuses fields that are not known: the constraint would be wider than its
// author meant.
func (f *folder) readMatch(d document, text json.RawMessage) (*matcher, definition.CompileErrors) {
	var match matchObject
	if len(text) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&match); err != nil {
			return nil, definition.CompileErrors{d.errorIn([]any{"spec", "match"}, "%s", jsonMessage(err))}
		}
	}
	var excluded []glob
	if !f.mode.test {
		excluded = f.excluded
	}
	m, wrong := newMatcher(match, excluded)
	var errs definition.CompileErrors
	for _, field := range slices.Sorted(maps.Keys(wrong)) {
		errs = append(errs, d.errorIn([]any{"spec", "match", field}, "%v", wrong[field]))
	}
	return m, errs
}

func jsonMessage(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is a %s, which does not belong there", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func readParameters(d document, t *template, text json.RawMessage) (*ast.Term, definition.CompileErrors) {
	at := []any{"spec", "parameters"}
	var given any
	if len(text) > 0 {
		given = fromJSON(text)
	}
	parameters, wrong := t.schema.complete(given)
	if len(wrong) > 0 {
		return nil, definition.CompileErrors{d.errorIn(at, "the schema of ConstraintTemplate %s does not allow this: %s", t.document.name, strings.Join(wrong, "; "))}
	}
	if parameters == nil {
		return ast.ObjectTerm(), nil
	}
	asJSON, err := json.Marshal(parameters)
	if err != nil {
		return nil, definition.CompileErrors{d.errorIn(at, "%v", err)}
	}
	value, err := ast.ValueFromReader(bytes.NewReader(asJSON))
	if err != nil {
		return nil, definition.CompileErrors{d.errorIn(at, "%v", err)}
	}
	return ast.NewTerm(value), nil
}

// The enforcement actions, strictest first.
var enforcements = []struct {
	action      string
	enforcement definition.Enforcement
}{
	{"deny", definition.EnforceDeny},
	{"warn", definition.EnforceWarn},
	{"dryrun", definition.EnforceAudit},
}

func enforcementOf(action string) (definition.Enforcement, bool) {
	for _, known := range enforcements {
		if known.action == action {
			return known.enforcement, true
		}
	}
	return "", false
}

// enforcement is the strictest of the actions that are meant for here.
func (f *folder) enforcement(d document, object constraintObject) (strictest definition.Enforcement, asked bool, errs definition.CompileErrors) {
	action := object.Spec.EnforcementAction
	if action == "" {
		return definition.EnforceDeny, true, nil
	}
	if action != "scoped" {
		enforcement, ok := enforcementOf(action)
		if !ok {
			return "", false, definition.CompileErrors{d.errorIn([]any{"spec", "enforcementAction"}, "%q is not one of deny, warn, dryrun, scoped", action)}
		}
		return enforcement, true, nil
	}
	here := map[definition.Enforcement]bool{}
	for i, scoped := range object.Spec.ScopedEnforcementActions {
		enforcement, ok := enforcementOf(scoped.Action)
		if !ok {
			errs = append(errs, d.errorIn([]any{"spec", "scopedEnforcementActions", i, "action"}, "%q is not one of deny, warn, dryrun", scoped.Action))
			continue
		}
		for _, point := range scoped.EnforcementPoints {
			if point.Name == f.mode.point || point.Name == "*" {
				here[enforcement] = true
			}
		}
	}
	if len(object.Spec.ScopedEnforcementActions) == 0 {
		errs = append(errs, d.errorIn([]any{"spec"}, "enforcementAction scoped needs scopedEnforcementActions"))
	}
	for _, known := range enforcements {
		if here[known.enforcement] {
			return known.enforcement, true, errs
		}
	}
	return "", false, errs
}
