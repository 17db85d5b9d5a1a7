package reference

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metric is the name of one of Lintel's metrics.
var metricName = regexp.MustCompile(`^(lintel|openvox)_[a-z0-9_]+$`)

// types are those of metrics by a part of the function that creates one.
var types = []struct{ part, name string }{{"Counter", "counter"}, {"Gauge", "gauge"}, {"Histogram", "histogram"}, {"Summary", "summary"}}

// addMetrics adds a page of all metrics: a metric is a string literal with its name that is
// followed by one with its help, in a call or in options.
func (p pages) addMetrics(t *testing.T) {
	bySystem := map[string][][]string{}
	seen := map[string]bool{}
	for _, s := range sources(t, "cmd", "controllers", "webhooks", "policies") {
		lists := listsOf(s.file)
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			id, help := "", ""
			var labels []string
			kind := typeOf(name(call.Fun))
			for _, arg := range call.Args {
				for _, value := range append([]ast.Expr{arg}, optionsOf(arg)...) {
					if words, ok := text(value); ok {
						if metricName.MatchString(words) && id == "" {
							id = words
						} else if help == "" {
							help = words
						}
					}
				}
				labels = append(labels, stringsOf(arg, lists)...)
			}
			if id == "" || seen[id] || help == "" && kind == "" && name(call.Fun) != "NewDesc" {
				return true
			}
			seen[id] = true
			assert.NotEmpty(t, help, "%s: metric %s has no description", s.path, id)
			if kind == "" {
				kind = "gauge"
				if strings.HasSuffix(id, "_total") {
					kind = "counter"
				}
			}
			var quoted []string
			for _, label := range labels {
				quoted = append(quoted, code(label))
			}
			system := systemOf(s.path)
			facts := kind
			if len(quoted) > 0 {
				facts += ", by " + strings.Join(quoted, ", ")
			}
			bySystem[system] = append(bySystem[system], []string{code(id) + "<br>" + facts, cell(sentence(help))})
			return true
		})
	}
	require.Greater(t, len(seen), 40)
	var sections []section
	for _, system := range systems {
		rows := bySystem[system.folder]
		if len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		sections = append(sections, section{system.name, "## " + system.name + "\n\n" + table([]string{"Metric, type and labels", "Description"}, rows)})
	}
	p.add(t, "metrics.md", "Metrics", "the metrics that the manager registers",
		"The manager serves these metrics at `--metrics-bind-address`, next to those of Go and controller-runtime.", sections)
}

func typeOf(function string) string {
	for _, kind := range types {
		if strings.Contains(function, kind.part) {
			return kind.name
		}
	}
	return ""
}

// optionsOf are the values of the Name and Help of options.
func optionsOf(e ast.Expr) (values []ast.Expr) {
	options, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range options.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && (name(pair.Key) == "Name" || name(pair.Key) == "Help") {
			values = append(values, pair.Value)
		}
	}
	return values
}

// stringsOf are the elements of a list of strings, or of the list that a variable has.
func stringsOf(e ast.Expr, lists map[string][]string) (values []string) {
	if id, ok := e.(*ast.Ident); ok {
		return lists[id.Name]
	}
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	if _, ok := list.Type.(*ast.ArrayType); !ok {
		return nil
	}
	for _, element := range list.Elts {
		if value, ok := text(element); ok {
			values = append(values, value)
		}
	}
	return values
}

// listsOf are the lists of strings of a file's variables.
func listsOf(file *ast.File) map[string][]string {
	lists := map[string][]string{}
	for _, declared := range file.Decls {
		general, ok := declared.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && len(value.Values) == 1 {
				lists[value.Names[0].Name] = stringsOf(value.Values[0], nil)
			}
		}
	}
	return lists
}

// systems are the parts of Lintel, by folders of their code.
var systems = []struct{ folder, name string }{
	{"policy", "Policies"}, {"openclaw", "OpenClaw"}, {"openvox", "OpenVox"}, {"orloj", "Orloj"}, {"openzro", "openZro"}, {"zopp", "zopp"},
}

// systemOf is the system that a file belongs to: policies, if it is of none.
func systemOf(path string) string {
	parts := strings.Split(path, "/")
	for _, system := range systems {
		if slices.ContainsFunc(parts, func(part string) bool { return strings.TrimPrefix(part, "lintel-") == system.folder }) {
			return system.folder
		}
	}
	if strings.HasPrefix(path, "cmd/openvox-") {
		return "openvox"
	}
	return "policy"
}
