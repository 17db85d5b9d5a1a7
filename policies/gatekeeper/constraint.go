package gatekeeper

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// constraintObject contains the fields of a constraint that are read.
type constraintObject struct {
	Spec struct {
		EnforcementAction        string         `json:"enforcementAction"`
		ScopedEnforcementActions []scopedAction `json:"scopedEnforcementActions"`
		Match                    matchObject    `json:"match"`
	} `json:"spec"`
}

type scopedAction struct {
	Action            string `json:"action"`
	EnforcementPoints []struct {
		Name string `json:"name"`
	} `json:"enforcementPoints"`
}

// readConstraint reads a constraint of a template. asked is false if it is only enforced at
// enforcement points that are not read here.
func (f *folder) readConstraint(d document, t *template) (c definition.Constraint, asked bool, errs definition.CompileErrorList) {
	c = definition.Constraint{
		Name:     fmt.Sprintf("%s/%s", d.kind, d.name),
		Title:    t.title,
		Location: definition.Location{File: d.file, Line: d.line},
	}
	if reasons := validation.IsDNS1123Subdomain(d.name); len(reasons) > 0 {
		return c, false, definition.CompileErrorList{d.errorIn([]any{"metadata", "name"}, "constraint of kind %s: %s", d.kind, reasons[0])}
	}
	fields, warnings, errs := t.schema.complete(d)
	t.warnings = append(t.warnings, warnings...)
	if len(errs) > 0 {
		return c, false, errs
	}
	var object constraintObject
	if err := d.decode(&object); err != nil {
		return c, false, definition.CompileErrorList{d.errorAt("%v", err)}
	}
	errs = f.readEnforcement(d, object, &c)
	m, matchErrs := f.readMatch(d, object.Spec.Match)
	errs = append(errs, matchErrs...)
	var err error
	if c.Parameters, err = parametersIn(fields); err != nil {
		errs = append(errs, d.errorIn([]any{"spec", "parameters"}, "%v", err))
	}
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
	c.Match, c.Admission.Matches = m.registered(t.operations, t.namesOperations), m.matches
	c.Audit.Matches = m.without(f.unaudited).matches
	if t.program != nil {
		c.Evaluator = t.evaluator(fields)
	}
	c.Fingerprint = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %s%s", f.excluded, f.unaudited, d.json, t.celText())))
	if m.Source != sourceOriginal && m.matchesKind(admission.GroupVersionKind{Version: "v1", Kind: "Pod"}) {
		c.Expansions = f.podExpansions()
	}
	if len(c.Expansions) > 0 {
		c.Match.Expand = definition.ExpandDeny
	}
	return c, c.Admission.Enforcement != "" || c.Audit.Enforcement != "" && !f.mode.test, nil
}

func (f *folder) readMatch(d document, match matchObject) (*matcher, definition.CompileErrorList) {
	var excluded []glob
	if !f.mode.test {
		excluded = f.excluded
	}
	m, wrong := newMatcher(match, excluded)
	var errs definition.CompileErrorList
	for _, field := range slices.Sorted(maps.Keys(wrong)) {
		errs = append(errs, d.errorIn([]any{"spec", "match", field}, "%v", wrong[field]))
	}
	return m, errs
}

// parametersIn returns the parameters in the fields of a constraint: an empty object if there
// are none.
func parametersIn(fields map[string]any) (*ast.Term, error) {
	spec, _ := fields["spec"].(map[string]any)
	if spec["parameters"] == nil {
		return ast.ObjectTerm(), nil
	}
	text, err := json.Marshal(spec["parameters"])
	if err != nil {
		return nil, err
	}
	value, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
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

// readEnforcement reads the actions of a constraint for requests and for stored objects: of
// several for one enforcement point, the strictest.
func (f *folder) readEnforcement(d document, object constraintObject, c *definition.Constraint) definition.CompileErrorList {
	action := object.Spec.EnforcementAction
	if action == "scoped" {
		return f.readScopedActions(d, object.Spec.ScopedEnforcementActions, c)
	}
	enforcement, ok := definition.EnforceDeny, true
	if action != "" {
		enforcement, ok = enforcementOf(action)
	}
	if !ok {
		return definition.CompileErrorList{d.errorIn([]any{"spec", "enforcementAction"}, "%q is not one of deny, warn, dryrun, scoped", action)}
	}
	c.Admission.Enforcement, c.Audit.Enforcement = enforcement, enforcement
	return nil
}

// readScopedActions reads the actions for single enforcement points.
func (f *folder) readScopedActions(d document, actions []scopedAction, c *definition.Constraint) (errs definition.CompileErrorList) {
	of := []any{"spec", "scopedEnforcementActions"}
	if len(actions) == 0 {
		return definition.CompileErrorList{d.errorIn([]any{"spec"}, "enforcementAction scoped needs scopedEnforcementActions")}
	}
	var admission, audit []string
	for i, scoped := range actions {
		if _, ok := enforcementOf(scoped.Action); !ok {
			errs = append(errs, d.errorIn(append(slices.Clone(of), i, "action"), "%q is not one of deny, warn, dryrun", scoped.Action))
			continue
		}
		at := append(slices.Clone(of), i, "enforcementPoints")
		if len(scoped.EnforcementPoints) == 0 {
			errs = append(errs, d.errorIn(at, "name one of %s: without any, the action is never taken", strings.Join(points, ", ")))
		}
		for j, point := range scoped.EnforcementPoints {
			if !slices.Contains(points, point.Name) {
				errs = append(errs, d.errorIn(append(slices.Clone(at), j, "name"), "%q is not one of %s", point.Name, strings.Join(points, ", ")))
			}
			if point.Name == f.mode.point || point.Name == everyPoint {
				admission = append(admission, scoped.Action)
			}
			if (point.Name == auditPoint || point.Name == everyPoint) && !slices.Contains(audit, scoped.Action) {
				audit = append(audit, scoped.Action)
			}
		}
	}
	c.Admission.Enforcement, c.Audit.Enforcement = strictest(admission), strictest(audit)
	c.Scoped = &definition.ScopedActions{Location: definition.Location{File: d.file, Line: d.lineOf(of...)}, Audit: audit}
	return errs
}

// strictest is empty for no actions.
func strictest(actions []string) definition.Enforcement {
	for _, known := range enforcements {
		if slices.Contains(actions, known.action) {
			return known.enforcement
		}
	}
	return ""
}
