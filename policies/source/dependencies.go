package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// dependencies are which files of a source may depend on which others. They are as wide as the
// text permits: a file that is missing here would silently change meaning with another.
type dependencies map[string]fileLinks

// fileLinks are the definitions in a file and its references.
type fileLinks struct {
	isTest bool
	// pkg is the package of a module: nil if there is none.
	pkg []string
	// defines are paths below data, and reads those of references. A path of no length is all data.
	defines, reads [][]string
	// kinds are of constraints: those that templates define, and those of constraints.
	definesKinds, readsKinds []string
	// files are named by a Suite.
	files []string
}

func dependenciesOf(files map[string]string) dependencies {
	d := dependencies{}
	for name, text := range files {
		d[name] = linksOf(name, text)
	}
	return d
}

// filesUsedBy lists the files that a file depends on, in order.
func (d dependencies) filesUsedBy(name string) (used []string) {
	for _, other := range slices.Sorted(maps.Keys(d)) {
		if other != name && d[name].dependsOn(other, d[other]) {
			used = append(used, other)
		}
	}
	return used
}

// usersOf lists the files that depend on a file, in order.
func (d dependencies) usersOf(name string) (users []string) {
	for _, other := range slices.Sorted(maps.Keys(d)) {
		if other != name && d[other].dependsOn(name, d[name]) {
			users = append(users, other)
		}
	}
	return users
}

func (f fileLinks) dependsOn(name string, other fileLinks) bool {
	if other.isTest && !f.isTest {
		return false
	}
	if slices.Contains(f.files, name) || slices.ContainsFunc(f.readsKinds, func(kind string) bool { return slices.Contains(other.definesKinds, kind) }) {
		return true
	}
	if f.pkg != nil && other.pkg != nil && isPrefix(other.pkg, f.pkg) {
		return true
	}
	return slices.ContainsFunc(f.reads, func(read []string) bool {
		return slices.ContainsFunc(other.defines, func(defined []string) bool { return isPrefix(read, defined) || isPrefix(defined, read) })
	})
}

func isPrefix(prefix, path []string) bool {
	return len(prefix) <= len(path) && slices.Equal(prefix, path[:len(prefix)])
}

func linksOf(name, text string) fileLinks {
	switch class := definition.Classify(name); class {
	case definition.FileRego, definition.FileTest:
		return linksOfModule(name, text, class == definition.FileTest)
	case definition.FileData:
		return fileLinks{defines: definedByData(name, text)}
	}
	if extension := path.Ext(name); extension == ".yaml" || extension == ".yml" {
		return linksOfObjects(name, text)
	}
	return fileLinks{}
}

// packageClause finds the package of a module that cannot be parsed.
var packageClause = regexp.MustCompile(`(?m)^\s*package\s+([\w.]+)\s*(?:#.*)?$`)

func linksOfModule(name, text string, isTest bool) fileLinks {
	links := fileLinks{isTest: isTest}
	module, _ := definition.ParseModule(name, text)
	if module == nil {
		if found := packageClause.FindStringSubmatch(text); found != nil {
			links.pkg = strings.Split(found[1], ".")
		}
		links.defines = [][]string{links.pkg} // of an unknown package: all data
		return links
	}
	links.pkg = constantKeys(module.Package.Path)
	links.defines = [][]string{links.pkg}
	read := func(ref ast.Ref) bool {
		if !ref[0].Equal(ast.DefaultRootDocument) {
			return false
		}
		if keys := constantKeys(ref); len(keys) == 0 || !slices.Contains(definition.ReservedKeys, keys[0]) {
			links.reads = append(links.reads, keys)
		}
		return false
	}
	for _, imported := range module.Imports {
		ast.WalkRefs(imported, read)
	}
	for _, rule := range module.Rules {
		ast.WalkRefs(rule, read)
	}
	return links
}

// constantKeys are the keys of a reference below data, up to the first that is not constant.
func constantKeys(ref ast.Ref) []string {
	keys := []string{}
	for _, term := range ref[1:] {
		key, isText := term.Value.(ast.String)
		if !isText {
			break
		}
		keys = append(keys, string(key))
	}
	return keys
}

// definedByData are the paths of the keys of a data file or, if it cannot be read, of its folder.
func definedByData(name, text string) (paths [][]string) {
	var folder []string
	if parent := path.Dir(name); parent != "." {
		folder = strings.Split(parent, "/")
	}
	document, err := definition.ReadDocument(text)
	if err != nil {
		return [][]string{folder}
	}
	object, isObject := document.Value.(ast.Object)
	if !isObject {
		return [][]string{folder}
	}
	object.Foreach(func(key, _ *ast.Term) {
		if text, isText := key.Value.(ast.String); isText {
			paths = append(paths, append(slices.Clone(folder), string(text)))
		}
	})
	return paths
}

// linksOfObjects are those of Gatekeeper's objects in a file.
func linksOfObjects(name, text string) (links fileLinks) {
	objects, _ := manifest.ReadObjects(name, text)
	for _, o := range objects {
		switch {
		case o.Group == "constraints.gatekeeper.sh":
			links.readsKinds = append(links.readsKinds, o.Kind)
		case o.Group == "templates.gatekeeper.sh":
			links.definesKinds = append(links.definesKinds, templateKind(o.JSON))
		case o.Group == "test.gatekeeper.sh":
			links.isTest = true
			links.files = append(links.files, filesOfSuite(path.Dir(name), o.JSON)...)
		}
	}
	return links
}

func templateKind(object []byte) string {
	var template struct {
		Spec struct {
			CRD struct {
				Spec struct{ Names struct{ Kind string } }
			}
		}
	}
	_ = json.Unmarshal(object, &template) // without a kind, nothing can depend on it
	return template.Spec.CRD.Spec.Names.Kind
}

// filesOfSuite are the files that a Suite in a folder names.
func filesOfSuite(folder string, object []byte) (files []string) {
	var suite struct {
		Tests []struct {
			Template, Constraint, Expansion string
			Cases                           []struct {
				Object    string
				Inventory []string
			}
		}
	}
	_ = json.Unmarshal(object, &suite) // a Suite that cannot be read fails when it runs
	for _, test := range suite.Tests {
		files = append(files, test.Template, test.Constraint, test.Expansion)
		for _, one := range test.Cases {
			files = append(append(files, one.Object), one.Inventory...)
		}
	}
	for i, file := range files {
		files[i] = path.Join(folder, file)
	}
	return files
}

// settings are the objects of Gatekeeper that decide what other objects of a source mean.
var settings = regexp.MustCompile(`(?m)^[-\s]*["']?kind["']?\s*:\s*["']?(Config|SyncSet)["']?\s*(?:#.*)?$`)

// settingsIn returns why a file cannot be left out: "" if it can. Without a Config or a SyncSet,
// constraints would review other namespaces, or find fewer objects.
func settingsIn(name, text string) string {
	extension := path.Ext(name)
	if extension != ".yaml" && extension != ".yml" || !strings.Contains(text, "gatekeeper.sh/") {
		return ""
	}
	if found := settings.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("%s has a %s, on which the constraints of the source depend", name, found[1])
	}
	return ""
}
