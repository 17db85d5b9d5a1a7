package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is a Go file of the product.
type source struct {
	path string // from the root
	file *ast.File
}

// sources parses the product's files below folders, without tests and generated files.
func sources(t *testing.T, folders ...string) (found []source) {
	t.Helper()
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") || strings.Contains(path, "/openvoxtest/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil || ast.IsGenerated(file) {
				return err
			}
			name, err := filepath.Rel(root, path)
			found = append(found, source{filepath.ToSlash(name), file})
			return err
		}))
	}
	return found
}

// text is the value of a string literal, or of several that are added.
func text(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			value, err := strconv.Unquote(x.Value)
			return value, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := text(x.X)
		right, isRight := text(x.Y)
		if isLeft || isRight {
			if !isLeft {
				left = "…"
			}
			if !isRight {
				right = "…"
			}
			return left + right, x.Op == token.ADD
		}
	}
	return "", false
}

// name is the last part of what a call calls.
func name(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
