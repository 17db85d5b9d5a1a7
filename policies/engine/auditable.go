package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
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

// onlyInRequests are the fields of a request that a stored object does not have, by whether
// their names alone are evidence: wherever a rule names one, the request is at hand.
var onlyInRequests = map[string]bool{"oldObject": true, "userInfo": true, "options": false, "dryRun": false}

// notAuditable returns why rules of the policy cannot be evaluated for stored objects: first
// what holds for all of them.
func (p *compiledPolicy) notAuditable() []NotAuditable {
	operations := p.matcher.Match.Operations
	if len(operations) == 0 || slices.Contains(operations, "CREATE") {
		return p.requestReads
	}
	place := p.location
	path := "custom.match.operations"
	if p.form.foreign() {
		path = "spec.targets[0].operations"
	} else {
		place = definition.LineInMetadata(p.set.Files(), p.location, "operations")
	}
	return append([]NotAuditable{{Location: place, Path: path}}, p.requestReads...)
}

// examineForAudit finds what the rules of deny, warn and violation read of a request that a
// stored object does not have.
func (d *draft) examineForAudit(compiler *ast.Compiler) {
	if d.support || d.policy == nil && d.compiled == nil {
		return
	}
	root, names, isEntry := "request", d.names, func(rule *ast.Rule) bool {
		entry := definition.EntryOf(rule)
		return entry == definition.EntryDeny || entry == definition.EntryWarn
	}
	if d.compiled != nil { // the entry point is in the first module
		root, names = "review", d.names[:1]
		isEntry = func(rule *ast.Rule) bool { return definition.ViolationOf(rule) != "" }
	}
	var found []NotAuditable
	for _, name := range names {
		for _, rule := range compiler.Modules[name].Rules {
			if !isEntry(rule) {
				continue
			}
			if one, ok := readsRequest(rule, root, compiler); ok {
				one.Rule = definition.LocationOf(rule.Location)
				found = append(found, one)
			}
		}
	}
	if d.compiled != nil {
		d.compiled.requestReads = found
	} else {
		d.policy.requestReads = found
	}
}

// readsRequest returns the first reference by which a rule, or one that it comes to, depends on
// the request. root is the name of the request below input.
func readsRequest(entry *ast.Rule, root string, compiler *ast.Compiler) (found NotAuditable, ok bool) {
	if at, path, never := inert.NeverOn(entry, "CREATE", compiler); never {
		return NotAuditable{Location: definition.Location{File: at.File, Line: at.Line}, Path: path}, true
	}
	add := func(location *ast.Location, path string) {
		one := NotAuditable{Location: definition.LocationOf(location), Path: path}
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
	return found, ok
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

// IsWhole reports whether no rule of the policy can be evaluated for stored objects.
func (n NotAuditable) IsWhole() bool { return n.Rule == definition.Location{} }

// auditable reports whether the policy has rules that are evaluated for stored objects.
func (p *compiledPolicy) auditable() bool {
	none := p.notAuditable()
	return p.validate != nil && (len(none) == 0 || !none[0].IsWhole())
}

// Audits lists the policies that are evaluated for stored objects of a kind, also those that
// are evaluated for the Pod template in them. Their match may still leave each object out.
func (s *Snapshot) Audits(kind admission.GroupVersionKind) []PolicyInfo {
	return infosOf(s.audits(kind))
}

func (s *Snapshot) audits(kind admission.GroupVersionKind) (found []*compiledPolicy) {
	_, isWorkload := admission.PodTemplatePath(kind)
	for _, p := range s.policies {
		named := p.matcher.NamesKind(kind)
		expanded := isWorkload && p.matcher.Expands() && p.form.expandsFrom(kind)
		if (named || expanded) && p.auditable() {
			found = append(found, p)
		}
	}
	return found
}

// AuditsAlike reports whether both snapshots give the same findings for stored objects of a
// kind, apart from the revision. The snapshot before may be nil.
func (s *Snapshot) AuditsAlike(before *Snapshot, kind admission.GroupVersionKind) bool {
	if before == nil {
		return false
	}
	return slices.EqualFunc(s.audits(kind), before.audits(kind), (*compiledPolicy).alike)
}

// alike compares what decides the findings of a policy. Units are shared by the revisions of a
// source as long as neither they nor what they depend on has changed.
func (p *compiledPolicy) alike(other *compiledPolicy) bool {
	if p.name != other.name || p.validate != other.validate || p.location != other.location || p.meta.Enforcement != other.meta.Enforcement {
		return false
	}
	settings := func(pinned definition.Pinned) string {
		pinned.Revision = ""
		return pinned.Settings()
	}
	set, otherSet := p.set, other.set
	if set.dataSum != otherSet.dataSum || settings(set.source) != settings(otherSet.source) ||
		!reflect.DeepEqual(set.place, otherSet.place) || !reflect.DeepEqual(p.matcher.Match, other.matcher.Match) {
		return false
	}
	mine, isConstraint := p.form.(*constraint)
	others, otherIs := other.form.(*constraint)
	if !isConstraint || !otherIs {
		return isConstraint == otherIs
	}
	return mine.Fingerprint == others.Fingerprint && slices.Equal(mine.Expansions, others.Expansions)
}

// ShortWords are the words as they begin Text.
func (f Finding) ShortWords() string { return cut(f.Words, MaxWordsBytes) }
