package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ofOtherModules are the folders of tests that no package of the main module runs.
var ofOtherModules = []string{
	"config/release/", "test/apiserver/", "test/bench/", "test/chart/", "test/cluster/", "test/gator/", "test/kyverno/", "test/stores/", "!*/*.md",
}

// TestEveryOtherModuleHasASuite: a change there that no suite depends on would never be
// tested.
func TestEveryOtherModuleHasASuite(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	for name := range in.files {
		if matches(ofOtherModules, name) {
			depends := func(s suite) bool { return matches(s.inputs, name) }
			require.True(t, slices.ContainsFunc(catalogByInput(), depends), "no suite depends on %s", name)
		}
	}
}

// TestEveryPatternMatchesAFile: a pattern that matches nothing is a folder that has moved.
func TestEveryPatternMatchesAFile(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	for _, s := range catalogByInput() {
		for _, pattern := range s.inputs {
			positive := pattern
			if positive[0] == '!' {
				positive = positive[1:]
			}
			found := false
			for name := range in.files {
				found = found || matchesOne(positive, name)
			}
			require.True(t, found, "suite %s: %s matches no file", s.name, pattern)
		}
	}
}

func catalogByInput() []suite {
	return slices.DeleteFunc(slices.Clone(catalog), func(s suite) bool { return s.tier != byInput })
}

// TestASystemsChangeRunsItsOwnSuites: a file of one system leaves the suites of the others
// alone, and a file of the engine runs all of them.
func TestASystemsChangeRunsItsOwnSuites(t *testing.T) {
	runs := func(name string) (suites []string) {
		for _, s := range catalogByInput() {
			if matches(s.inputs, name) {
				suites = append(suites, s.name)
			}
		}
		return suites
	}
	require.Equal(t, []string{"e2e-zopp"}, runs("test/e2e/zopp_test.go"))
	require.Contains(t, runs("controllers/zopp/hub.go"), "e2e-zopp")
	require.NotContains(t, runs("controllers/zopp/hub.go"), "e2e-orloj")
	require.NotContains(t, runs("controllers/openvox/issuing/issue.go"), "e2e-zopp")
	require.Contains(t, runs("controllers/openvox/issuing/issue.go"), "chart-openvox")
	for _, s := range []string{"e2e-openclaw", "e2e-openvox", "e2e-openzro", "e2e-orloj", "e2e-zopp", "gator"} {
		require.Contains(t, runs("policies/policyset/compile.go"), s)
		require.NotContains(t, runs("policies/policyset/compile_test.go"), s)
	}
	require.Contains(t, runs("config/chart/lintel/values.yaml"), "chart")
	require.Contains(t, runs("config/chart/lintel/values.yaml"), "chart-installed")
	require.NotContains(t, runs("docs/openvox/index.md"), "e2e-openvox")
	require.Contains(t, runs("docs/openclaw/tutorial.md"), "e2e-openclaw")
	require.Contains(t, runs("test/cluster/up.go"), "cluster")
}

// TestPackagesExist: a list that names a missing package would leave the package that it
// meant in another one.
func TestPackagesExist(t *testing.T) {
	c, err := findCheckout()
	require.NoError(t, err)
	in, err := c.inputs(t.Context())
	require.NoError(t, err)
	lists := slices.Concat(raced, ofSuites)
	require.Equal(t, len(lists), len(slices.Compact(slices.Sorted(slices.Values(lists)))), "no package is listed twice")
	for _, pkg := range lists {
		found := false
		for name := range in.files {
			found = found || matchesOne(pkg+"/*_test.go", name)
		}
		require.True(t, found, "no tests in %s", pkg)
	}
}

// unseen are the folders that a suite's tests import, and whose changes do not run the suite:
// the end-to-end suites cover them. Those of the other systems are unseen by each of these.
var unseen = map[string][]string{
	"chart":           {"test/puppetca/", "test/chart/installed_test.go", "test/chart/openvox_"},
	"chart-installed": {"api/", "controllers/", "policies/", "cmd/", "test/"},
	"chart-openvox":   {"api/", "controllers/", "policies/", "webhooks/", "cmd/", "test/"},
}

