package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// ReservedKeys are the keys under data that Lintel fills itself.
var ReservedKeys = []string{ClusterKey, ExternalKey, TemplateKey}

// CheckPackages returns errors for packages below the paths that Lintel fills itself.
func CheckPackages(modules []*ast.Module) CompileErrorList {
	var errs CompileErrorList
	for _, module := range modules {
		for _, key := range ReservedKeys {
			if path := module.Package.Path; len(path) > 1 && path[1].Equal(ast.InternedTerm(key)) {
				errs = append(errs, ErrorAt(module.Package.Location, "packages under data.%s are reserved; rename the package", key))
			}
		}
	}
	return errs
}

// ClusterKey is the key of cluster objects under data, and ExternalKey that of the data of
// DataSources.
const (
	ClusterKey  = "cluster"
	ExternalKey = "external"
)

// The entry points that a policy may have. Nothing else is read.
const (
	EntryDeny     = "deny"
	EntryWarn     = "warn"
	EntryPatch    = "patch"
	EntryDefaults = "defaults"
)

// RuleList contains the rules of the entry points of one package, in the order of their files.
type RuleList []Rule

// Rule describes a rule for messages.
type Rule struct {
	Entry    string
	Location Location
	// FromSet reports that the rule's value is an element of a set: it fires even if it is the
	// empty string, because the set is not empty.
	FromSet bool
}

// At is the rule that gave a value: the last that begins at or before its line.
func (rules RuleList) At(entry string, place *ast.Location) Rule {
	found := Rule{Entry: entry}
	for _, rule := range rules {
		if rule.Entry == entry && rule.Location.File == place.File && (rule.Location.Line <= place.Row || found.Location.File == "") {
			found = rule
		}
	}
	return found
}

// Compare orders rules by file and line.
func (r Rule) Compare(other Rule) int {
	return cmp.Or(strings.Compare(r.Location.File, other.Location.File), cmp.Compare(r.Location.Line, other.Location.Line))
}

// EntryOf is the entry point that a rule defines: empty for other rules.
func EntryOf(rule *ast.Rule) string {
	name, ok := rule.Head.Ref()[0].Value.(ast.Var)
	if !ok {
		return ""
	}
	switch string(name) {
	case EntryDeny, EntryWarn, EntryPatch, EntryDefaults:
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
	case entry == EntryDefaults:
		if partialSet {
			return fmt.Errorf("defaults is a set here; it must be an object: write `defaults := {…}` or `defaults.spec.field := value`")
		}
	case entry == EntryViolation && !partialSet:
		return fmt.Errorf("violation must be a set of objects: write `violation[{\"msg\": msg}] { … }`, or in Rego v1 `violation contains {\"msg\": msg} if { … }`")
	case entry == EntryPatch && !partialSet:
		return fmt.Errorf("patch must be a set: write `patch contains op if { … }` or `patch contains [op, …] if { … }`")
	case len(rule.Head.Ref()) > 1:
		return fmt.Errorf("%s must be a set of messages: write `%s contains msg if { … }`", entry, entry)
	}
	return nil
}

// ReadEntries finds the rules of the entry points of one package, in all its modules. Defaults
// of parts of one object, which may be many rules, are represented by a single rule.
func ReadEntries(modules []*ast.Module, entryOf func(*ast.Rule) string) (RuleList, CompileErrorList) {
	var found RuleList
	var errs CompileErrorList
	hasDefaults := false
	for _, module := range modules {
		for _, rule := range module.Rules {
			if name, ok := rule.Head.Ref()[0].Value.(ast.Var); ok && strings.HasPrefix(string(name), bounds.ReservedPrefix) {
				errs = append(errs, ErrorAt(rule.Location, "rule names that start with %s are reserved", bounds.ReservedPrefix))
			}
			entry := entryOf(rule)
			if entry == "" {
				continue
			}
			if err := checkEntry(entry, rule); err != nil {
				errs = append(errs, ErrorAt(rule.Location, "%v", err))
				continue
			}
			hasDefaults = hasDefaults || entry == EntryDefaults
			if entry == EntryViolation {
				entry = EntryDeny // as findings call it
			}
			for branch := rule; branch != nil; branch = branch.Else {
				found = append(found, Rule{entry, LocationOf(branch.Location), branch.Head.RuleKind() == ast.MultiValue})
			}
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if hasDefaults {
		addRule(modules[0], mustRule("%s%s := x if x := %s.%s", bounds.ReservedPrefix, EntryDefaults, modules[0].Package.Path, EntryDefaults))
	}
	slices.SortStableFunc(found, Rule.Compare)
	return found, nil
}

func addRule(module *ast.Module, rule *ast.Rule) {
	rule.Module = module
	module.Rules = append(module.Rules, rule)
}

func mustRule(format string, args ...any) *ast.Rule {
	return ast.MustParseModuleWithOpts("package generated\n"+fmt.Sprintf(format, args...), sandbox.ParserOptions(ast.RegoV1)).Rules[0]
}

// EntryPoints are the rules of a policy that are evaluated; all others are helpers.
var EntryPoints = []string{EntryDeny, EntryWarn, EntryPatch, EntryDefaults}
