package gatekeeper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// externalDataName is the function of Gatekeeper that calls a Provider.
const externalDataName = "external_data"

// providersPackage is the package of externalDataText, below the root of a template. No library has
// a package of this name.
const providersPackage = "providers"

// externalDataText is the function as templates call it, on the data of the DataSource with the name
// of the Provider. The response has Gatekeeper's form.
const externalDataText = `package providers

import rego.v1

external_data(request) := {"responses": responses, "errors": errors, "status_code": 200, "system_error": ""} if {
	every key in request.keys { is_string(key) }
	known := data.external[request.provider]
	is_object(known)
	responses := [[key, known[key]] | some key in request.keys]
	errors := [[key, sprintf("DataSource %s has no key %q", [request.provider, key])] | some key in request.keys; not has(known, key)]
}

external_data(request) := {"responses": [], "errors": [], "status_code": 500, "system_error": sprintf("Provider %s: the source has no such Provider, or the data of its DataSource is not an object", [request.provider])} if {
	not has_object(request.provider)
}

has_object(provider) if is_object(data.external[provider])

has(known, key) if _ = known[key]
`

// providerObject contains the fields of a Provider. Its server is not called.
type providerObject struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
	Spec       struct {
		URL      string `json:"url"`
		Timeout  int    `json:"timeout"`
		CABundle string `json:"caBundle"`
	} `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// addProvider reads a Provider, whose data is that of the DataSource with its name.
func (f *folder) addProvider(d document) {
	if other, taken := f.providers[d.name]; taken {
		f.fail(d.errorAt("Provider %q: already defined at %s:%d; keep one", d.name, other.file, other.line))
		return
	}
	f.providers[d.name] = d
	if !definition.IsDataSourceName(d.name) {
		f.fail(d.errorIn([]any{"metadata", "name"}, "Provider %q: a Provider is served from the DataSource with its name, and no DataSource can have this name", d.name))
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(d.json))
	decoder.DisallowUnknownFields()
	var object providerObject
	if err := decoder.Decode(&object); err != nil {
		f.fail(d.errorAt("Provider %q cannot be read: %s", d.name, strings.TrimPrefix(err.Error(), "json: ")))
	}
}

// providerCall is a call of external_data in a template.
type providerCall struct {
	line int
	name string // of the Provider; empty if it is not constant
}

// callProviders makes the calls of external_data in a module those of a function of the template.
func (r *rego) callProviders(module *ast.Module) {
	isCalled := func(operator *ast.Term) bool {
		ref, isRef := operator.Value.(ast.Ref)
		return isRef && ref.String() == externalDataName
	}
	called := func(operator *ast.Term, operands []*ast.Term) {
		call := providerCall{}
		if operator.Location != nil {
			call.line = operator.Location.Row
		}
		if len(operands) > 0 {
			if object, isObject := operands[0].Value.(ast.Object); isObject {
				if name := object.Get(ast.StringTerm("provider")); name != nil {
					text, _ := name.Value.(ast.String)
					call.name = string(text)
				}
			}
		}
		r.calls = append(r.calls, call)
		root := definition.TemplateRoot(r.kind).Append(ast.StringTerm(providersPackage)).Append(ast.StringTerm(externalDataName))
		for i := range root {
			root[i] = ast.NewTerm(root[i].Value).SetLocation(operator.Location)
		}
		operator.Value = root
	}
	for _, rule := range module.Rules {
		ast.WalkExprs(rule, func(expr *ast.Expr) bool {
			if terms, isCall := expr.Terms.([]*ast.Term); isCall && isCalled(terms[0]) {
				called(terms[0], terms[1:])
			}
			return false
		})
		ast.WalkTerms(rule, func(term *ast.Term) bool {
			if call, isCall := term.Value.(ast.Call); isCall && isCalled(call[0]) {
				called(call[0], call[1:])
			}
			return false
		})
	}
}

// addExternalFunction adds the function that the calls of external_data use.
func (r *rego) addExternalFunction() {
	if len(r.calls) == 0 {
		return
	}
	options := sandbox.ParserOptions(ast.RegoV1)
	module, err := ast.ParseModuleWithOpts(r.file+" ("+externalDataName+")", externalDataText, options)
	if err != nil {
		panic("the text is constant: " + err.Error())
	}
	module.Package.Path = definition.TemplateRoot(r.kind).Append(ast.StringTerm(providersPackage))
	r.modules = append(r.modules, module)
}

// isExternalFunction reports whether a module of a template is that of addExternalFunction.
func isExternalFunction(module *ast.Module) bool {
	path := module.Package.Path
	return path[len(path)-1].Equal(ast.StringTerm(providersPackage))
}

// external returns the names of the DataSources that the calls of a template read: all Providers of
// the source if a call computes the name of its Provider.
func (f *folder) external(t *template) (names []string, errs definition.CompileErrorList) {
	known := slices.Sorted(maps.Keys(f.providers))
	for _, call := range t.calls {
		switch {
		case call.name == "" && len(known) == 0:
			errs = append(errs, t.callError(call, "external_data: the source has no Provider"))
		case call.name == "":
			names = append(names, known...)
		case !f.mode.test && !slices.Contains(known, call.name):
			errs = append(errs, t.callError(call, fmt.Sprintf("external_data: the source has no Provider %q", call.name)))
		default:
			names = append(names, call.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errs
}

func (t *template) callError(call providerCall, message string) definition.CompileError {
	return definition.CompileError{File: t.document.file, Line: call.line, Message: message + "; " + missingProvider}
}

// missingProvider is the remedy for a missing Provider.
const missingProvider = "add one, and a DataSource with its name, from which it is served: Lintel calls no server during a review"
