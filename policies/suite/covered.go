package suite

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
)

// coverageRecorder records which lines of some files tests reach.
type coverageRecorder struct {
	modules map[string]*ast.Module // as they are written, by file
	reached eval.Coverage
}

// report is the coverage of the files that have Rego, by name.
func (c *coverageRecorder) report() []Coverage {
	report := []Coverage{}
	ran, gave := map[string][]eval.Place{}, map[string][]eval.Place{}
	for at, outcome := range c.reached.Outcomes() {
		ran[at.File] = append(ran[at.File], at)
		if outcome.Gave {
			gave[at.File] = append(gave[at.File], at)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(c.modules)) {
		covered, missed := split(c.modules[file], ran[file], gave[file])
		if all := len(covered) + len(missed); all > 0 {
			report = append(report, Coverage{File: file, Percent: 100 * float64(len(covered)) / float64(all), NotCovered: joined(missed)})
		}
	}
	return report
}

// split separates the lines whose rules gave a value and whose expressions were reached from all
// others. Terms within a reached expression count as reached. A line with both is missed.
func split(module *ast.Module, ran, gave []eval.Place) (covered, missed map[int]bool) {
	var reached, others []*ast.Location
	note := func(text *ast.Location, runs bool, places []eval.Place) {
		if !text.HasFile() { // what the compiler adds
			return
		}
		if slices.ContainsFunc(places, func(at eval.Place) bool { return at.IsWithin(text) }) {
			reached = append(reached, text)
		} else if runs {
			others = append(others, text)
		}
	}
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Rule:
			note(node.Head.Location, true, gave)
			return node.Default // and its body is the compiler's
		case *ast.Expr:
			_, declares := node.Terms.(*ast.SomeDecl) // perhaps nothing else
			note(node.Location, !declares, ran)
		}
		return false
	}).Walk(module)
	others = slices.DeleteFunc(others, func(other *ast.Location) bool {
		return slices.ContainsFunc(reached, eval.Place{File: other.File, Line: other.Row, Column: other.Col}.IsWithin)
	})
	covered, missed = linesOf(reached), linesOf(others)
	maps.DeleteFunc(covered, func(line int, _ bool) bool { return missed[line] })
	return covered, missed
}

func linesOf(texts []*ast.Location) map[int]bool {
	lines := map[int]bool{}
	for _, text := range texts {
		last, _ := text.End()
		for line := text.Row; line <= last; line++ {
			lines[line] = true
		}
	}
	return lines
}

// joined are lines in their order, those that follow each other together.
func joined(lines map[int]bool) (out []Lines) {
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		if n := len(out); n > 0 && out[n-1].To == line-1 {
			out[n-1].To = line
			continue
		}
		out = append(out, Lines{line, line})
	}
	return out
}
