package sidecar

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/lintel-policy/lintel/policies/bounds"
)

//go:embed meet.rego
var meetModule string

// Composable is the policy for Compose alone, without what analysis wants: it takes no
// more memory than its text.
func (p *Policy) Composable() *Policy {
	return &Policy{Source: p.Source, Decisions: p.Decisions, Effort: p.Effort, hidden: p.hidden, Path: p.Path, isolated: p.isolated, forms: p.forms}
}

// Compose joins the policies of all domains. It returns the files of a Rego v1 bundle, which
// evaluates the meet of all policies at the packages of their domains. Each policy gets a
// package of its own below data.lintel.policies, where no other policy can refer to it. The same
// policies give the same files in any order; their names must be unique within a domain. The
// error is ParseErrors.
func Compose(policies []*Policy) (map[string]string, error) {
	files := map[string]string{"lintel/meet.rego": meetModule}
	for _, chain := range chains(policies) {
		domain := chain[0].Domain
		for _, p := range chain {
			path := fmt.Sprintf("lintel/policies/%s/%s/%s.rego", domain.Name, p.Level, p.Name)
			if files[path] != "" {
				return nil, ParseErrors{p.errorAt(nil, "two policies of scope %s and domain %q have this name; rename one", p.Level, domain.Name)}
			}
			files[path] = p.isolated
		}
		for path, text := range map[string]string{"lintel/stated/": stated(chain), "lintel/answers/": answerRules(chain)} {
			formatted, err := format.SourceWithOpts(domain.Name, []byte(text), format.Opts{RegoVersion: ast.RegoV1})
			if err != nil {
				return nil, ParseErrors{{File: domain.Name, Message: err.Error()}}
			}
			files[path+domain.Name+".rego"] = string(formatted)
		}
		for _, alias := range domain.Packages[1:] {
			files["lintel/answers/"+alias+".rego"] = aliased(alias, domain.Packages[0], decisionsOf(chain))
		}
	}
	return files, check(bounds.OfSources, files)
}

// check compiles the composed files with the gateway's capabilities.
func check(limits bounds.Limits, files map[string]string) error {
	modules := map[string]*ast.Module{}
	for name, text := range files {
		module, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: gatewayCapabilities()})
		if err != nil {
			return (&Policy{Source: Source{Name: name}}).parseErrors(err)
		}
		modules[name] = module
	}
	if _, errs := compile(limits, &bounds.Work{}, modules); len(errs) > 0 {
		return (&Policy{Source: Source{Name: "composed"}}).compileErrors(errs)
	}
	return nil
}

// chains sorts policies by domain, and each domain's broadest first.
func chains(policies []*Policy) map[string][]*Policy {
	chains := map[string][]*Policy{}
	for _, p := range policies {
		chains[p.Domain.Name] = append(chains[p.Domain.Name], p)
	}
	for _, chain := range chains {
		slices.SortFunc(chain, func(a, b *Policy) int {
			if a.Level != b.Level {
				return a.Level.Rank() - b.Level.Rank()
			}
			return strings.Compare(a.Name, b.Name)
		})
	}
	return chains
}

// root is the package of the policy in a composed bundle.
func (p *Policy) root() ast.Ref {
	return ast.Ref{
		ast.DefaultRootDocument,
		ast.StringTerm("lintel"), ast.StringTerm("policies"), ast.StringTerm(p.Domain.Name),
		ast.StringTerm(string(p.Level)), ast.StringTerm(p.Name),
	}
}

// reference returns root as text: ast.Ref does not escape strings when printed.
func (p *Policy) reference() string {
	return fmt.Sprintf("data.lintel.policies[%s][%s][%s]", asJSON(p.Domain.Name), asJSON(p.Level), asJSON(p.Name))
}

// isolate writes the policy as Rego v1 in its own package. It changes the module.
func (p *Policy) isolate(parsed *ast.Module) (string, error) {
	own, root := p.Path, p.root()
	moved, err := ast.TransformRefs(parsed, func(ref ast.Ref) (ast.Value, error) {
		if ref.HasPrefix(own) {
			return append(root.Copy(), ref[len(own):]...), nil
		}
		return ref, nil
	})
	if err != nil {
		return "", ParseErrors{p.errorAt(nil, "%v", err)}
	}
	module := moved.(*ast.Module)
	module.Package.Path = root
	module.Comments, module.Annotations = nil, nil
	ast.WalkRules(module, func(rule *ast.Rule) bool {
		// In braces, since the gateways' OPA cannot read a set after "if not".
		if len(rule.Body) == 1 && rule.Body[0].Negated {
			rule.Body = append(rule.Body, ast.NewExpr(ast.BooleanTerm(true)))
		}
		return false
	})
	text, err := format.AstWithOpts(module, format.Opts{RegoVersion: ast.RegoV1, IgnoreLocations: true})
	if err != nil {
		return "", ParseErrors{p.errorAt(nil, "writing it as Rego v1: %v", err)}
	}
	return string(text), check(policyBounds, map[string]string{p.Name: string(text)})
}

