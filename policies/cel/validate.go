package cel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// problems collects the errors of an object, by the rules of the API server.
type problems struct {
	manifest.Object
	errs definition.CompileErrorList
}

func (p *problems) add(path []any, format string, args ...any) {
	p.errs = append(p.errs, errorIn(p.Object, path, format, args...))
}

// oneOf reports a value that is not one of some; empty values are valid.
func oneOf[T ~string](p *problems, path []any, value T, valid ...T) {
	if value == "" || slices.Contains(valid, value) {
		return
	}
	names := make([]string, len(valid))
	for i, one := range valid {
		names[i] = string(one)
	}
	p.add(path, "%q is not one of %s", value, strings.Join(names, ", "))
}

func valueOf[T any](pointer *T) (value T) {
	if pointer != nil {
		value = *pointer
	}
	return value
}

// reasons are those that a validation may have.
var reasons = []metav1.StatusReason{metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validatePolicy checks the fields of a policy.
func validatePolicy(policy *policy) definition.CompileErrorList {
	p, spec := &problems{Object: policy.Object}, policy.ValidatingAdmissionPolicy.Spec
	p.checkName()
	oneOf(p, []any{"spec", "failurePolicy"}, valueOf(spec.FailurePolicy), v1.Fail, v1.Ignore)
	if kind := spec.ParamKind; kind != nil {
		if kind.APIVersion == "" || kind.Kind == "" {
			p.add([]any{"spec", "paramKind"}, "must name an apiVersion and a kind")
		}
	}
	if spec.MatchConstraints == nil || len(spec.MatchConstraints.ResourceRules) == 0 {
		p.add([]any{"spec", "matchConstraints", "resourceRules"}, "must have at least one entry")
	} else {
		p.checkMatch([]any{"spec", "matchConstraints"}, *spec.MatchConstraints)
	}
	if len(spec.Validations)+len(spec.AuditAnnotations) == 0 {
		p.add([]any{"spec", "validations"}, "must have at least one entry, or spec.auditAnnotations must")
	}
	for i, v := range spec.Validations {
		path := []any{"spec", "validations", i}
		if strings.TrimSpace(v.Expression) == "" {
			p.add(append(path, "expression"), "is empty")
		}
		if v.MessageExpression != "" && strings.TrimSpace(v.MessageExpression) == "" {
			p.add(append(path, "messageExpression"), "is empty")
		}
		if strings.Contains(v.Message, "\n") {
			p.add(append(path, "message"), "must not contain line breaks")
		}
		oneOf(p, append(path, "reason"), valueOf(v.Reason), reasons...)
	}
	names := map[string]bool{}
	for i, v := range spec.Variables {
		p.checkNamed([]any{"spec", "variables", i}, "name", v.Name, v.Expression, names)
		if v.Name != "" && !identifier.MatchString(v.Name) {
			p.add([]any{"spec", "variables", i, "name"}, "%q is not an identifier of CEL", v.Name)
		}
	}
	names = map[string]bool{}
	for i, c := range spec.MatchConditions {
		p.checkNamed([]any{"spec", "matchConditions", i}, "name", c.Name, c.Expression, names)
		for _, reason := range validation.IsQualifiedName(c.Name) {
			p.add([]any{"spec", "matchConditions", i, "name"}, "%s", reason)
		}
	}
	names = map[string]bool{}
	for i, a := range spec.AuditAnnotations {
		p.checkNamed([]any{"spec", "auditAnnotations", i}, "key", a.Key, a.ValueExpression, names)
	}
	return p.errs
}

// checkNamed checks a named expression.
func (p *problems) checkNamed(path []any, field, name, expression string, names map[string]bool) {
	at := append(slices.Clone(path), field)
	switch {
	case name == "":
		p.add(at, "is empty")
	case names[name]:
		p.add(at, "%q is used twice", name)
	}
	names[name] = true
	if strings.TrimSpace(expression) == "" {
		text := "expression"
		if field == "key" {
			text = "valueExpression"
		}
		p.add(append(slices.Clone(path), text), "is empty")
	}
}

func (p *problems) checkName() {
	for _, reason := range validation.IsDNS1123Subdomain(p.Object.Name) {
		p.add([]any{"metadata", "name"}, "%s", reason)
	}
}

// checkMatch checks matchConstraints or matchResources.
func (p *problems) checkMatch(path []any, m v1.MatchResources) {
	in := func(steps ...any) []any { return append(slices.Clone(path), steps...) }
	oneOf(p, in("matchPolicy"), valueOf(m.MatchPolicy), v1.Exact, v1.Equivalent)
	for _, one := range []struct {
		field    string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", m.NamespaceSelector}, {"objectSelector", m.ObjectSelector}} {
		if _, err := metav1.LabelSelectorAsSelector(one.selector); err != nil {
			p.add(in(one.field), "%v", err)
		}
	}
	for _, list := range []struct {
		field string
		rules []v1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		field := list.field
		for i, rule := range list.rules {
			operations := make([]string, len(rule.Operations))
			for j, operation := range rule.Operations {
				operations[j] = string(operation)
				oneOf(p, in(field, i, "operations", j), operation, v1.OperationAll, v1.Create, v1.Update, v1.Delete, v1.Connect)
			}
			for _, part := range []struct {
				name   string
				values []string
			}{{"apiGroups", rule.APIGroups}, {"apiVersions", rule.APIVersions}, {"operations", operations}, {"resources", rule.Resources}} {
				at := in(field, i, part.name)
				switch {
				case len(part.values) == 0:
					p.add(at, "must have at least one entry")
				case len(part.values) > 1 && part.name != "resources" && slices.Contains(part.values, "*"):
					p.add(at, `"*" includes all other entries; name it alone`)
				case part.name != "apiGroups" && slices.Contains(part.values, ""):
					p.add(at, "must not have an empty entry")
				}
			}
			if overlap := overlapOf(rule.Resources); overlap != "" {
				p.add(in(field, i, "resources"), "%s", overlap)
			}
			oneOf(p, in(field, i, "scope"), valueOf(rule.Scope), v1.AllScopes, v1.ClusterScope, v1.NamespacedScope)
		}
	}
}

// overlapOf reports a resource that another entry includes; empty if there is none.
func overlapOf(resources []string) string {
	for _, one := range resources {
		name, sub, hasSub := strings.Cut(one, "/")
		for _, other := range resources {
			otherName, otherSub, otherHasSub := strings.Cut(other, "/")
			includes := one != other && hasSub == otherHasSub && (name == "*" || name == otherName) && (sub == "*" || sub == otherSub)
			if includes || one == "*/*" && other != one {
				return fmt.Sprintf("%q includes %q; name it alone", one, other)
			}
		}
	}
	return ""
}

// validateBinding checks the fields of a binding.
func validateBinding(b *binding) definition.CompileErrorList {
	p, spec := &problems{Object: b.Object}, b.Spec
	p.checkName()
	if spec.PolicyName == "" {
		p.add([]any{"spec", "policyName"}, "is empty")
	}
	if spec.MatchResources != nil {
		p.checkMatch([]any{"spec", "matchResources"}, *spec.MatchResources)
	}
	if len(spec.ValidationActions) == 0 {
		p.add([]any{"spec", "validationActions"}, "must have at least one of Deny, Warn, Audit")
	}
	for i, action := range spec.ValidationActions {
		at := []any{"spec", "validationActions", i}
		oneOf(p, at, action, v1.Deny, v1.Warn, v1.Audit)
		if slices.Contains(spec.ValidationActions[:i], action) {
			p.add(at, "%q is used twice", action)
		}
	}
	if slices.Contains(spec.ValidationActions, v1.Deny) && slices.Contains(spec.ValidationActions, v1.Warn) {
		p.add([]any{"spec", "validationActions"}, "must not contain both Deny and Warn")
	}
	if ref := spec.ParamRef; ref != nil {
		at := func(field string) []any { return []any{"spec", "paramRef", field} }
		switch {
		case ref.Name != "" && ref.Selector != nil:
			p.add(at("selector"), "must not be set together with name")
		case ref.Name == "" && ref.Selector == nil:
			p.add(at("name"), "name or selector must be set")
		}
		if _, err := metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			p.add(at("selector"), "%v", err)
		}
		if ref.ParameterNotFoundAction == nil {
			p.add(at("parameterNotFoundAction"), "must be %s or %s", v1.AllowAction, v1.DenyAction)
		}
		oneOf(p, at("parameterNotFoundAction"), valueOf(ref.ParameterNotFoundAction), v1.AllowAction, v1.DenyAction)
	}
	return p.errs
}
