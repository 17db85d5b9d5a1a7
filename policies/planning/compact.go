package planning

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// Compact drops what only compiling needs: comments, and the exact place of every term.
// Findings and errors of evaluation name a line, which the terms on it share. Rules
// keep their place.
func Compact(modules map[string]*ast.Module) {
	for _, module := range modules {
		module.Comments = nil
		for _, rule := range module.Rules {
			for branch := rule.Else; branch != nil; branch = branch.Else {
				branch.Module = module // and not the one that was parsed
			}
		}
		lines := lines{}
		ast.NewGenericVisitor(func(node any) bool {
			switch node := node.(type) {
			case *ast.Term:
				lines.share(&node.Location)
			case *ast.Expr:
				lines.share(&node.Location)
			case *ast.Head:
				lines.share(&node.Location)
			case *ast.With:
				lines.share(&node.Location)
			}
			return false
		}).Walk(module)
	}
}

// lines are the locations that are shared, one for each line of a file.
type lines map[definition.Location]*ast.Location

// share skips nodes without a location: they may be terms that all programs share.
func (l lines) share(at **ast.Location) {
	if *at == nil {
		return
	}
	line := definition.LocationOf(*at)
	if l[line] == nil {
		l[line] = &ast.Location{File: line.File, Row: line.Line, Col: 1}
	}
	*at = l[line]
}
