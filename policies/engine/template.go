package engine

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
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
	Requires []admission.GroupVersionKind
	// Expansions are the workloads whose Pod template is judged, too.
	Expansions []Expansion
}

// Expansion has the Pod template of a kind of workload judged.
type Expansion struct {
	Name        string
	Kind        admission.GroupVersionKind
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
			form:           &constraint{c},
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

// Subject is an object of a request, as the match of a constraint sees it.
type Subject struct {
	Kind               admission.GroupVersionKind
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
