// Package architecture checks rules for the Go code of the whole repository.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

var (
	// ignored are the folders that .gitignore names, and those whose files are not compiled.
	ignored   = regexp.MustCompile(`^(\.git|bin|\.cluster|\.tools/venv)$|(^|/)testdata$`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// sources are the Go files that are written by hand and contain no tests, by path.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && ignored.MatchString(name) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !generated.Match(text) {
			files[name] = text
		}
		return err
	}))
	require.Greater(t, len(files), 500)
	return files
}

// TestNames fails for two names in one package that a reader confuses.
func TestNames(t *testing.T) {
	t.Parallel()
	for pair, packages := range map[[2]string]bool{
		{"Rule", "rule"}: true, {"Rule", "Rules"}: true, {"Diff", "diff"}: true, {"tenantBurst", "tenantsBurst"}: true,
		{"edit", "exit"}: true, {"Rules", "Rule"}: true, {"scaler1", "scaler2"}: false, {"Rule", "RuleList"}: false,
		{"Rule", "Role1"}: false, {"Group", "Groups2"}: false,
	} {
		assert.Equal(t, packages, similar(pair[0], pair[1]), "%v", pair)
	}

	names := map[string]map[string]token.Position{} // by package and name
	files := token.NewFileSet()
	for name, text := range sources(t) {
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		folder := filepath.Dir(name)
		if names[folder] == nil {
			names[folder] = map[string]token.Position{}
		}
		for _, identifier := range declared(file) {
			if len(identifier.Name) > 2 {
				names[folder][identifier.Name] = files.Position(identifier.Pos())
			}
		}
	}
	for _, positions := range names {
		all := slices.Sorted(maps.Keys(positions))
		for i, name := range all {
			for _, other := range all[i+1:] {
				assert.False(t, similar(name, other), "%s: rename %s or %s (%s): names in a package differ by more than one letter or case",
					positions[name], name, other, positions[other])
			}
		}
	}
}

// declared are the names that a file declares for its package. Methods belong to their types.
func declared(file *ast.File) (names []*ast.Ident) {
	for _, declaration := range file.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			if declaration.Recv == nil {
				names = append(names, declaration.Name)
			}
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name)
				case *ast.ValueSpec:
					names = append(names, spec.Names...)
				}
			}
		}
	}
	return names
}

// similar reports whether two names differ by case, or by one character that is not a digit, as
// of a version.
func similar(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	if b[same] >= '0' && b[same] <= '9' {
		return false
	}
	return a[same:] == b[same+1:] || len(a) == len(b) && a[same+1:] == b[same+1:]
}
