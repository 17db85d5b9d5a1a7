package engine

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// constraint is the form of a policy that is compiled from a template.
type constraint struct{ definition.Constraint }

func (c *constraint) foreign() bool { return true }

func (c *constraint) matches(p *compiledPolicy, s *Snapshot, e *evaluation, verb bool) (matches bool, reason string) {
	r := e.review
	if r.Operation != "" && !verb || !p.set.inScope(r) || e.isExempt(p.set) || p.spares(r) {
		return false, ""
	}
	for _, subject := range e.subjects() {
		matches, missing := c.Matches(subject)
		if missing != "" {
			return false, missing
		}
		if !matches {
			continue
		}
		if err := p.forbids(s.resources); err != nil {
			return false, "it " + err.Error()
		}
		if kind, lacks := e.lacks(p); lacks {
			return false, fmt.Sprintf("it requires cluster objects (%s)", kind)
		}
		if p.lacksNamespace(e) {
			return false, fmt.Sprintf("it reads the Namespace object, and namespace %q is not at hand", r.Namespace)
		}
		return true, ""
	}
	return false, ""
}

// mayMatchAt leaves to matches what depends on the object.
func (c *constraint) mayMatchAt(p *compiledPolicy, e *evaluation, _ admission.GroupVersionKind, verb bool) bool {
	return (verb || e.review.Operation == "") && p.set.inScope(e.review)
}

// leavesOut is for what only the constraint's own match knows.
func (c *constraint) leavesOut(unmet condition) (name, reason string) {
	if unmet == nothing || unmet > conditionKind {
		return "match", "spec.match of the constraint leaves the object out"
	}
	return "", ""
}

// The API groups of policy objects.
const (
	constraintSuffix = "constraints.gatekeeper.sh"
	templateGroup    = "templates.gatekeeper.sh"
)

// spares reports whether a request creates, changes or deletes policy objects, which a
// constraint reviews only if it names their group. Otherwise a constraint could prevent its own
// repair.
func (p *compiledPolicy) spares(r *admission.Review) bool {
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
	return !p.matcher.NamesGroup(group)
}

func (c *constraint) documents(p *compiledPolicy, e *evaluation) (input *ast.Term, data eval.Document) {
	input = ast.ObjectTerm(
		ast.Item(ast.InternedTerm("review"), e.constraintReview()),
		ast.Item(ast.InternedTerm("parameters"), c.Parameters),
	)
	return input, clusterdata.Inventory(e.options.Cluster, p.meta.Requires, p.set.sees())
}

// read reads a member of violation. One without msg is none, as where the
// template comes from.
func (c *constraint) read(p *compiledPolicy, value ast.Value, rule definition.Rule) ([]Finding, error) {
	finding := p.finding(rule.Entry, rule.Location)
	object, ok := value.(ast.Object)
	if !ok || terms.Lookup(object, "msg") == nil {
		return nil, nil
	}
	return readObject(object, rule, finding)
}

func (c *constraint) expandsFrom(workload admission.GroupVersionKind) bool {
	return len(c.expansionsOf(workload)) > 0
}

func (c *constraint) howToExpand() string {
	return "an ExpansionTemplate for the kind, in the same source,"
}

func (c *constraint) expansionsOf(workload admission.GroupVersionKind) []definition.Expansion {
	var out []definition.Expansion
	for _, expansion := range c.Expansions {
		if expansion.Kind == workload {
			out = append(out, expansion)
		}
	}
	return out
}

// imply names each expansion by which the constraint reviewed a template, and gives its findings
// the enforcement of that expansion.
func (c *constraint) imply(_ *compiledPolicy, workload admission.GroupVersionKind, found *Decision) {
	said := *found
	found.Denials, found.Warnings, found.Audits = nil, nil, nil
	for _, expansion := range c.expansionsOf(workload) {
		into := func(enforcement definition.Enforcement, findings []Finding) {
			list := &found.Denials
			switch cmp.Or(expansion.Enforcement, enforcement) {
			case definition.EnforceWarn:
				list = &found.Warnings
			case definition.EnforceAudit:
				list = &found.Audits
			}
			for _, finding := range findings {
				finding.Words = fmt.Sprintf("[Implied by %s] %s", expansion.Name, finding.Words)
				*list = append(*list, finding)
			}
		}
		into(definition.EnforceDeny, said.Denials)
		into(definition.EnforceWarn, said.Warnings)
		into(definition.EnforceAudit, said.Audits)
	}
}

// subjects are the object and the old object: on DELETE the old one alone.
func (e *evaluation) subjects() []definition.Subject {
	if e.ofConstraints != nil {
		return e.ofConstraints
	}
	e.ofConstraints = []definition.Subject{}
	for _, object := range []*admission.Object{e.review.New, e.review.Old} {
		if object != nil {
			e.ofConstraints = append(e.ofConstraints, e.subject(object))
		}
	}
	return e.ofConstraints
}

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

// constraintReview is the AdmissionRequest as templates see it: where an object is
// deleted, it is the object; the Namespace object is in it.
func (e *evaluation) constraintReview() *ast.Term {
	if e.forConstraints != nil {
		return e.forConstraints
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
	e.forConstraints = ast.NewTerm(request)
	return e.forConstraints
}
