package policyset

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

// UndefinedData are the paths under data that the rules read and that neither a package nor a
// data file of the source defines, as far as they are constant: a.b for data.a.b[x].
// Documents that Lintel provides are left out.
func (s *Set) UndefinedData() []string {
	packages := map[string]bool{}
	for _, u := range s.units {
		for _, path := range u.Packages {
			packages[pathKey(path)] = true
		}
	}
	found := map[string]bool{}
	for _, u := range s.units {
		for _, ref := range u.dataRefs {
			if path := s.undefined(ref, packages); path != "" {
				found[path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (s *Set) undefined(prefix ast.Ref, packages map[string]bool) string {
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

// NeverEvaluated finds parts of Rego files that compile and are never evaluated: rules whose names
// resemble an entry point of Lintel or Gatekeeper, reads of Gatekeeper's review, and tests
// outside of test files. The result is in the order of the files.
func (s *Set) NeverEvaluated() (found definition.CompileErrorList) {
	used := map[string]bool{}
	for _, u := range s.units {
		for _, ref := range u.dataRefs {
			for i := range ref {
				used[ref[:i+1].String()] = true
			}
		}
	}
	for _, u := range s.units {
		for _, one := range u.unused {
			if one.Path == "" || !used[one.Path] {
				found = append(found, one.CompileError)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b definition.CompileError) int { return cmp.Compare(a.File, b.File) })
	return found
}

// WrongConstants are the comparisons with constants that no request has.
func (s *Set) WrongConstants() (found definition.CompileErrorList) {
	for _, p := range s.policies {
		if p.requires != nil {
			found = append(found, p.requires.Wrong()...)
		}
	}
	return definition.Distinct(found)
}

// Inert finds rules that can never fire, by what their policies match and the kinds of a
// cluster, and globs that match no namespace.
func (s *Set) Inert(resources *admission.Resources) (found definition.CompileErrorList) {
	for _, p := range s.policies {
		if p.requires == nil {
			continue
		}
		match := p.Matcher.Match
		found = append(found, p.requires.Check(match, resources)...)
		for _, glob := range slices.Concat(match.Namespaces, match.ExcludedNamespaces) {
			if !inert.MatchesSomeName(glob) {
				found = append(found, definition.LineInMetadata(s.Files(), p.Location, glob).Errorf(
					"%q matches no namespace: names have lower-case letters, digits and dashes, and patterns *, ?, [ab] and [a-z] only", glob))
			}
		}
	}
	return definition.Distinct(found)
}
