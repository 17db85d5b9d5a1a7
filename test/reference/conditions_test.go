package reference

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// value is a condition type or a reason as the API has it.
var value = regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`)

// vocabulary are the condition types and the reasons of a system, with their descriptions.
type vocabulary struct{ conditions, reasons map[string]string }

// addConditions adds a page of the condition types and the reasons of conditions and Events.
// The description is the comment at the constant, or is in described.
func (p pages) addConditions(t *testing.T) {
	found := map[string]vocabulary{}
	for _, system := range systems {
		found[system.folder] = vocabulary{map[string]string{}, map[string]string{}}
	}
	for _, s := range sources(t, "api", "controllers", "policies/engine", "policies/external", "policies/scope", "policies/source", "webhooks/registration") {
		of := found[systemOf(s.path)]
		of.constants(s.file)
		of.literals(s.file)
	}
	var index [][]string
	used := map[string]bool{}
	for _, system := range systems {
		of := found[system.folder]
		var sections []section
		for _, part := range []struct {
			heading, column string
			words           map[string]string
		}{{"Conditions", "Condition", of.conditions}, {"Reasons", "Reason", of.reasons}} {
			var rows [][]string
			for word, comment := range part.words {
				id := system.folder + " " + word
				if text, ok := described[id]; ok && comment == "" {
					comment, used[id] = text, true
				}
				assert.NotEmpty(t, comment, "%s: %s %s has no description: write a comment at its constant", system.name, strings.ToLower(part.column), word)
				rows = append(rows, []string{code(word), cell(sentence(comment))})
			}
			require.NotEmpty(t, rows, "%s has no %s", system.name, strings.ToLower(part.heading))
			slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
			sections = append(sections, section{system.name, "## " + part.heading + "\n\n" + table([]string{part.column, "Description"}, rows)})
		}
		title := "Conditions and reasons of " + system.name
		if system.folder == "policy" {
			title = "Conditions and reasons of PolicySources, PolicyExceptions and DataSources"
		}
		p.add(t, "conditions/"+system.folder+".md", title, "the constants in the code",
			"Objects report these conditions in `status.conditions`, with these reasons. Events have reasons of the same list.", sections)
		index = append(index, []string{"[" + title + "](conditions/" + system.folder + ".md)"})
	}
	for id := range described {
		assert.True(t, used[id], "described has %q, which is not in the code or has a comment there", id)
	}
	p.add(t, "conditions.md", "Conditions and reasons", "the constants in the code",
		"A condition of an object has a type, such as `Ready`, a status (`True`, `False` or `Unknown`), a reason and a message. The message is for people and may change.",
		[]section{{text: table([]string{"Page"}, index)}})
}

// constants adds the constants whose names begin with Condition or Reason.
func (v vocabulary) constants(file *ast.File) {
	for _, declared := range file.Decls {
		general, ok := declared.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			constant := spec.(*ast.ValueSpec)
			if len(constant.Values) != 1 {
				continue
			}
			word, ok := text(constant.Values[0])
			if !ok || !value.MatchString(word) {
				continue
			}
			id := constant.Names[0].Name
			comment := constant.Doc.Text()
			if constant.Comment != nil {
				comment = constant.Comment.Text()
			}
			if comment == "" && len(general.Specs) == 1 {
				comment = general.Doc.Text()
			}
			comment = withoutName(id, comment)
			switch lower := strings.ToLower(id); {
			case strings.HasPrefix(lower, "condition"):
				v.conditions[word] = cmpOr(v.conditions[word], comment)
			case strings.HasPrefix(lower, "reason") || strings.HasPrefix(id, "Import"):
				v.reasons[word] = cmpOr(v.reasons[word], comment)
			}
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// withoutName is a comment without the name of its constant, which users do not see.
func withoutName(id, comment string) string {
	comment = strings.TrimSpace(strings.ReplaceAll(comment, "\n", " "))
	for _, verb := range []string{" is ", " are ", ": ", " means that ", " says that ", " says ", " "} {
		if rest, ok := strings.CutPrefix(comment, id+verb); ok {
			return rest
		}
	}
	return comment
}

// literals adds the reasons that are written where a condition or an Event is created.
func (v vocabulary) literals(file *ast.File) {
	add := func(e ast.Expr) {
		if word, ok := text(e); ok && value.MatchString(word) {
			if _, known := v.reasons[word]; !known {
				v.reasons[word] = ""
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.KeyValueExpr:
			if strings.EqualFold(name(x.Key), "reason") {
				add(x.Value)
			}
		case *ast.AssignStmt:
			for i, left := range x.Lhs {
				if len(x.Lhs) == len(x.Rhs) && strings.EqualFold(name(left), "reason") {
					add(x.Rhs[i])
				}
			}
		case *ast.CallExpr:
			if name(x.Fun) == "Set" && len(x.Args) == 4 {
				add(x.Args[2])
			}
			if name(x.Fun) == "begins" && len(x.Args) == 1 { // Events, by the reasons that begin with them
				if events, ok := x.Args[0].(*ast.CompositeLit); ok {
					for _, element := range events.Elts {
						add(element.(*ast.KeyValueExpr).Value)
					}
				}
			}
		}
		return true
	})
}
