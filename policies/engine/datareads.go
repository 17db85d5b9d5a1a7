package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// dataRead is a reference to data by the rules that a policy evaluates.
type dataRead struct {
	path []string // as far as it is constant
	definition.CompileError
}

// readsOf are the constant paths below data that rules read, each once, without those that
// Lintel fills itself. mocks are the paths that they replace by `with`.
func readsOf(rules map[*ast.Rule]bool) (reads []dataRead, mocks [][]string) {
	first := map[string]dataRead{}
	for rule := range rules {
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			if !ref[0].Equal(ast.DefaultRootDocument) {
				return false
			}
			path := constantPath(ref)
			if len(path) == 0 || slices.Contains(definition.ReservedKeys, path[0]) {
				return false
			}
			one := dataRead{path, definition.ErrorAt(ref[0].Location, "")}
			if known, ok := first[pathKey(path)]; !ok || one.Compare(known.CompileError) < 0 {
				first[pathKey(path)] = one
			}
			return false
		})
		mocks = append(mocks, mocksOf(rule, nil)...)
	}
	for _, one := range first {
		reads = append(reads, one)
	}
	return reads, mocks
}

// mocksOf are the paths below data that a part of a module replaces by `with`. aliases are
// the imports of a module that is not compiled.
func mocksOf(node any, aliases map[ast.Var]ast.Ref) (paths [][]string) {
	ast.WalkWiths(node, func(with *ast.With) bool {
		ref, ok := with.Target.Value.(ast.Ref)
		if !ok {
			return false
		}
		if name, isVar := ref[0].Value.(ast.Var); isVar && aliases[name] != nil {
			ref = aliases[name].Concat(ref[1:])
		}
		if ref[0].Equal(ast.DefaultRootDocument) {
			paths = append(paths, constantPath(ref))
		}
		return false
	})
	return paths
}

// mockedByTests are the paths below data that the tests of the source replace: they need
// not be in the source.
func (s *PolicySet) mockedByTests() (paths [][]string) {
	modules, _, _ := definition.ReadFiles(s.source.Files, definition.FileTest)
	for _, module := range modules {
		aliases := map[ast.Var]ast.Ref{}
		for _, imported := range module.Imports {
			if path, ok := imported.Path.Value.(ast.Ref); ok && path[0].Equal(ast.DefaultRootDocument) {
				aliases[imported.Name()] = path
			}
		}
		paths = append(paths, mocksOf(module, aliases)...)
	}
	return paths
}

// MissingData finds the reads below data of what the source does not contain, which are
// undefined without an error. certain are those of rules of a package of the source: a
// data document may be meant to be absent.
func (s *PolicySet) MissingData() (certain, likely definition.CompileErrors) {
	d := newDefined(s)
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

// isBelow says whether a path is another, or is below it.
func isBelow(path, other []string) bool {
	return len(path) >= len(other) && slices.Equal(path[:len(other)], other)
}

// defined is what a source defines below data.
type defined struct {
	set      *PolicySet
	rules    map[string]bool     // the constant paths of rules
	packages map[string]bool     // that have rules
	parents  map[string][]string // the keys that packages and rules have at a path
}

func newDefined(s *PolicySet) *defined {
	d := &defined{set: s, rules: map[string]bool{}, packages: map[string]bool{}, parents: map[string][]string{}}
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
func (d *defined) has(path []string) bool {
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

// elsewhere is what other hosts of OPA keep at a path below data.
var elsewhere = map[string]string{
	"inventory":  "data.inventory is Gatekeeper's: name the kinds under custom.requires and read data.cluster",
	"kubernetes": "kube-mgmt keeps objects of the cluster there: name the kinds under custom.requires and read data.cluster",
}

// describe returns an error that names the missing data and the remedy.
func (d *defined) describe(read dataRead) (err definition.CompileError, certain bool) {
	n := 1 // the length of the part that is missing first
	for n < len(read.path) && d.has(read.path[:n]) {
		n++
	}
	parent, key := read.path[:n-1], read.path[n-1]
	whole, in := dataPath(read.path[:n]), dataPath(parent)
	keys := slices.Sorted(slices.Values(append(slices.Clone(d.parents[pathKey(parent)]), textKeys(definition.Descend(d.set.data, parent))...)))
	near := admission.Nearest(key, keys)
	err, certain = read.CompileError, d.packages[pathKey(parent)] && n > 1 && !d.set.hasData(parent)
	switch {
	case near != "":
		err.Message = fmt.Sprintf("%s is not in the source; did you mean %s?", whole, near)
	case n == 1 && elsewhere[key] != "":
		err.Message = fmt.Sprintf("%s is not in the source; %s", whole, elsewhere[key])
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