// TestSuitesDependOnWhatTheyImport: a change of a package that a suite imports runs it.
func TestSuitesDependOnWhatTheyImport(t *testing.T) {
	t.Parallel()
	c, err := findCheckout()
	require.NoError(t, err)
	imported := map[string][]string{}
	for _, s := range catalogByInput() {
		omitted := slices.Clone(unseen[s.name])
		if system, ok := strings.CutPrefix(s.name, "e2e-"); ok {
			for _, pattern := range s.inputs {
				if folder, excluded := strings.CutPrefix(pattern, "!"); excluded && !strings.Contains(folder, "*") {
					omitted = append(omitted, folder)
				}
			}
			omitted = append(omitted, ofOtherSystems(system)...)
		}
		for _, st := range s.steps {
			key := st.module + " " + strings.Join(st.packages, " ")
			if imported[key] == nil {
				imported[key] = filesOf(t, c, st)
			}
			for _, name := range imported[key] {
				if !matches(s.inputs, name) && !slices.ContainsFunc(omitted, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
					t.Errorf("%s: the suite %s imports it, and does not depend on it", name, s.name)
				}
			}
		}
	}
}

// ofOtherSystems are the prefixes of files that the end-to-end tests of a system share a
// package or a test program with.
func ofOtherSystems(system string) (prefixes []string) {
	for _, other := range append([]string{gatekeeper}, systems...) {
		if other != system {
			prefixes = append(prefixes, "test/e2e/"+other+"_", "test/"+other+"/")
		}
	}
	return append(prefixes, "test/certificates/", "test/gitserver/", "test/opa/", "test/opaserver/", "test/orlojd/", "test/docpage/", "test/puppetca/", "test/artifact/", "test/properties/")
}

// filesOf are the files of the checkout that the test programs of a step are built of.
func filesOf(t *testing.T, c checkout, st step) (names []string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test", "-json=Dir,ForTest,Standard,GoFiles,EmbedFiles,TestGoFiles,XTestGoFiles,TestEmbedFiles,XTestEmbedFiles,DepOnly"}, st.packages...)...)
	cmd.Dir = filepath.Join(c.root, st.module)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for decoder := json.NewDecoder(output); ; {
		var p struct {
			Dir                                                                             string
			Standard, DepOnly                                                               bool
			GoFiles, EmbedFiles, TestGoFiles, XTestGoFiles, TestEmbedFiles, XTestEmbedFiles []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		folder, err := filepath.Rel(c.root, p.Dir)
		if p.Standard || err != nil || strings.HasPrefix(folder, "..") {
			continue
		}
		files := slices.Concat(p.GoFiles, p.EmbedFiles)
		if !p.DepOnly {
			files = slices.Concat(files, p.TestGoFiles, p.XTestGoFiles, p.TestEmbedFiles, p.XTestEmbedFiles)
		}
		for _, file := range files {
			if !filepath.IsAbs(file) && !strings.HasSuffix(file, "_test.rego") {
				names = append(names, filepath.Join(folder, file))
			}
		}
	}
	require.NoError(t, cmd.Wait())
	require.NotEmpty(t, names)
	return names
}

// TestSystemsShareNoHelpers: a file of test/e2e that is named for a system runs the suite of
// that system alone, so other files use nothing that it declares. selection_test.go lists
// the systems.
func TestSystemsShareNoHelpers(t *testing.T) {
	t.Parallel()
	c, err := findCheckout()
	require.NoError(t, err)
	names, err := filepath.Glob(filepath.Join(c.root, "test", "e2e", "*_test.go"))
	require.NoError(t, err)
	systemOf := func(name string) string {
		first, _, _ := strings.Cut(filepath.Base(name), "_")
		if slices.Contains(append([]string{gatekeeper}, systems...), first) {
			return first
		}
		return ""
	}
	files, declared := map[string]*ast.File{}, map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files[name] = file
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				declared[f.Name.Name] = name
			}
		}
	}
	for name, file := range files {
		if filepath.Base(name) == "selection_test.go" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if called, ok := call.Fun.(*ast.Ident); ok {
				if home := declared[called.Name]; home != "" && systemOf(home) != "" && systemOf(home) != systemOf(name) && !declares(file, called.Name) {
					t.Errorf("%s calls %s of %s: move it to common_test.go", filepath.Base(name), called.Name, filepath.Base(home))
				}
			}
			return true
		})
	}
}

// declares says whether a variable or parameter of a file has a name.
func declares(file *ast.File, name string) (found bool) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, left := range node.Lhs {
				if ident, ok := left.(*ast.Ident); ok && node.Tok == token.DEFINE && ident.Name == name {
					found = true
				}
			}
		case *ast.Field:
			for _, ident := range node.Names {
				found = found || ident.Name == name
			}
		}
		return true
	})
	return found
}
