package cel

import (
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// modeKubernetes is the mode of policies about Kubernetes objects, and the default.
const modeKubernetes = "Kubernetes"

// validateKyverno checks the fields of a policy.
func validateKyverno(policy *kyvernoPolicy) definition.CompileErrorList {
	p, spec := &problems{Object: policy.Object}, policy.spec
	p.checkName()
	if policy.Object.Kind == kindKyvernoNamespaced {
		if policy.namespace == "" {
			p.add([]any{"metadata", "namespace"}, "is empty; a %s needs one", kindKyvernoNamespaced)
		}
	} else if policy.namespace != "" {
		p.add([]any{"metadata", "namespace"}, "must not be set; a policy of one namespace is a %s", kindKyvernoNamespaced)
	}
	oneOf(p, []any{"spec", "failurePolicy"}, valueOf(spec.FailurePolicy), v1.Fail, v1.Ignore)
	if spec.MatchConstraints == nil || len(spec.MatchConstraints.ResourceRules) == 0 {
		p.add([]any{"spec", "matchConstraints", "resourceRules"}, "must have at least one entry")
	} else {
		p.checkMatch([]any{"spec", "matchConstraints"}, *spec.MatchConstraints)
	}
	if len(spec.Validations) == 0 {
		p.add([]any{"spec", "validations"}, "must have at least one entry")
	}
	p.checkExpressions(spec.Validations, spec.Variables, spec.AuditAnnotations)
	p.checkConditions(spec.MatchConditions)
	for i, action := range spec.ValidationActions {
		at := []any{"spec", "validationActions", i}
		oneOf(p, at, action, v1.Deny, v1.Warn, v1.Audit)
		if slices.Contains(spec.ValidationActions[:i], action) {
			p.add(at, "%q is used twice", action)
		}
	}
	if e := spec.Evaluation; e != nil {
		p.checkMode([]any{"spec", "evaluation", "mode"}, e.Mode)
		if e.Admission.is(false) && e.Background.is(false) {
			p.add([]any{"spec", "evaluation"}, "disables admission and background, so that the policy is never evaluated")
		}
	}
	if a := spec.Autogen; a != nil && a.PodControllers != nil {
		for i, name := range a.PodControllers.Controllers {
			if !slices.Contains(controllerNames, name) {
				p.add([]any{"spec", "autogen", "podControllers", "controllers", i}, "%q is not one of %s", name, strings.Join(controllerNames, ", "))
			}
		}
	}
	return p.errs
}

// checkMode refuses modes in which a policy is not about Kubernetes objects.
func (p *problems) checkMode(path []any, mode string) {
	if mode != "" && mode != modeKubernetes {
		p.add(path, "%q is not supported: Lintel evaluates the mode %s alone", mode, modeKubernetes)
	}
}

// checkExpressions checks named expressions and validations.
func (p *problems) checkExpressions(validations []v1.Validation, variables []v1.Variable, annotations []v1.AuditAnnotation) {
	for i, v := range validations {
		path := []any{"spec", "validations", i}
		if strings.TrimSpace(v.Expression) == "" {
			p.add(append(path, "expression"), "is empty")
		}
		if v.MessageExpression != "" && strings.TrimSpace(v.MessageExpression) == "" {
			p.add(append(path, "messageExpression"), "is empty")
		}
		oneOf(p, append(path, "reason"), valueOf(v.Reason), reasons...)
	}
	names := map[string]bool{}
	for i, v := range variables {
		p.checkNamed([]any{"spec", "variables", i}, "name", v.Name, v.Expression, names)
		if v.Name != "" && !identifier.MatchString(v.Name) {
			p.add([]any{"spec", "variables", i, "name"}, "%q is not an identifier of CEL", v.Name)
		}
	}
	names = map[string]bool{}
	for i, a := range annotations {
		p.checkNamed([]any{"spec", "auditAnnotations", i}, "key", a.Key, a.ValueExpression, names)
	}
}

// checkConditions checks match conditions.
func (p *problems) checkConditions(conditions []v1.MatchCondition) {
	names := map[string]bool{}
	for i, c := range conditions {
		p.checkNamed([]any{"spec", "matchConditions", i}, "name", c.Name, c.Expression, names)
		for _, reason := range validation.IsQualifiedName(c.Name) {
			p.add([]any{"spec", "matchConditions", i, "name"}, "%s", reason)
		}
	}
}

// addKyvernoException reads a PolicyException.
func (f *kyvernoFolder) addKyvernoException(o manifest.Object) {
	var document kyvernoDocument[kyvernoExceptionSpec]
	if !f.read(o, &document) {
		return
	}
	e := &kyvernoException{Object: o, spec: document.Spec}
	p := &problems{Object: o}
	p.checkName()
	if len(e.spec.PolicyRefs) == 0 {
		p.add([]any{"spec", "policyRefs"}, "must have at least one entry")
	}
	for i, ref := range e.spec.PolicyRefs {
		if ref.Name == "" {
			p.add([]any{"spec", "policyRefs", i, "name"}, "is empty")
		}
		if ref.Kind == "" {
			p.add([]any{"spec", "policyRefs", i, "kind"}, "is empty")
		}
	}
	p.checkConditions(e.spec.MatchConditions)
	oneOf(p, []any{"spec", "reportResult"}, e.spec.ReportResult, "skip", "pass")
	p.checkMode([]any{"spec", "evaluationMode"}, e.spec.EvaluationMode)
	if e.spec.ExpiresAt != nil {
		p.add([]any{"spec", "expiresAt"}, "is not supported: write a PolicyException of policy.lintel.dev, which expires")
	}
	if f.fail(p.errs...); len(p.errs) == 0 {
		f.exceptions = append(f.exceptions, e)
	}
}

// bindExceptions gives each policy its exceptions.
func (f *kyvernoFolder) bindExceptions() {
	for _, e := range f.exceptions {
		for i, ref := range e.spec.PolicyRefs {
			found := false
			for _, p := range f.kyverno {
				if p.Object.Kind == ref.Kind && p.Object.Name == ref.Name {
					found = true
					if !slices.Contains(p.exceptions, e) {
						p.exceptions = append(p.exceptions, e)
					}
				}
			}
			if !found {
				f.warnings = append(f.warnings, errorIn(e.Object, []any{"spec", "policyRefs", i}, "the source has no %s %q", ref.Kind, ref.Name))
			}
		}
	}
}
