package gatekeeper

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// rego collects the modules of one template, and moves them below a root of its own:
// packages and libraries of different templates have the same names.
type rego struct {
	kind, file     string
	version        ast.RegoVersion
	modules        []*ast.Module
	text           strings.Builder // of the modules, with their places
	readsInventory bool
	errs           definition.CompileErrorList
}

const libraryRoot = "lib"

// addMain adds the module with the entry point, for any package name.
func (r *rego) addMain(line int, text string) {
	if module := r.parse(line, text); module != nil {
		module.Package.Path = definition.TemplateRoot(r.kind).Append(ast.StringTerm("main"))
		r.modules = append(r.modules, module)
	}
}

// addLibrary adds a module of libs, whose package is lib or below it.
func (r *rego) addLibrary(line int, text string) {
	module := r.parse(line, text)
	if module == nil {
		return
	}
	path := module.Package.Path
	if len(path) < 2 || !path[1].Equal(ast.StringTerm(libraryRoot)) {
		r.fail(module.Package.Location, "the package of a library is lib or below it: write `package lib.%s`", strings.TrimPrefix(path.String(), "data."))
		return
	}
	module.Package.Path = r.root(path)
	r.modules = append(r.modules, module)
}

// parse parses Rego that begins on a line of the file, so that all locations are those of the
// file.
func (r *rego) parse(line int, text string) *ast.Module {
	fmt.Fprintf(&r.text, "%q %d %v %q\n", r.file, line, r.version, text)
	padded := strings.Repeat("\n", line-1) + text
	module, err := ast.ParseModuleWithOpts(r.file, padded, sandbox.ParserOptions(r.version))
	if err != nil {
		for _, one := range definition.ParseErrors(err) {
			one.Column = 0 // it counts from the block's indentation
			r.errs = append(r.errs, one)
		}
		return nil
	}
	if module == nil {
		r.errs = append(r.errs, definition.CompileError{File: r.file, Line: line, Message: "there is no Rego here"})
		return nil
	}
	before := len(r.errs)
	check := func(ref ast.Ref) bool {
		r.check(ref)
		return false
	}
	move := func(term *ast.Term) bool {
		if ref, ok := term.Value.(ast.Ref); ok && readsData(ref) {
			term.Value = r.root(ref)
		}
		return false
	}
	for _, statement := range module.Imports {
		ast.WalkRefs(statement, check)
		ast.WalkTerms(statement, move)
	}
	for _, rule := range module.Rules {
		ast.WalkRefs(rule, check)
		ast.WalkTerms(rule, move)
	}
	if len(r.errs) > before {
		return nil
	}
	return module
}

func readsData(ref ast.Ref) bool { return len(ref) > 0 && ref[0].Equal(ast.DefaultRootDocument) }

// check returns errors for references that a template must not read.
func (r *rego) check(ref ast.Ref) {
	switch {
	case ref.String() == "external_data":
		r.fail(ref[0].Location, "external_data is not supported, because policies have no network: put the data into objects of the cluster, and read data.inventory")
	case !readsData(ref):
	case len(ref) == 1, !ref[1].Equal(ast.StringTerm("inventory")) && !ref[1].Equal(ast.StringTerm(libraryRoot)):
		r.fail(ref[0].Location, "a template may read data.inventory and its libraries below data.lib, not %s", ref)
	case ref[1].Equal(ast.StringTerm("inventory")):
		r.readsInventory = true
	}
}

// root is a reference as it is below the template's root. A reference that is there
// already stays: terms may be shared.
func (r *rego) root(ref ast.Ref) ast.Ref {
	switch {
	case len(ref) < 2:
		return ref
	case ref[1].Equal(ast.StringTerm("inventory")):
		return moved(definition.InventoryRoot(), ref, 2)
	case ref[1].Equal(ast.StringTerm(libraryRoot)):
		return moved(definition.TemplateRoot(r.kind), ref, 1)
	}
	return ref
}

func moved(root, ref ast.Ref, from int) ast.Ref {
	for i := range root {
		root[i] = ast.NewTerm(root[i].Value).SetLocation(ref[0].Location)
	}
	return append(root, ref[from:]...)
}

func (r *rego) fail(location *ast.Location, format string, args ...any) {
	err := definition.CompileError{File: r.file, Message: fmt.Sprintf(format, args...)}
	if location != nil {
		err.Line = location.Row
	}
	r.errs = append(r.errs, err)
}
