package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/terms"
)

// constraintDialect is the dialect of constraints of templates.
type constraintDialect struct{ *definition.Constraint }

func (c *constraintDialect) isForeign() bool { return true }

func (c *constraintDialect) matches(p *policy, resources *admission.Resources, e *evaluation, verb bool) (matches bool, reason string) {
	r, stage := e.review, c.stage(e)
	if stage.Enforcement == "" || r.Operation != "" && !verb || !p.source.inScope(r) || e.isExempt(p.source) || p.exempts(r) {
		return false, ""
	}
	for _, subject := range e.subjects() {
		matches, missing := stage.Matches(subject)
		if missing != "" {
			return false, missing
		}
		if !matches {
			continue
		}
		if err := p.evaluationForbidden(resources); err != nil {
			return false, "it " + err.Error()
		}
		if kind, lacks := e.missingKind(p); lacks {
			return false, fmt.Sprintf("it requires cluster objects (%s)", kind)
		}
		if reason := p.missesExternal(e); reason != "" {
			return false, reason
		}
		if p.missesNamespace(e) {
			return false, fmt.Sprintf("it reads the Namespace object, and namespace %q is not at hand", r.Namespace)
		}
		return true, ""
	}
	return false, ""
}

// stage is the part of the constraint for an evaluation.
func (c *constraintDialect) stage(e *evaluation) *definition.Stage {
	if e.options.Stored {
		return &c.Audit
	}
	return &c.Admission
}

func (c *constraintDialect) enforcement(_ *policy, e *evaluation) definition.Enforcement {
	return c.stage(e).Enforcement
}

// mayMatch leaves criteria of the object to matches.
func (c *constraintDialect) mayMatch(p *policy, e *evaluation, _ admission.GroupVersionKind, verb bool) bool {
	return (verb || e.review.Operation == "") && p.source.inScope(e.review)
}

// explainMismatch is for the criteria of the constraint's own match.
func (c *constraintDialect) explainMismatch(unmet criterion) (name, reason string) {
	if c.Admission.Enforcement == "" {
		return "scopedEnforcementActions", "the constraint has no action for requests: its enforcement points are for audit alone"
	}
	if unmet == criterionNone || unmet > criterionKind {
		return "match", "spec.match of the constraint leaves the object out"
	}
	return "", ""
}

// The API groups of policy objects.
const (
	constraintSuffix = "constraints.gatekeeper.sh"
	templateGroup    = "templates.gatekeeper.sh"
)

// exempts reports whether a request creates, changes or deletes policy objects, which a
// constraint reviews only if it names their group. Otherwise a constraint could prevent its own
// repair.
func (p *policy) exempts(r *admission.Review) bool {
	group := r.Resource.Group
	switch group {
	case definition.PolicyGroup:
	case templateGroup, constraintSuffix:
		if r.Operation != "DELETE" {
			return false
		}
	case "apiextensions.k8s.io": // the kinds that templates make
		if !strings.HasSuffix(r.DisplayName(), "."+constraintSuffix) {
			return false
		}
	default:
		return false
	}
	return !p.Matcher.NamesGroup(group)
}

func (c *constraintDialect) documents(p *policy, e *evaluation) (input *ast.Term, data eval.Document) {
	input = ast.ObjectTerm(
		ast.Item(ast.InternedTerm("review"), e.constraintReview()),
		ast.Item(ast.InternedTerm("parameters"), c.Parameters),
	)
	return input, external.Document(clusterdata.Inventory(e.options.Cluster, p.Meta.Requires, p.source.visibility()), e.external, p.Meta.External)
}

// findings reads a member of violation. As in Gatekeeper, a member without msg is not a finding.
func (c *constraintDialect) findings(p *policy, value ast.Value, rule definition.Rule) ([]Finding, error) {
	finding := p.finding(rule.Entry, rule.Location)
	object, ok := value.(ast.Object)
	if !ok || terms.Lookup(object, "msg") == nil {
		return nil, nil
	}
	return readObject(object, rule, finding)
}

func (c *constraintDialect) podTemplates(workload admission.GroupVersionKind) (templates []admission.PodTemplate) {
	for _, expansion := range c.Expansions {
		if expansion.Kind == workload && !slices.Contains(templates, expansion.Template) {
			templates = append(templates, expansion.Template)
		}
	}
	return templates
}

func (c *constraintDialect) expandSetting() string {
	return "an ExpansionTemplate for the kind, in the same source,"
}

// attribute names each expansion by which the constraint reviewed a template, and gives its findings
// the enforcement of that expansion.
func (c *constraintDialect) attribute(i invocation, decision *Decision) {
	original := *decision
	decision.Denials, decision.Warnings, decision.Audits = nil, nil, nil
	for _, expansion := range c.Expansions {
		if expansion.Kind != i.workload || expansion.Template != i.template {
			continue
		}
		into := func(enforcement definition.Enforcement, findings []Finding) {
			list := &decision.Denials
			switch cmp.Or(expansion.Enforcement, enforcement) {
			case definition.EnforceWarn:
				list = &decision.Warnings
			case definition.EnforceAudit:
				list = &decision.Audits
			}
			for _, finding := range findings {
				finding.Words = fmt.Sprintf("[Implied by %s] %s", expansion.Name, finding.Words)
				*list = append(*list, finding)
			}
		}
		into(definition.EnforceDeny, original.Denials)
		into(definition.EnforceWarn, original.Warnings)
		into(definition.EnforceAudit, original.Audits)
	}
}

// subjects are the object and the old object: on DELETE the old one alone.
func (e *evaluation) subjects() []definition.Subject {
	if e.constraintSubjects != nil {
		return e.constraintSubjects
	}
	e.constraintSubjects = []definition.Subject{}
	for _, object := range []*admission.Object{e.review.New, e.review.Old} {
		if object != nil {
			e.constraintSubjects = append(e.constraintSubjects, e.subject(object))
		}
	}
	return e.constraintSubjects
}

// subject describes an object of the review to constraints.
func (e *evaluation) subject(of *admission.Object) definition.Subject {
	object := of.Value()
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	s := definition.Subject{
		Kind:         admission.ObjectKind(object, e.review.Kind),
		Name:         terms.Text(metadata, "name"),
		GenerateName: terms.Text(metadata, "generateName"),
		Namespace:    terms.Text(metadata, "namespace"),
		Labels:       of.Labels(),
		Generated:    e.generated,
	}
	if e.review.Namespace != "" {
		s.Namespace = e.review.Namespace
	}
	if s.IsNamespace() {
		s.Namespace = ""
	} else if e.namespace != nil && s.Namespace != "" {
		s.NamespaceLabels = e.namespace.Labels()
	}
	return s
}

// constraintReview is the AdmissionRequest that templates read. A deleted object is in object, and
// the Namespace object in namespaceObject.
func (e *evaluation) constraintReview() *ast.Term {
	if e.constraintRequest != nil {
		return e.constraintRequest
	}
	request := e.review.Request()
	if e.review.Operation == "DELETE" && e.review.Old != nil {
		request = terms.With(request, "object", ast.NewTerm(e.review.Old.Value()))
	}
	namespace := ast.InternedNullTerm
	if e.namespace != nil {
		namespace = ast.NewTerm(e.namespace.Value())
		request = terms.With(request, "_unstable", ast.ObjectTerm(ast.Item(ast.StringTerm("namespace"), namespace)))
	}
	request = terms.With(request, "namespaceObject", namespace)
	e.constraintRequest = ast.NewTerm(request)
	return e.constraintRequest
}
