package policyset

import (
	"cmp"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/inert"
)

// NotAuditable explains why a rule cannot be evaluated for an object that is stored already: it
// depends on a part of the request that a stored object does not have.
type NotAuditable struct {
	// Rule is the location of the rule of an entry point; zero for the whole policy.
	Rule definition.Location
	// Location and Path are the reference that the rule depends on, such as
	// input.request.oldObject.
	Location definition.Location
	Path     string
}

// String returns the reference: file:line and the path.
func (n NotAuditable) String() string { return fmt.Sprintf("%s: %s", n.Location, n.Path) }

// IsWhole reports whether no rule of the policy can be evaluated for stored objects.
func (n NotAuditable) IsWhole() bool { return n.Rule == definition.Location{} }

// onlyInRequests are the fields of a request that a stored object does not have, by whether
// their names alone are evidence: wherever a rule names one, the request is at hand. oldObject is
// not one of them: it is null, as on CREATE.
var onlyInRequests = map[string]bool{"userInfo": true, "options": false, "dryRun": false}

// examineForAudit finds what the rules of deny, warn and violation read of a request that a
// stored object does not have.
func (d *draft) examineForAudit(compiler *ast.Compiler) {
	if d.dependencyOnly || d.policy == nil && d.entry == nil {
		return
	}
	root, names, isEntry := "request", d.names, func(rule *ast.Rule) bool {
		entry := definition.EntryOf(rule)
		return entry == definition.EntryDeny || entry == definition.EntryWarn
	}
	if d.entry != nil { // the entry point is in the first module
		root, names = "review", d.names[:1]
		isEntry = func(rule *ast.Rule) bool { return definition.ViolationOf(rule) != "" }
	}
	var found []NotAuditable
	var user *NotAuditable
	for _, name := range names {
		for _, rule := range compiler.Modules[name].Rules {
			if !isEntry(rule) {
				continue
			}
			one, ok, reads := readsRequest(rule, root, compiler)
			if ok {
				one.Rule = definition.LocationOf(rule.Location)
				found = append(found, one)
			}
			if user == nil {
				user = reads
			}
		}
	}
	if d.entry != nil {
		d.entry.requestReads, d.entry.userRead = found, user
	} else {
		d.policy.RequestReads, d.policy.UserRead = found, user
	}
}

// readsRequest returns the first reference by which a rule, or one that it comes to, depends on
// the request. root is the name of the request below input. user is the first reference to the user,
// nil if there is none.
func readsRequest(entry *ast.Rule, root string, compiler *ast.Compiler) (found NotAuditable, ok bool, user *NotAuditable) {
	userPath := "input." + root + ".userInfo"
	add := func(location *ast.Location, path string) {
		one := NotAuditable{Location: definition.LocationOf(location), Path: path}
		if path == userPath && (user == nil || one.compare(*user) < 0) {
			user = &one
		}
		if !ok || one.compare(found) < 0 {
			found, ok = one, true
		}
	}
	for rule := range ReachableRules([]*ast.Rule{entry}, compiler.Graph) {
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			if field := requestField(ref, root); field != "" {
				add(ref[0].Location, "input."+root+field)
			}
			return false
		})
		ast.WalkTerms(rule, func(term *ast.Term) bool {
			if text, isText := term.Value.(ast.String); isText && onlyInRequests[string(text)] && term.Location != nil {
				add(term.Location, "input."+root+"."+string(text))
			}
			return false
		})
	}
	if at, path, never := inert.NeverOn(entry, "CREATE", compiler); never {
		return NotAuditable{Location: definition.Location{File: at.File, Line: at.Line}, Path: path}, true, user
	}
	return found, ok, user
}

// requestField returns the field that a reference reads of the request, if a stored object does
// not have it. A field whose name is computed may be any of them.
func requestField(ref ast.Ref, root string) string {
	if len(ref) < 3 || !ref[0].Equal(ast.InputRootDocument) || !ref[1].Equal(ast.StringTerm(root)) {
		return ""
	}
	name, constant := ref[2].Value.(ast.String)
	if !constant {
		return "[_]"
	}
	if _, only := onlyInRequests[string(name)]; only {
		return "." + string(name)
	}
	return ""
}

func (n NotAuditable) compare(other NotAuditable) int {
	return cmp.Or(cmp.Compare(n.Location.File, other.Location.File), cmp.Compare(n.Location.Line, other.Location.Line), cmp.Compare(n.Path, other.Path))
}
