package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// entryViolation is the entry point of a template.
	entryViolation = "violation"
	// templateKey is the key under data that templates, and what they read, are at.
	templateKey  = "lintel"
	inventoryKey = "inventory"
)

// Dialect reads policies in another form than Lintel's own from the files of a source.
// The same files give the same templates.
type Dialect func(files map[string]string) ([]Template, CompileErrors)

// Template is Rego that was written for another host, with the policies made from it.
// It is evaluated with OPA's default for the errors of functions (they are undefined),
// reads input.review and input.parameters, and has the entry point violation, a set
// of {msg, details}.
type Template struct {
	Name string
	// Modules are below TemplateRoot(Name); the first has the entry point.
	Modules []*ast.Module
	// Text is equal for templates with equal modules, where they stand included, and for
	// no others. A template without is compiled again with every change of its source.
	Text        string
	Constraints []Constraint
	// ReadsNamespace says that the Rego reads the Namespace object in the review.
	ReadsNamespace bool
	// Warnings say what is likely not meant.
	Warnings []string
}

// Constraint is one policy made from a template.
type Constraint struct {
	// Name is what messages call the policy.
	Name, Title string
	Location    Location
	// Match is for registration: as wide as Matches, or wider.
	Match Match
	// Matches decides about the object, and the old one, of a request. missing says
	// what it needs to know for that: empty where it knows.
	Matches func(Subject) (matches bool, missing string)
	// Enforcement defaults to deny.
	Enforcement Enforcement
	// Parameters become input.parameters.
	Parameters *ast.Term
	// Requires are the kinds at data.inventory.
	Requires []GroupVersionKind
	// Expansions are the workloads whose Pod template is judged, too.
	Expansions []Expansion
}

// Expansion has the Pod template of a kind of workload judged.
type Expansion struct {
	Name        string
	Kind        GroupVersionKind
	Enforcement Enforcement // of the constraint, where empty
}

// TemplateRoot is the path under which the packages of a template are.
func TemplateRoot(template string) ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm(templateKey), ast.StringTerm("template"), ast.StringTerm(template)}
}

// InventoryRoot is where templates find the objects of the cluster, by
// cluster[apiVersion][kind][name] and namespace[namespace][apiVersion][kind][name].
func InventoryRoot() ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm(templateKey), ast.StringTerm(inventoryKey)}
}

// ParserOptions are those for the modules of a template.
func ParserOptions(version ast.RegoVersion) ast.ParserOptions { return parserOptions(version) }

// ParseErrors translates the error of OPA's parser.
func ParseErrors(err error) CompileErrors { return compileErrors(err) }

// readable has what is in a template named as its author does.
func readable(text string) string {
	return templateNames.ReplaceAllStringFunc(text, func(name string) string {
		switch {
		case strings.HasSuffix(name, ".main."):
			return ""
		case strings.HasSuffix(name, "."+inventoryKey):
			return "data." + inventoryKey
		default:
			return "data"
		}
	})
}

var templateNames = regexp.MustCompile(`data\.lintel\.(?:inventory|template(?:\.\w+|\["[^"]*"\])(?:\.main\.)?)`)

// constraint is what a policy of a template has beside what all have.
type constraint struct{ Constraint }

// compiledTemplate is what the policies of a template have in common.
type compiledTemplate struct {
	path        ast.Ref
	rules       entryRules
	conditioned []conditionedRule
	lines       map[string][]ruleLine
	clock       bool
	validate    *query
}

// newTemplate reads the entry point of a template.
func newTemplate(template *Template) (*compiledTemplate, CompileErrors) {
	t := &compiledTemplate{path: template.Modules[0].Package.Path, lines: map[string][]ruleLine{}}
	for _, module := range template.Modules {
		t.clock = t.clock || len(clockCalls(module)) > 0 // in its own home it needs no leave
		file := module.Package.Location.File
		for _, rule := range module.Rules {
			t.lines[file] = append(t.lines[file], ruleLine{rule.Location.Row, strings.Clone(rule.Head.Ref().String())})
		}
	}
	var errs CompileErrors
	if t.rules, errs = readEntries(template.Modules[:1], violationOf); len(errs) > 0 {
		return nil, errs
	}
	if len(t.rules) == 0 {
		return nil, CompileErrors{errorAt(template.Modules[0].Package.Location, `template %s has no rule violation: write violation[{"msg": msg}] { … }`, template.Name)}
	}
	return t, nil
}

