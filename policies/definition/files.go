package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/lintel-policy/lintel/policies/manifest"
	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/terms"
)

// byteOrderMark is the prefix that some editors write. With it, OPA ignores METADATA in the
// first line, because it is not in the first column.
const byteOrderMark = "\uFEFF"

// ParseModule reads Rego v1, else v0. A module that is neither shows the errors of
// the version it declares by its imports, else v1's.
func ParseModule(name, text string) (*ast.Module, CompileErrorList) {
	text = strings.TrimPrefix(text, byteOrderMark)
	parse := func(version ast.RegoVersion) (*ast.Module, error) {
		options := sandbox.ParserOptions(version)
		options.ProcessAnnotation = true
		return ast.ParseModuleWithOpts(name, text, options)
	}
	module, errV1 := parse(ast.RegoV1)
	if errV1 == nil {
		return module, nil
	}
	module, errV0 := parse(ast.RegoV0)
	switch {
	case errV0 == nil:
		return module, nil
	case !strings.Contains(text, "import rego.v1") && strings.Contains(text, "import future.keywords"):
		return nil, ParseErrors(errV0)
	default:
		return nil, ParseErrors(errV1)
	}
}

// What a data file may come to once the aliases of its YAML are written out.
const (
	maxUnfoldedValues = 1 << 20
	maxUnfoldedBytes  = 64 << 20
)

// ReadFiles parses the modules of the given classes, by file, and merges the data files.
func ReadFiles(files map[string]string, classes ...fileClass) (modules map[string]*ast.Module, data ast.Object, errs CompileErrorList) {
	modules, errs = parseModules(files, classes...)
	data, dataErrs := ReadData(files)
	errs = append(errs, dataErrs...)
	slices.SortStableFunc(errs, func(a, b CompileError) int { return cmp.Compare(a.File, b.File) })
	return modules, data, errs
}

// ReadData merges the data files among some files, each at the path of its folder.
func ReadData(files map[string]string) (data ast.Object, errs CompileErrorList) {
	data = ast.NewObject()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if Classify(name) != FileData {
			continue
		}
		merged, err := readDataFile(data, name, files[name])
		if err != nil {
			errs = append(errs, CompileError{File: name, Message: err.Error()})
			continue
		}
		data = merged
	}
	return data, errs
}

// readDataFile merges a data file into data, at the path of its folder.
func readDataFile(data ast.Object, name, text string) (ast.Object, error) {
	term, err := ReadDocument(text)
	if err != nil {
		return nil, fmt.Errorf("reading data: %w", err)
	}
	if _, ok := term.Value.(ast.Object); !ok {
		return nil, fmt.Errorf("data files hold an object at the top")
	}
	folders := strings.Split(name, "/")
	for _, folder := range slices.Backward(folders[:len(folders)-1]) {
		term = ast.ObjectTerm(ast.Item(ast.StringTerm(folder), term))
	}
	for _, reserved := range ReservedKeys {
		if terms.Lookup(term.Value.(ast.Object), reserved) != nil {
			return nil, fmt.Errorf("data.%s is reserved; use another key", reserved)
		}
	}
	merged, ok := data.Merge(term.Value.(ast.Object))
	if !ok {
		return nil, fmt.Errorf("sets a value that another data file sets, too")
	}
	return merged, nil
}

// ReadDocument reads a text in JSON or YAML as policies read data files. Duplicate keys are errors.
func ReadDocument(text string) (*ast.Term, error) {
	text = strings.TrimPrefix(text, byteOrderMark)
	if values, bytes := sandbox.Unfold(text); values > maxUnfoldedValues || bytes > maxUnfoldedBytes {
		return nil, fmt.Errorf("its aliases stand for more than %d values or %d MiB; write fewer of them", maxUnfoldedValues, maxUnfoldedBytes>>20)
	}
	if !json.Valid([]byte(text)) {
		if err := manifest.CheckKeys([]byte(text)); err != nil {
			return nil, err
		}
	}
	// As OPA reads data files, and yaml.unmarshal a text.
	var asJSON json.RawMessage
	if err := util.Unmarshal([]byte(text), &asJSON); err != nil {
		return nil, err
	}
	return terms.Decode(asJSON)
}

// Descend returns the value at a path within a value: nil if there is none.
func Descend(value ast.Value, path []string) ast.Value {
	for _, key := range path {
		switch parent := value.(type) {
		case ast.Object:
			value = terms.Lookup(parent, key)
		case *ast.Array:
			value = nil
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < parent.Len() {
				value = parent.Elem(i).Value
			}
		default:
			return nil
		}
	}
	return value
}

// Modules parses the modules of a source, by file, as Compile does, but without the rules that
// Compile adds: for analyses of the text. Tests are not included.
func Modules(source Source) (map[string]*ast.Module, error) {
	modules, errs := parseModules(source.Files, FileRego)
	if len(errs) > 0 {
		return nil, errs
	}
	return modules, nil
}

// parseModules parses those of some files that are of the given classes, by file.
func parseModules(files map[string]string, classes ...fileClass) (modules map[string]*ast.Module, errs CompileErrorList) {
	modules = map[string]*ast.Module{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains(classes, Classify(name)) {
			continue
		}
		module, moduleErrs := ParseModule(name, files[name])
		errs = append(errs, moduleErrs...)
		if module != nil {
			modules[name] = module
		}
	}
	return modules, errs
}

// PackageName is the name of a module's package, without "data.".
func PackageName(module *ast.Module) string {
	return strings.TrimPrefix(module.Package.Path.String(), "data.")
}
