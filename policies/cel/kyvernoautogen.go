package cel

import (
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
)

// templatePath is where a workload has the spec and the metadata of its Pods.
type templatePath struct {
	path        string
	controllers []podController
}

type podController struct {
	group, resource string
}

// podTemplates are the workloads for which a policy about Pods is evaluated, too.
var podTemplates = []templatePath{
	{"spec.template.", []podController{{"apps", "daemonsets"}, {"apps", "deployments"}, {"apps", "replicasets"}, {"apps", "statefulsets"}, {"batch", "jobs"}}},
	{"spec.jobTemplate.spec.template.", []podController{{"batch", "cronjobs"}}},
}

// controllerNames are the valid names of controllers.
var controllerNames = namesOfControllers()

func namesOfControllers() (names []string) {
	for _, template := range podTemplates {
		for _, c := range template.controllers {
			names = append(names, c.resource)
		}
	}
	slices.Sort(names)
	return names
}

// kyvernoCode is the part of a policy that depends on the kind of workload.
type kyvernoCode struct {
	match v1.MatchResources
	kyvernoSpec
}

// codes are the policy itself and, if it is about Pods, those for workloads.
func (p *kyvernoPolicy) codes() []kyvernoCode {
	codes := []kyvernoCode{{*p.spec.MatchConstraints, p.spec}}
	if !isAboutPods(*p.spec.MatchConstraints) {
		return codes
	}
	for _, template := range podTemplates {
		var rules []v1.NamedRuleWithOperations
		for _, c := range template.controllers {
			if a := p.spec.Autogen; a == nil || a.PodControllers == nil || a.PodControllers.Controllers == nil || slices.Contains(a.PodControllers.Controllers, c.resource) {
				rule := v1.NamedRuleWithOperations{}
				rule.APIGroups, rule.APIVersions, rule.Resources = []string{c.group}, []string{"v1"}, []string{c.resource}
				rule.Operations = p.spec.MatchConstraints.ResourceRules[0].Operations
				rules = append(rules, rule)
			}
		}
		if len(rules) > 0 {
			codes = append(codes, kyvernoCode{
				v1.MatchResources{ResourceRules: rules, NamespaceSelector: p.spec.MatchConstraints.NamespaceSelector},
				p.spec.within(template.path),
			})
		}
	}
	return codes
}

// isAboutPods reports whether a policy selects all Pods, and nothing else.
func isAboutPods(m v1.MatchResources) bool {
	if s := m.ObjectSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return false
	}
	if len(m.ExcludeResourceRules) > 0 || len(m.ResourceRules) != 1 {
		return false
	}
	rule := m.ResourceRules[0]
	return len(rule.ResourceNames) == 0 && slices.Equal(rule.APIGroups, []string{""}) &&
		slices.Equal(rule.APIVersions, []string{"v1"}) && slices.Equal(rule.Resources, []string{"pods"})
}

// within returns a spec for objects that have the Pod at a path. Kyverno changes the text of the
// whole spec, messages included.
func (s kyvernoSpec) within(path string) kyvernoSpec {
	moved := func(text string) string {
		for _, variable := range []string{"object.", "oldObject."} {
			for _, field := range []string{"spec", "metadata"} {
				text = moveField(text, variable, field, path)
			}
		}
		return text
	}
	s.MatchConditions, s.Variables = slices.Clone(s.MatchConditions), slices.Clone(s.Variables)
	s.Validations, s.AuditAnnotations = slices.Clone(s.Validations), slices.Clone(s.AuditAnnotations)
	for i, c := range s.MatchConditions {
		s.MatchConditions[i].Expression = moved(c.Expression)
	}
	for i, v := range s.Variables {
		s.Variables[i].Expression = moved(v.Expression)
	}
	for i, v := range s.Validations {
		s.Validations[i].Expression, s.Validations[i].Message, s.Validations[i].MessageExpression = moved(v.Expression), moved(v.Message), moved(v.MessageExpression)
	}
	for i, a := range s.AuditAnnotations {
		s.AuditAnnotations[i].ValueExpression = moved(a.ValueExpression)
	}
	return s
}

// moveField inserts a path before a field of a variable. The namespace is that of the workload.
func moveField(text, variable, field, path string) string {
	const kept = ".namespace"
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, variable+field)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(variable)
		if after, ok := strings.CutPrefix(rest, kept); !ok || after != "" && isIdentifierByte(after[0]) {
			out.WriteString(path)
		}
		out.WriteString(field)
		text = rest
	}
}

func isIdentifierByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