// policies are those that constraints make of a template.
func (t *compiledTemplate) policies(template *Template) (policies []*policy, errs CompileErrors) {
	for _, c := range template.Constraints {
		p := &policy{
			name: c.Name, path: t.path, rules: t.rules, lines: t.lines, validate: t.validate, location: c.Location,
			conditioned:    t.conditioned,
			constraint:     &constraint{c},
			needsNamespace: template.ReadsNamespace,
		}
		p.meta = metadata{title: c.Title, match: &c.Match, enforcement: c.Enforcement, requires: c.Requires, clock: t.clock}
		if err := p.settle(); err != nil {
			errs = append(errs, CompileError{File: c.Location.File, Line: c.Location.Line, Message: err.Error()})
			continue
		}
		policies = append(policies, p)
	}
	return policies, errs
}

func violationOf(rule *ast.Rule) string {
	if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && string(name) == entryViolation {
		return entryViolation
	}
	return ""
}

// constraintMatches says whether a constraint is to be asked; reason is as that of
// matches.
func (p *policy) constraintMatches(s *Snapshot, e *evaluation) (matches bool, reason string) {
	r := e.review
	if r.Operation != "" && !p.matcher.matchesVerb(r) || !p.set.inScope(r) || p.spares(r) {
		return false, ""
	}
	for _, subject := range e.subjects() {
		matches, missing := p.constraint.Matches(subject)
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

// The groups whose objects make up what is in force.
const (
	constraintSuffix = "constraints.gatekeeper.sh"
	templateGroup    = "templates.gatekeeper.sh"
)

// spares says whether a request is one that a constraint judges only where it names the
// group: those that bring policy in force, or take it away, so that no constraint can
// keep its own repair out.
func (p *policy) spares(r *Review) bool {
	group := r.Resource.Group
	switch group {
	case PolicyGroup:
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
	return !p.matcher.match.NamesGroup(group)
}

// readViolation reads a member of violation. One without msg is none, as where the
// template comes from.
func (p *policy) readViolation(value ast.Value, rule ruleInfo) ([]Finding, *Finding) {
	finding := p.finding(entryDeny, rule.location)
	object, ok := value.(ast.Object)
	if !ok || lookup(object, "msg") == nil {
		return nil, nil
	}
	return p.readObject(object, finding)
}

// expandsFrom says whether a policy that judges Pod templates judges those of a kind.
func (p *policy) expandsFrom(workload GroupVersionKind) bool {
	return p.constraint == nil || len(p.constraint.expansionsOf(workload)) > 0
}

func (c *constraint) expansionsOf(workload GroupVersionKind) []Expansion {
	var out []Expansion
	for _, expansion := range c.Expansions {
		if expansion.Kind == workload {
			out = append(out, expansion)
		}
	}
	return out
}

// settleImplied names the expansion by which a constraint judged a template, once for
// each, and gives its findings that expansion's enforcement.
func (p *policy) settleImplied(workload GroupVersionKind, found *Decision) {
	said := *found
	found.Denials, found.Warnings, found.Audits = nil, nil, nil
	for _, expansion := range p.constraint.expansionsOf(workload) {
		implied := func(list []Finding) []Finding {
			out := make([]Finding, 0, len(list))
			for _, finding := range list {
				finding.Words = fmt.Sprintf("[Implied by %s] %s", expansion.Name, finding.Words)
				out = append(out, finding)
			}
			return out
		}
		denials, warnings, audits := implied(said.Denials), implied(said.Warnings), implied(said.Audits)
		switch all := append(append(append([]Finding{}, denials...), warnings...), audits...); expansion.Enforcement {
		case EnforceDeny:
			denials, warnings, audits = all, nil, nil
		case EnforceWarn:
			denials, warnings, audits = nil, all, nil
		case EnforceAudit:
			denials, warnings, audits = nil, nil, all
		}
		found.Denials = append(found.Denials, denials...)
		found.Warnings = append(found.Warnings, warnings...)
		found.Audits = append(found.Audits, audits...)
	}
}

// Subject is an object of a request, as the match of a constraint sees it.
type Subject struct {
	Kind               GroupVersionKind
	Name, GenerateName string
	// Namespace is the one that the object is in: empty for a cluster-scoped object,
	// which a Namespace is.
	Namespace string
	Labels    map[string]string
	// NamespaceLabels are those of its Namespace: nil where that is not at hand.
	NamespaceLabels map[string]string
	// Generated says that the object is what another would create.
	Generated bool
}

// IsNamespace says whether the object is a Namespace.
func (s Subject) IsNamespace() bool { return s.Kind.Group == "" && s.Kind.Kind == "Namespace" }

// subjects are the object and the old object: on DELETE the old one alone.
func (e *evaluation) subjects() []Subject {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ofConstraints != nil {
		return e.ofConstraints
	}
	e.ofConstraints = []Subject{}
	for _, object := range []*lazyObject{e.review.object, e.review.oldObject} {
		if object != nil {
			e.ofConstraints = append(e.ofConstraints, e.subject(object))
		}
	}
	return e.ofConstraints
}

func (e *evaluation) subject(of *lazyObject) Subject {
	object := of.value()
	metadata, _ := lookup(object, "metadata").(ast.Object)
	s := Subject{
		Kind:         objectKind(object, e.review.Kind),
		Name:         text(metadata, "name"),
		GenerateName: text(metadata, "generateName"),
		Namespace:    text(metadata, "namespace"),
		Labels:       of.labelSet(),
		Generated:    e.generated,
	}
	if e.review.Namespace != "" {
		s.Namespace = e.review.Namespace
	}
	if s.IsNamespace() {
		s.Namespace = ""
	} else if e.namespace != nil && s.Namespace != "" {
		s.NamespaceLabels = e.namespace.labelSet()
	}
	return s
}

// objectKind is the kind that an object names, or else that of its request.
func objectKind(object ast.Object, request GroupVersionKind) GroupVersionKind {
	apiVersion, kind := text(object, "apiVersion"), text(object, "kind")
	if kind == "" {
		return request
	}
	return GroupVersionKind{groupOf(apiVersion), apiVersion[strings.LastIndex(apiVersion, "/")+1:], kind}
}

// inputOf is the input of a policy.
func (e *evaluation) inputOf(p *policy) *ast.Term {
	if p.constraint == nil {
		return e.input(p.set)
	}
	return ast.ObjectTerm(
		ast.Item(ast.InternedTerm("review"), e.constraintReview()),
		ast.Item(ast.InternedTerm("parameters"), p.constraint.Parameters),
	)
}

// constraintReview is the AdmissionRequest as templates see it: where an object is
// deleted, it is the object; the Namespace object is in it.
func (e *evaluation) constraintReview() *ast.Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forConstraints != nil {
		return e.forConstraints
	}
	request := e.review.request()
	if e.review.Operation == "DELETE" && e.review.oldObject != nil {
		request = replaceKey(request, "object", ast.NewTerm(e.review.oldObject.value()))
	}
	namespace := ast.InternedNullTerm
	if e.namespace != nil {
		namespace = ast.NewTerm(e.namespace.value())
		request = replaceKey(request, "_unstable", ast.ObjectTerm(ast.Item(ast.StringTerm("namespace"), namespace)))
	}
	request = replaceKey(request, "namespaceObject", namespace)
	e.forConstraints = ast.NewTerm(request)
	return e.forConstraints
}

// dataOf is the data of a policy.
func (e *evaluation) dataOf(p *policy) *dataView {
	if p.constraint == nil {
		return e.data(p.set)
	}
	view := &inventoryView{data: e.options.Cluster, kinds: p.meta.requires}
	if p.set.place != nil && p.set.place.below {
		view.sees = p.set.sees
	}
	return &dataView{inventory: view}
}
