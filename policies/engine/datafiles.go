package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/sandbox"
	"github.com/lintel-policy/lintel/policies/terms"
)

// What a data file may come to once the aliases of its YAML are written out.
const (
	maxUnfoldedValues = 1 << 20
	maxUnfoldedBytes  = 64 << 20
)

// readFiles parses the modules of the given classes, by file, and merges the data files.
func readFiles(files map[string]string, classes ...fileClass) (modules map[string]*ast.Module, data ast.Object, errs CompileErrors) {
	modules, errs = parseModules(files, classes...)
	data, dataErrs := readData(files)
	errs = append(errs, dataErrs...)
	slices.SortStableFunc(errs, func(a, b CompileError) int { return cmp.Compare(a.File, b.File) })
	return modules, data, errs
}

// readData merges the data files among some files, each at its folder's place.
func readData(files map[string]string) (data ast.Object, errs CompileErrors) {
	data = ast.NewObject()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if classify(name) != fileData {
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

// readDataFile is data with a data file at its folder's place.
func readDataFile(data ast.Object, name, text string) (ast.Object, error) {
	if values, bytes := sandbox.Unfold(text); values > maxUnfoldedValues || bytes > maxUnfoldedBytes {
		return nil, fmt.Errorf("reading data: its aliases stand for more than %d values or %d MiB; write fewer of them", maxUnfoldedValues, maxUnfoldedBytes>>20)
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading data: %w", err)
	}
	term, err := terms.Decode(asJSON)
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
	for _, reserved := range reservedKeys {
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

// descend is the value at a path within a value: nil where there is none.
func descend(value ast.Value, path []string) ast.Value {
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
