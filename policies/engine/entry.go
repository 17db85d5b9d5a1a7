package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// The entry points that a policy may have. Nothing else is read.
const (
	entryDeny     = "deny"
	entryWarn     = "warn"
	entryPatch    = "patch"
	entryDefaults = "defaults"
)

// entryRules are the rules of the entry points of one package, in the order in which they
// stand in their files.
type entryRules []ruleInfo

// ruleInfo is what a message says about a rule.
type ruleInfo struct {
	entry    string
	location Location
	// member says that the rule's value is one of a set's: there it fires even when
	// it is the empty string, because the set is not empty.
	member bool
}

// at is the rule that gave a value: the last that begins at or before its line.
func (rules entryRules) at(entry string, place *ast.Location) ruleInfo {
	found := ruleInfo{entry: entry}
	for _, rule := range rules {
		if rule.entry == entry && rule.location.File == place.File && (rule.location.Line <= place.Row || found.location.File == "") {
			found = rule
		}
	}
	return found
}

// saying is a value that a rule gave.
type saying struct {
	value *ast.Term
	rule  ruleInfo
}

// sayings are the values of an entry point in their order, those of equal ones in the order of
// the rules; what a rule gives several times is there once.
func (p *policy) sayings(entry string, given []eval.Given) []saying {
	out := make([]saying, len(given))
	for i, one := range given {
		out[i] = saying{one.Value, p.rules.at(entry, one.At)}
	}
	slices.SortStableFunc(out, func(a, b saying) int {
		return cmp.Or(a.value.Value.Compare(b.value.Value), a.rule.compare(b.rule))
	})
	return slices.CompactFunc(out, func(a, b saying) bool { return a.rule == b.rule && a.value.Equal(b.value) })
}

func (r ruleInfo) compare(other ruleInfo) int {
	return cmp.Or(strings.Compare(r.location.File, other.location.File), cmp.Compare(r.location.Line, other.location.Line))
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

// readEntries finds the rules of the entry points of one package, spread over its modules.
// defaults, which may be many rules, of parts of one object, get one that stands for all.
func readEntries(modules []*ast.Module, entryOf func(*ast.Rule) string) (entryRules, CompileErrors) {
	var found entryRules
	var errs CompileErrors
	hasDefaults := false
	for _, module := range modules {
		for _, rule := range module.Rules {
			if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && strings.HasPrefix(string(name), bounds.ReservedPrefix) {
				errs = append(errs, errorAt(rule.Location, "rule names that start with %s are reserved", bounds.ReservedPrefix))
			}
			entry := entryOf(rule)
			if entry == "" {
				continue
			}
			if err := checkEntry(entry, rule); err != nil {
				errs = append(errs, errorAt(rule.Location, "%v", err))
				continue
			}
			hasDefaults = hasDefaults || entry == entryDefaults
			if entry == entryViolation {
				entry = entryDeny // as findings call it
			}
			for branch := rule; branch != nil; branch = branch.Else {
				found = append(found, ruleInfo{entry, locationOf(branch.Location), branch.Head.RuleKind() == ast.MultiValue})
			}
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if hasDefaults {
		addRule(modules[0], mustRule("%s%s := x if x := %s.%s", bounds.ReservedPrefix, entryDefaults, modules[0].Package.Path, entryDefaults))
	}
	slices.SortStableFunc(found, ruleInfo.compare)
	return found, nil
}

func addRule(module *ast.Module, rule *ast.Rule) {
	rule.Module = module
	module.Rules = append(module.Rules, rule)
}

func mustRule(format string, args ...any) *ast.Rule {
	return ast.MustParseModuleWithOpts("package generated\n"+fmt.Sprintf(format, args...), sandbox.ParserOptions(ast.RegoV1)).Rules[0]
}