func decisionsOf(chain []*Policy) []string {
	var all []string
	for _, p := range chain {
		all = append(all, p.Decisions...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stated is the module that gathers what the policies of a chain say, by decision.
func stated(chain []*Policy) string {
	var text strings.Builder
	fmt.Fprintf(&text, "package lintel.stated[%q]\n", chain[0].Domain.Name)
	for _, p := range chain {
		for _, decision := range p.Decisions {
			fmt.Fprintf(&text, "\n%s contains {\"level\": %d, \"policy\": %s, \"value\": %s[%q]}\n",
				decision, p.Level.Rank(), asJSON(p.Name), p.reference(), decision)
		}
	}
	return text.String()
}

// answerRules is the module that answers for a chain.
func answerRules(chain []*Policy) string {
	var text strings.Builder
	// Without imports: a policy may have a rule of any name.
	fmt.Fprintf(&text, "package %s\n", chain[0].Domain.Packages[0])
	for _, decision := range decisionsOf(chain) {
		definers := slices.DeleteFunc(slices.Clone(chain), func(p *Policy) bool { return !p.Defines(decision) })
		text.WriteString("\n" + answer(decision, chain, definers))
	}
	return text.String()
}

// answer is the rule for one decision. definers are the policies that have it.
func answer(decision string, chain, definers []*Policy) string {
	values := statements(chain, decision)
	root := definers[0].Level
	call := func(function string, more ...any) string {
		args := fmt.Sprintf("%s, %d", values, root.Rank())
		for _, arg := range more {
			args += ", " + asJSON(arg)
		}
		return fmt.Sprintf("%s := data.lintel.meet.%s(%s)\n", decision, function, args)
	}
	switch OrderAmong(decision, definers) {
	case Grant:
		rule := fmt.Sprintf("default %s := false\n", decision)
		if root == chain[0].Level {
			rule += fmt.Sprintf("\n%s if data.lintel.meet.granted(%s, %d, %s)\n", decision, values, len(definers), denials(decision, chain))
		}
		return rule
	case Word:
		return call("strictest", Ranks(decision))
	case Ceiling:
		return call("smallest")
	case Floor:
		return call("largest")
	case Subset:
		return call("common")
	case United:
		return unitedRule(decision, values, definers)
	default:
		return call("broadest")
	}
}

// unitedRule returns the rule for a decision that collects values. Its type is that of the broadest
// scope that defines it, as far as the text shows: narrower scopes do not change it.
func unitedRule(decision, values string, definers []*Policy) string {
	isDenial := decision == "deny" || strings.HasPrefix(decision, "deny_")
	word, nothing := "required", ""
	if isDenial {
		word, nothing = "denied", "false"
	}
	rule := fmt.Sprintf("data.lintel.meet.verdict(%s, %d, %q)", values, definers[0].Level.Rank(), word)
	switch broadest := atBroadest(definers); {
	case allOf(boolean, broadest, decision):
		rule = fmt.Sprintf("data.lintel.meet.flag(%s)", values)
	case allOf(set, broadest, decision), allOf(array, broadest, decision):
		rule = fmt.Sprintf("data.lintel.meet.listing(%s, %q)", values, word)
		if isDenial {
			nothing = "set()"
		}
	}
	text := fmt.Sprintf("%s := %s\n", decision, rule)
	if nothing != "" {
		text = fmt.Sprintf("default %s := %s\n\n", decision, nothing) + text
	}
	return text
}

// denials is the union of the statements whose firing takes a grant back.
func denials(grant string, chain []*Policy) string {
	var sets []string
	for _, decision := range []string{"deny", "deny" + strings.TrimPrefix(grant, "allow")} {
		if slices.Contains(decisionsOf(chain), decision) && !slices.Contains(sets, statements(chain, decision)) {
			sets = append(sets, statements(chain, decision))
		}
	}
	if len(sets) == 0 {
		return "set()"
	}
	return strings.Join(sets, " | ")
}

func statements(chain []*Policy, decision string) string {
	return fmt.Sprintf("data.lintel.stated[%q][%q]", chain[0].Domain.Name, decision)
}

// aliased returns rules that copy decisions from package usual to package alias.
func aliased(alias, usual string, decisions []string) string {
	text := "package " + alias + "\n"
	for _, decision := range decisions {
		text += fmt.Sprintf("\n%s := data.%s.%s\n", decision, usual, decision)
	}
	return text
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // maps of strings to numbers
	}
	return string(text)
}

// perDecision is an upper bound, in bytes and without names, for the text that Compose generates
// for one decision of one policy.
const perDecision = 700

// Size is the number of bytes that the policy adds to SignedSize of a composition, at most.
func (p *Policy) Size() int {
	named := len(p.Name) + len(p.Domain.Name)
	// Its own file, and as the first one of its domain the generated files.
	files := 3 + len(p.Domain.Packages)
	size := len(p.isolated) + 2*named + perDecision + files*fileOverhead
	for _, decision := range p.Decisions {
		size += 6*len(decision) + 2*named + perDecision
	}
	return size
}
