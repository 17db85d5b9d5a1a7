package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/inert"
)

// Source is what the set was compiled from; not to be changed.
func (s *PolicySet) Source() definition.Source { return s.source.Source }

// Describe lists the policies of the set by package.
func (s *PolicySet) Describe() []PolicyInfo { return infosOf(s.policies) }

// UndefinedData are the paths under data that the rules read and that neither a package nor a
// data file of the source defines, as far as they are constant: a.b for data.a.b[x].
// What Lintel fills itself is left out.
func (s *PolicySet) UndefinedData() []string {
	packages := map[string]bool{}
	for _, u := range s.units {
		for _, path := range u.Packages {
			packages[pathKey(path)] = true
		}
	}
	found := map[string]bool{}
	for _, u := range s.units {
		for _, ref := range u.data {
			if path := s.undefined(ref, packages); path != "" {
				found[path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// dataReads are the constant parts of references to data in compiled modules, each once,
// without those to what Lintel fills itself and to the packages of the modules.
func dataReads(modules []*ast.Module) (refs []ast.Ref) {
	seen := map[string]bool{}
	add := func(ref ast.Ref) bool {
		if !ref[0].Equal(ast.DefaultRootDocument) || slices.ContainsFunc(modules, func(own *ast.Module) bool { return ref.HasPrefix(own.Package.Path) }) {
			return false
		}
		prefix := ref.ConstantPrefix()
		if len(prefix) < 2 || slices.Contains(definition.ReservedKeys, strings.Trim(prefix[1].String(), `"`)) || seen[prefix.String()] {
			return false
		}
		seen[prefix.String()] = true
		refs = append(refs, withoutLocation(prefix))
		return false
	}
	for _, module := range modules {
		ast.WalkRefs(module, add)
	}
	return refs
}

// withoutLocation is a reference that does not hold the text it comes from.
func withoutLocation(ref ast.Ref) ast.Ref {
	out := make(ast.Ref, len(ref))
	for i, element := range ref {
		out[i] = ast.NewTerm(element.Value)
		if text, ok := element.Value.(ast.String); ok {
			out[i] = ast.StringTerm(strings.Clone(string(text)))
		}
	}
	return out
}

func (s *PolicySet) undefined(prefix ast.Ref, packages map[string]bool) string {
	var keys []string
	for _, element := range prefix[1:] {
		key, ok := element.Value.(ast.String)
		if !ok {
			break
		}
		if keys = append(keys, string(key)); packages[pathKey(keys)] {
			return ""
		}
	}
	if s.hasData(keys) {
		return ""
	}
	return strings.TrimPrefix(prefix.String(), "data.")
}

// Defines says whether data files of the source have something at a path under data: a.b.
func (s *PolicySet) Defines(path string) bool { return s.hasData(strings.Split(path, ".")) }

// Unasked finds parts of Rego files that compile and are never evaluated: rules whose names
// resemble an entry point or one of Gatekeeper's, reads of Gatekeeper's review, and tests
// outside of test files. The result is in the order of the files.
func (s *PolicySet) Unasked() (found definition.CompileErrors) {
	used := map[string]bool{}
	for _, u := range s.units {
		for _, ref := range u.data {
			for i := range ref {
				used[ref[:i+1].String()] = true
			}
		}
	}
	for _, u := range s.units {
		for _, one := range u.unasked {
			if one.Path == "" || !used[one.Path] {
				found = append(found, one.CompileError)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b definition.CompileError) int { return cmp.Compare(a.File, b.File) })
	return found
}

// WrongConstants are the comparisons with constants that no request has.
func (s *PolicySet) WrongConstants() (found definition.CompileErrors) {
	for _, p := range s.policies {
		if p.requires != nil {
			found = append(found, p.requires.Wrong()...)
		}
	}
	return definition.Distinct(found)
}

// Inert finds rules that can never fire, by what their policies match and the kinds of a
// cluster, and globs that match no namespace.
func (s *PolicySet) Inert(resources *admission.Resources) (found definition.CompileErrors) {
	for _, p := range s.policies {
		if p.requires == nil {
			continue
		}
		match := p.matcher.Match
		found = append(found, p.requires.Check(match, resources)...)
		for _, glob := range slices.Concat(match.Namespaces, match.ExcludedNamespaces) {
			if !inert.MatchesSomeName(glob) {
				found = append(found, definition.LineInMetadata(s.Files(), p.location, glob).Errorf(
					"%q matches no namespace: names have lower-case letters, digits and dashes, and patterns *, ?, [ab] and [a-z] only", glob))
			}
		}
	}
	return definition.Distinct(found)
}
