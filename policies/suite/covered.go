package suite

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
)

// coverage is what tests reach of some files.
type coverage struct {
	modules map[string]*ast.Module // as they are written, by file
	reached eval.Coverage
}

// stretch is a part of a file, from a line and column up to another.
type stretch struct{ line, column, endLine, endColumn int }

func stretchOf(text *ast.Location) stretch {
	line, column := text.End()
	return stretch{text.Row, text.Col, line, column}
}

func (s stretch) contains(other stretch) bool {
	begins := s.line < other.line || s.line == other.line && s.column <= other.column
	ends := s.endLine > other.endLine || s.endLine == other.endLine && s.endColumn >= other.endColumn
	return begins && ends
}

// report is the coverage of the files that have Rego, by name.
func (c *coverage) report() []Coverage {
	report := []Coverage{}
	ran, gave := map[string][]stretch{}, map[string][]stretch{}
	for at, outcome := range c.reached.Outcomes() {
		begin := stretch{at.Line, at.Column, at.Line, at.Column}
		ran[at.File] = append(ran[at.File], begin)
		if outcome.Gave {
			gave[at.File] = append(gave[at.File], begin)
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

// split tells the lines with rules that gave a value and expressions that were reached
// from those with others. What stands within an expression that was reached counts as
// reached. A line with both is missed.
func split(module *ast.Module, ran, gave []stretch) (covered, missed map[int]bool) {
	var reached, others []stretch
	note := func(text *ast.Location, runs bool, begins []stretch) {
		if !text.HasFile() { // what the compiler adds
			return
		}
		part := stretchOf(text)
		if slices.ContainsFunc(begins, part.contains) {
			reached = append(reached, part)
		} else if runs {
			others = append(others, part)
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
	others = slices.DeleteFunc(others, func(other stretch) bool {
		return slices.ContainsFunc(reached, func(part stretch) bool { return part.contains(other) })
	})
	covered, missed = linesOf(reached), linesOf(others)
	maps.DeleteFunc(covered, func(line int, _ bool) bool { return missed[line] })
	return covered, missed
}

func linesOf(stretches []stretch) map[int]bool {
	lines := map[int]bool{}
	for _, part := range stretches {
		for line := part.line; line <= part.endLine; line++ {
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
