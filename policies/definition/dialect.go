package definition

import (
	"context"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	// EntryViolation is the entry point of a template.
	EntryViolation = "violation"
	// TemplateKey is the key under data of templates and of the data that they read.
	TemplateKey  = "lintel"
	InventoryKey = "inventory"
)

// Dialect reads policies in another form than Lintel's own from the files of a source.
// The same files give the same templates.
type Dialect func(files map[string]string) ([]Template, CompileErrorList)

// Template is Rego that was written for another host, with the policies made from it.
// It is evaluated with OPA's default for the errors of functions (they are undefined),
// reads input.review and input.parameters, and has the entry point violation, a set
// of {msg, details}.
type Template struct {
	Name string
	// Modules are below TemplateRoot(Name); the first has the entry point.
	Modules []*ast.Module
	// Text is equal for templates with equal modules at equal locations, and for no others. A
	// template without Text is compiled again with every change of its source.
	Text        string
	Constraints []Constraint
	// ReadsNamespace reports that the Rego reads the Namespace object in the review.
	ReadsNamespace bool
	// Warnings report likely mistakes.
	Warnings CompileErrorList
	// Mutators, where set, is all that the Template is: it has no Rego.
	Mutators *Mutators
	// Check, where set, is all that the Template is: it has no Rego.
	Check *Check
}

// MutatorsName is the name of the policy that all mutators of a source are.
func MutatorsName(source string) string { return "mutations.gatekeeper.sh/" + source }

// Mutators are the mutators of a source for another host: one policy that changes objects.
type Mutators struct {
	// Location is that of the first mutator.
	Location Location
	// Match is for registration: as wide as all mutators together, or wider.
	Match Match
	// ReadsNamespaceLabels reports that a mutator selects Namespaces by their labels.
	ReadsNamespaceLabels bool
	// Apply changes an object, which has the types of encoding/json with UseNumber, in place. It
	// returns the mutators that were applied: none if the object is unchanged. matched reports
	// that a mutator selects the object.
	Apply func(ctx context.Context, request MutationRequest, object map[string]any) (applied []AppliedMutator, matched bool, err error)
	// MayRead reports whether the result may depend on the value at a path, which consists of
	// names and indices.
	MayRead func(request MutationRequest, path []any) bool
}

// MutationRequest is the part of a request that mutators read.
type MutationRequest struct {
	Kind      admission.GroupVersionKind
	Namespace string
	// Operation is empty for an object without a request.
	Operation string
	// NamespaceLabels are the labels of the object's Namespace: nil if they are not available.
	NamespaceLabels map[string]string
}

// AppliedMutator is a mutator that was applied to an object.
type AppliedMutator struct {
	Name     string
	Location Location
}

// Constraint is one policy made from a template.
type Constraint struct {
	// Name is the name of the policy in messages.
	Name, Title string
	Location    Location
	// Match is for registration: as wide as those of both stages, or wider.
	Match Match
	// Admission is for requests, and Audit for stored objects.
	Admission, Audit Stage
	// Scoped is nil unless the constraint has actions for single enforcement points.
	Scoped *ScopedActions
	// Fingerprint is equal for constraints with the same text, in sources that exclude the same
	// namespaces: it stands for the stages, which cannot be compared.
	Fingerprint string
	// Evaluator evaluates the constraint if its template is not written in Rego.
	Evaluator Evaluator
	// Parameters become input.parameters.
	Parameters *ast.Term
	// Requires are the kinds at data.inventory.
	Requires []admission.GroupVersionKind
	// Expansions are the workloads whose Pod template is evaluated, too.
	Expansions []Expansion
}

// Stage is how a constraint is evaluated for requests, or for stored objects.
type Stage struct {
	// Enforcement is empty if the constraint is not evaluated in this stage.
	Enforcement Enforcement
	// Matches reports whether the constraint matches a request, by its object and old object.
	// missing names the data that is needed to decide this; it is empty if nothing is missing.
	Matches func(Subject) (matches bool, missing string)
}

// ScopedActions are the actions of a constraint for enforcement points.
type ScopedActions struct {
	Location Location
	// Audit are the actions of audit, in Gatekeeper's words.
	Audit []string
}

// Expansion selects a kind of workload whose Pod template is evaluated.
type Expansion struct {
	Name        string
	Kind        admission.GroupVersionKind
	Enforcement Enforcement // of the constraint, where empty
}

// TemplateRoot is the path under which the packages of a template are.
func TemplateRoot(template string) ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm(TemplateKey), ast.StringTerm("template"), ast.StringTerm(template)}
}

// InventoryRoot is the path of the cluster's objects for templates, by
// cluster[apiVersion][kind][name] and namespace[namespace][apiVersion][kind][name].
func InventoryRoot() ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm(TemplateKey), ast.StringTerm(InventoryKey)}
}

// Readable replaces internal names in a template by the author's names.
func Readable(text string) string {
	return templateNames.ReplaceAllStringFunc(text, func(name string) string {
		switch {
		case strings.HasSuffix(name, ".main."):
			return ""
		case strings.HasSuffix(name, "."+InventoryKey):
			return "data." + InventoryKey
		default:
			return "data"
		}
	})
}

var templateNames = regexp.MustCompile(`data\.lintel\.(?:inventory|template(?:\.\w+|\["[^"]*"\])(?:\.main\.)?)`)

// ViolationOf is the entry point of a template that a rule defines: empty for other rules.
func ViolationOf(rule *ast.Rule) string {
	if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && string(name) == EntryViolation {
		return EntryViolation
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
	// NamespaceLabels are the labels of the object's Namespace: nil if they are not available.
	NamespaceLabels map[string]string
	// Generated reports that the object is an expansion of another object.
	Generated bool
}

// IsNamespace reports whether the object is a Namespace.
func (s Subject) IsNamespace() bool { return s.Kind.Group == "" && s.Kind.Kind == "Namespace" }
