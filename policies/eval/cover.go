package eval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Place is the location of an expression in a policy; lines and columns begin at 1.
type Place struct {
	File      string
	Line      int
	Column    int
	EndLine   int
	EndColumn int
}

// IsWithin says whether a place begins in a text of a policy.
func (p Place) IsWithin(text *ast.Location) bool {
	line, column := text.End()
	begins := p.Line > text.Row || p.Line == text.Row && p.Column >= text.Col
	ends := p.Line < line || p.Line == line && p.Column < column
	first := p.Line == text.Row && p.Column == text.Col // of a text that is not known
	return p.File == text.File && begins && (ends || first)
}

// Coverage is what statements came to, by their places. The zero value is ready; it is
// for one goroutine.
type Coverage struct {
	places map[Place]Outcome
}

// Outcome is what the statements at a place came to.
type Outcome struct {
	// Held says that one of them held, Failed that one was undefined, and Gave, of the
	// head of a rule, that it gave a value.
	Held, Failed, Gave bool
}

// Outcomes are those of all places that were reached.
func (c *Coverage) Outcomes() map[Place]Outcome { return c.places }

// Has says whether a statement in a text came to an outcome.
func (c *Coverage) Has(text *ast.Location, wanted func(Outcome) bool) bool {
	for at, outcome := range c.places {
		if wanted(outcome) && at.IsWithin(text) {
			return true
		}
	}
	return false
}

func (c *Coverage) note(place Place, code ctl, gives bool) {
	if c.places == nil {
		c.places = map[Place]Outcome{}
	}
	outcome := c.places[place]
	outcome.Held = outcome.Held || code == next || code == returned
	outcome.Failed = outcome.Failed || code == undef
	outcome.Gave = outcome.Gave || gives && (code == next || code == returned)
	c.places[place] = outcome
}

// placeOf is where a statement stands, with its end.
func (c *compiler) placeOf(s ir.Stmt) Place {
	at, location := c.place(s), s.GetLocation()
	return Place{at.File, at.Row, at.Col, location.EndRow, location.EndCol}
}

// covered is a statement that records its outcome.
func (c *compiler) covered(s ir.Stmt, compiled op) op {
	gives := false
	switch s := s.(type) {
	case *ir.ResetLocalStmt, *ir.ReturnLocalStmt, *ir.BlockStmt:
		return compiled
	case *ir.AssignVarOnceStmt:
		if local, ok := s.Source.Value.(ir.Local); ok && c.once[local] != 0 {
			return compiled // the place is that of the last of several rules
		}
		gives = true
	case *ir.SetAddStmt, *ir.ObjectInsertStmt, *ir.ObjectInsertOnceStmt:
		gives = true
	}
	place := c.placeOf(s)
	return func(m *machine, r []*ast.Term) ctl {
		code := compiled(m, r)
		if m.cover != nil {
			m.cover.note(place, code, gives)
		}
		return code
	}
}
