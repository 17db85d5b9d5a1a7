package engine

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The entry points that a policy may have. Nothing else is read.
const (
	entryDeny     = "deny"
	entryWarn     = "warn"
	entryPatch    = "patch"
	entryDefaults = "defaults"
)

// twinPrefix starts the names of generated rules, and is refused in source.
const twinPrefix = "lintel__"

// OPA does not say which rule produced a value. So each rule of an entry point
// gets a twin that yields [value, id of the rule], in the partial set
// lintel__<entry>, and that set is what is queried. Rules that are no partial sets
// get a twin under a name of their own, gathered into the set: two of them may
// hold at once without the conflict that their differing ids would cause.
type twins struct {
	// entryOf is the entry point that a rule defines: empty for other rules.
	entryOf  func(*ast.Rule) string
	rules    []ruleInfo // by id
	complete map[string][]string
	defaults map[string]*ast.Rule
}

// ruleInfo is what a message says about a rule.
type ruleInfo struct {
	entry    string
	location Location
	// member says that the rule's value is one of a set's: there it fires even when
	// it is the empty string, because the set is not empty.
	member bool
}

// entryOf is the entry point that a rule defines: empty for other rules.
func entryOf(rule *ast.Rule) string {
	name, ok := rule.Head.Ref()[0].Value.(ast.Var)
	if !ok {
		return ""
	}
	switch string(name) {
	case entryDeny, entryWarn, entryPatch, entryDefaults:
		return string(name)
	}
	return ""
}

// checkEntry refuses the shapes of entry points that would be silently unread.
func checkEntry(entry string, rule *ast.Rule) error {
	partialSet := rule.Head.RuleKind() == ast.MultiValue && len(rule.Head.Ref()) == 1
	switch {
	case len(rule.Head.Args) > 0:
		return fmt.Errorf("%s is a function here; an entry point takes no arguments: read input instead, or rename it", entry)
	case entry == entryDefaults:
		if partialSet {
			return fmt.Errorf("defaults is a set here; it must be an object: write `defaults := {…}` or `defaults.spec.field := value`")
		}
	case entry == entryViolation && !partialSet:
		return fmt.Errorf("violation must be a set of objects: write `violation[{\"msg\": msg}] { … }`, or in Rego v1 `violation contains {\"msg\": msg} if { … }`")
	case entry == entryPatch && !partialSet:
		return fmt.Errorf("patch must be a set: write `patch contains op if { … }` or `patch contains [op, …] if { … }`")
	case len(rule.Head.Ref()) > 1:
		return fmt.Errorf("%s must be a set of messages: write `%s contains msg if { … }`", entry, entry)
	}
	return nil
}

// addTwins adds the twins of all rules of one package, spread over its modules.
func addTwins(modules []*ast.Module, entryOf func(*ast.Rule) string) (*twins, CompileErrors) {
	t := &twins{entryOf: entryOf, complete: map[string][]string{}, defaults: map[string]*ast.Rule{}}
	var errs CompileErrors
	entries := map[string]bool{}
	for _, module := range modules {
		var added []*ast.Rule
		for _, rule := range module.Rules {
			if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && strings.HasPrefix(string(name), twinPrefix) {
				errs = append(errs, errorAt(rule.Location, "rule names that start with %s are reserved", twinPrefix))
			}
			entry := entryOf(rule)
			if entry == "" {
				continue
			}
			if err := checkEntry(entry, rule); err != nil {
				errs = append(errs, errorAt(rule.Location, "%v", err))
				continue
			}
			entries[entry] = true
			switch {
			case entry == entryDefaults:
				t.identify(rule) // OPA combines its rules into one object; no twin can
			case rule.Default:
				t.defaults[entry] = rule
			default:
				added = append(added, t.twin(rule))
			}
		}
		appendRules(module, added)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	for entry := range entries {
		appendRules(modules[0], t.gather(entry))
	}
	if entries[entryDefaults] { // they may be many rules, of parts of them
		appendRules(modules[0], []*ast.Rule{mustRule("%s%s := x if x := %s.%s", twinPrefix, entryDefaults, modules[0].Package.Path, entryDefaults)})
	}
	return t, nil
}

// identify gives a rule its id.
func (t *twins) identify(rule *ast.Rule) int {
	t.rules = append(t.rules, ruleInfo{
		entry:    t.entryOf(rule),
		location: locationOf(rule.Location),
		member:   rule.Head.RuleKind() == ast.MultiValue,
	})
	return len(t.rules) - 1
}

func (t *twins) twin(rule *ast.Rule) *ast.Rule {
	entry := t.entryOf(rule)
	twin := rule.Copy()
	id := t.identify(rule)
	if rule.Head.RuleKind() == ast.MultiValue {
		rename(twin.Head, twinPrefix+entry)
		twin.Head.Key = tagged(twin.Head.Key, id)
		return twin
	}
	name := fmt.Sprintf("%s%s_%d", twinPrefix, entry, id)
	t.complete[entry] = append(t.complete[entry], name)
	for branch := twin; branch != nil; branch = branch.Else {
		rename(branch.Head, name)
		branch.Head.Value = tagged(branch.Head.Value, id)
		if branch.Else != nil {
			id = t.identify(branch.Else)
		}
	}
	return twin
}

// gather makes the rules of the set lintel__<entry> that stand for the complete
// rules and for the default, which holds where none of them does.
func (t *twins) gather(entry string) []*ast.Rule {
	var rules []*ast.Rule
	var none []string
	for _, name := range t.complete[entry] {
		rules = append(rules, mustRule("%s%s contains x if x := %s", twinPrefix, entry, name))
		none = append(none, "not "+name)
	}
	if fallback := t.defaults[entry]; fallback != nil {
		rule := mustRule("%s%s contains x if { %s }", twinPrefix, entry, strings.Join(append(none, "true"), "; "))
		rule.Head.Key = tagged(fallback.Head.Value, t.identify(fallback))
		rules = append(rules, rule)
	}
	return rules
}

func tagged(value *ast.Term, id int) *ast.Term {
	return ast.ArrayTerm(value, ast.IntNumberTerm(id)).SetLocation(value.Location)
}

func rename(head *ast.Head, name string) {
	head.Name = ast.Var(name)
	head.SetRef(ast.Ref{ast.VarTerm(name).SetLocation(head.Location)})
}

func appendRules(module *ast.Module, rules []*ast.Rule) {
	for _, rule := range rules {
		for branch := rule; branch != nil; branch = branch.Else {
			branch.Module = module
		}
	}
	module.Rules = append(module.Rules, rules...)
}

func mustRule(format string, args ...any) *ast.Rule {
	return ast.MustParseModuleWithOpts("package generated\n"+fmt.Sprintf(format, args...), parserOptions(ast.RegoV1)).Rules[0]
}
