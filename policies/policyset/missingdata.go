package policyset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// MissingData finds the reads below data of what the source does not contain, which are
// undefined without an error. certain are those of rules of a package of the source: a
// data document may be meant to be absent.
func (s *Set) MissingData() (certain, likely definition.CompileErrorList) {
	d := newDefinedPaths(s)
	var missing []dataRead
	var mocks [][]string
	for _, u := range s.units {
		mocks = append(mocks, u.mocks...)
		missing = append(missing, slices.DeleteFunc(slices.Clone(u.reads), func(read dataRead) bool { return d.has(read.path) })...)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	mocks = append(mocks, s.mockedByTests()...)
	for _, read := range missing {
		if slices.ContainsFunc(mocks, func(mock []string) bool {
			return isBelow(mock, read.path) || isBelow(read.path, mock) && !d.has(mock)
		}) {
			continue
		}
		one, isCertain := d.describe(read)
		if isCertain {
			certain = append(certain, one)
		} else {
			likely = append(likely, one)
		}
	}
	return definition.Distinct(certain), definition.Distinct(likely)
}

// mockedByTests are the paths below data that the tests of the source replace: they need
// not be in the source.
func (s *Set) mockedByTests() (paths [][]string) {
	modules, _, _ := definition.ReadFiles(s.source.Files, definition.FileTest)
	for _, module := range modules {
		aliases := map[ast.Var]ast.Ref{}
		for _, imported := range module.Imports {
			if path, ok := imported.Path.Value.(ast.Ref); ok && path[0].Equal(ast.DefaultRootDocument) {
				aliases[imported.Name()] = path
			}
		}
		paths = append(paths, collectMocks(module, aliases)...)
	}
	return paths
}

// isBelow says whether a path is another, or is below it.
func isBelow(path, other []string) bool {
	return len(path) >= len(other) && slices.Equal(path[:len(other)], other)
}

// defined is what a source defines below data.
type definedPaths struct {
	set      *Set
	rules    map[string]bool     // the constant paths of rules
	packages map[string]bool     // that have rules
	parents  map[string][]string // the keys that packages and rules have at a path
}

func newDefinedPaths(s *Set) *definedPaths {
	d := &definedPaths{set: s, rules: map[string]bool{}, packages: map[string]bool{}, parents: map[string][]string{}}
	add := func(path []string) {
		for i, key := range path {
			if at := pathKey(path[:i]); !slices.Contains(d.parents[at], key) {
				d.parents[at] = append(d.parents[at], key)
			}
		}
	}
	for _, u := range s.units {
		if u.isTemplate() {
			continue
		}
		for _, path := range u.Packages {
			d.packages[pathKey(path)] = true
			add(path)
		}
		for _, path := range u.rulePaths {
			d.rules[pathKey(path)] = true
			add(path)
		}
	}
	return d
}

// has says whether something can be at a path: data, a package or rules there or below, or
// a part of the value of a rule.
func (d *definedPaths) has(path []string) bool {
	if d.packages[pathKey(path)] || len(d.parents[pathKey(path)]) > 0 || d.set.hasData(path) {
		return true
	}
	for n := range path {
		if d.rules[pathKey(path[:n+1])] {
			return true
		}
	}
	return false
}

// otherHosts is what other hosts of OPA keep at a path below data.
var otherHosts = map[string]string{
	"inventory":  "data.inventory is Gatekeeper's: name the kinds under custom.requires and read data.cluster",
	"kubernetes": "kube-mgmt keeps objects of the cluster there: name the kinds under custom.requires and read data.cluster",
}

// describe returns an error that names the missing data and the remedy.
func (d *definedPaths) describe(read dataRead) (err definition.CompileError, certain bool) {
	n := 1 // the length of the part that is missing first
	for n < len(read.path) && d.has(read.path[:n]) {
		n++
	}
	parent, key := read.path[:n-1], read.path[n-1]
	whole, in := dataPath(read.path[:n]), dataPath(parent)
	keys := slices.Sorted(slices.Values(append(slices.Clone(d.parents[pathKey(parent)]), textKeys(definition.Descend(d.set.document.Data, parent))...)))
	near := admission.Nearest(key, keys)
	err, certain = read.CompileError, d.packages[pathKey(parent)] && n > 1 && !d.set.hasData(parent)
	switch {
	case near != "":
		err.Message = fmt.Sprintf("%s is not in the source; did you mean %s?", whole, near)
	case n == 1 && otherHosts[key] != "":
		err.Message = fmt.Sprintf("%s is not in the source; %s", whole, otherHosts[key])
	case certain:
		err.Message = fmt.Sprintf("%s is not in the source: package %s has no such rule; correct it, or add the rule", whole, strings.Join(parent, "."))
	case n == 1:
		err.Message = fmt.Sprintf("%s is not in the source: no package and no data file defines it; correct it, or add a data file", whole)
	default:
		err.Message = fmt.Sprintf("%s is not in the source; correct it, add it to a data file, or write object.get(%s, %q, …) if it is optional", whole, in, key)
	}
	return err, certain
}

// dataPath is a path below data as policies write it.
func dataPath(path []string) string {
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, key := range path {
		ref = append(ref, ast.StringTerm(key))
	}
	return ref.String()
}

func textKeys(value ast.Value) (keys []string) {
	if object, ok := value.(ast.Object); ok {
		object.Foreach(func(key, _ *ast.Term) {
			if text, ok := key.Value.(ast.String); ok {
				keys = append(keys, string(text))
			}
		})
	}
	return keys
}
