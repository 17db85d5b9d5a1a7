package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/reference/flags.md as the flags are")

const (
	root   = "../.."
	folder = root + "/docs/reference/"
)

// programs are those of Puppet servers, and what each does.
var programs = []struct{ name, purpose string }{
	{"openvox-autosign", "decides on certificate requests at the CA, by SigningPolicies"},
	{"openvox-enc", "classifies nodes, by a NodeClassifier"},
	{"openvox-report", "sends reports, by ReportProcessors"},
}

// TestReferenceIsCurrent: docs/reference has each flag of the manager and of the programs of
// Puppet servers.
func TestReferenceIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Flags of the manager\n\n<!-- Written by make generate, from the flags. -->\n\n" +
		"The file of `--config` has the same names without dashes, and a flag overrides the file. " +
		"The flags of the command `lintel` are on [its pages](cli/lintel.md), " +
		"those of the programs of Puppet servers on [another page](programs.md), and those of recording on [a third](record-flags.md).\n")
	o := &options{parts: parts()}
	sections := map[string][][]string{}
	o.flags().VisitAll(func(f *pflag.Flag) {
		assert.NotEmpty(t, f.Usage, "the manager's flag --%s has no description", f.Name)
		system, _, _ := strings.Cut(f.Name, "-")
		if len(system) == len(f.Name) || !slices.Contains(o.systemNames(), system) {
			system = ""
		}
		if f.Name == "record" || strings.HasPrefix(f.Name, "record-") {
			system = "record"
		}
		kind, usage := pflag.UnquoteUsage(f)
		sections[system] = append(sections[system], row(f.Name, kind, f.DefValue, usage))
	})
	section(&b, "General flags", "", sections[""])
	for _, system := range o.systemNames() {
		section(&b, "Flags of "+system, fmt.Sprintf("These flags have an effect with `--systems=%s`.\n\n", system), sections[system])
	}
	current(t, "flags.md", b.String())

	b.Reset()
	b.WriteString("# Flags of recording\n\n<!-- Written by make generate, from the flags. -->\n\n" +
		"These flags of the manager are explained on the page [Record safely](../how-to/record-requests.md).\n")
	section(&b, "Flags", "", sections["record"])
	current(t, "record-flags.md", b.String())

	b.Reset()
	b.WriteString("# Programs of Puppet servers\n\n<!-- Written by make generate, from the flags. -->\n\n" +
		"The images of Puppet servers have these programs in `/usr/local/bin`. The OpenVox controllers configure them.\n")
	for _, program := range programs {
		rows := programFlags(t, "cmd/"+program.name)
		section(&b, "lintel-"+program.name, fmt.Sprintf("The program %s.\n\n", program.purpose), rows)
	}
	current(t, "programs.md", b.String())
}

// current compares a page with the text that it should have, or writes it.
func current(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(folder+page, []byte(want), 0o644))
	}
	have, err := os.ReadFile(folder + page)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "run make generate")
}

func section(b *strings.Builder, title, text string, rows [][]string) {
	fmt.Fprintf(b, "\n## %s\n\n%s| Flag | Description |\n|---|---|\n", title, text)
	for _, cells := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func row(name, kind, standard, usage string) []string {
	head := strings.TrimSpace("`--" + name + "` " + kind)
	if standard = strings.Trim(standard, "[]"); standard != "" {
		head += "<br>default `" + standard + "`"
	}
	usage = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(usage)
	if !strings.HasPrefix(usage, "lintel") && usage != "" {
		usage = strings.ToUpper(usage[:1]) + usage[1:]
	}
	return []string{head, strings.TrimSuffix(usage, ".") + "."}
}

// programFlags are the flags that a program defines, read from its code: flags.String(name,
// default, usage) and the like.
func programFlags(t *testing.T, folder string) (rows [][]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if receiver, ok := of.X.(*ast.Ident); !ok || receiver.Name != "flags" {
				return true
			}
			name, usage := literal(call.Args[0]), literal(call.Args[2])
			assert.NotEmpty(t, usage, "%s: flag --%s has no description", folder, name)
			rows = append(rows, row(name, strings.ToLower(of.Sel.Name), constant(t, folder, call.Args[1]), usage))
			return true
		})
	}
	require.NotEmpty(t, rows, "%s has no flags", folder)
	return rows
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		value, _ := strconv.Unquote(l.Value)
		return value
	}
	return ""
}

// constant is the value of a constant of a program, or of the package of its files.
func constant(t *testing.T, folder string, e ast.Expr) string {
	t.Helper()
	id, ok := e.(*ast.Ident)
	if selector, is := e.(*ast.SelectorExpr); is {
		id, ok, folder = selector.Sel, true, "controllers/openvox/"+selector.X.(*ast.Ident).Name
	}
	require.True(t, ok, "%s: the default of a flag is not a constant", folder)
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range file.Decls {
			general, ok := declared.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok && len(value.Values) == 1 && value.Names[0].Name == id.Name {
					return expression(t, folder, value.Values[0])
				}
			}
		}
	}
	require.Fail(t, "no constant", "%s has no constant %s", folder, id.Name)
	return ""
}

// expression is the value of a constant: a text, texts that are added, or a duration as people
// write it, such as 5s.
func expression(t *testing.T, folder string, e ast.Expr) string {
	t.Helper()
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			return literal(x)
		}
		return x.Value
	case *ast.Ident:
		return constant(t, folder, x)
	case *ast.SelectorExpr:
		return map[string]string{"Second": "s", "Millisecond": "ms", "Minute": "m"}[x.Sel.Name]
	case *ast.BinaryExpr:
		return expression(t, folder, x.X) + expression(t, folder, x.Y)
	}
	require.Fail(t, "unknown constant", "%s: %T", folder, e)
	return ""
}
