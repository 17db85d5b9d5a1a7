package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// picture is a flowchart of Mermaid.
	picture = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")
	// node is a function with its package, such as validate["policies/engine<br/>Snapshot.Validate"].
	node = regexp.MustCompile(`(\w+)\["([\w/-]+)<br/>([\w.]+)"\]`)
	// call is an arrow that is not dotted.
	call = regexp.MustCompile(`(\w+)(?:\["[^"]*"\])? -->(?:\|[^|]*\|)? (\w+)`)
)

// TestPictures holds the pictures of docs/development/call-paths.md against the code: each function
// is there, and one from which an arrow leads names the one that it leads to. A dotted arrow stands
// for a call through the cluster, a queue or a function value, and is not checked.
func TestPictures(t *testing.T) {
	pictures := picture.FindAllStringSubmatch(read(t, "docs/development/call-paths.md"), -1)
	require.NotEmpty(t, pictures)
	for _, match := range pictures {
		places := map[string][2]string{}
		for _, found := range node.FindAllStringSubmatch(match[1], -1) {
			places[found[1]] = [2]string{found[2], found[3]}
		}
		bodies := map[string]*ast.FuncDecl{}
		for id, place := range places {
			bodies[id] = function(t, place[0], place[1])
			assert.NotNil(t, bodies[id], "there is no %s in %s", place[1], place[0])
		}
		calls := call.FindAllStringSubmatch(match[1], -1)
		assert.NotEmpty(t, calls)
		for _, arrow := range calls {
			from, to := bodies[arrow[1]], bodies[arrow[2]]
			if !assert.False(t, from == nil || to == nil, "the arrow %q is not between functions", arrow[0]) {
				continue
			}
			assert.True(t, names(from, to.Name.Name), "%s does not name %s", places[arrow[1]][1], places[arrow[2]][1])
		}
	}
}

// function finds a function or a method, Type.Method, of a package: nil where there is none.
func function(t *testing.T, folder, name string) *ast.FuncDecl {
	t.Helper()
	receiver, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		receiver, method = "", name
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Name.Name == method && typeOf(f) == receiver {
				return f
			}
		}
	}
	return nil
}

// typeOf is the name of a method's receiver: empty for a function.
func typeOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	name := f.Recv.List[0].Type
	for {
		switch x := name.(type) {
		case *ast.StarExpr:
			name = x.X
		case *ast.IndexExpr:
			name = x.X
		case *ast.IndexListExpr:
			name = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// names says whether a function's body has a name in it.
func names(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}
