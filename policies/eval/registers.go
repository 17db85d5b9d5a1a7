package eval

import "github.com/open-policy-agent/opa/v1/ir"

// walkStatements visits the statements of a block and of those within it.
func walkStatements(block *ir.Block, visit func(ir.Stmt)) {
	if block == nil {
		return
	}
	for _, s := range block.Stmts {
		visit(s)
		for _, inner := range blocksOf(s) {
			walkStatements(inner, visit)
		}
	}
}

// blocksOf are the blocks within a statement, some of which may be nil.
func blocksOf(s ir.Stmt) []*ir.Block {
	switch s := s.(type) {
	case *ir.BlockStmt:
		return s.Blocks
	case *ir.ScanStmt:
		return []*ir.Block{s.Block}
	case *ir.NotStmt:
		return []*ir.Block{s.Block}
	case *ir.WithStmt:
		return []*ir.Block{s.Block}
	}
	return nil
}

// registersOf calls use with each register that a statement uses, and then set with each
// that it sets.
func registersOf(s ir.Stmt, use, set func(ir.Local)) {
	take := func(operands ...ir.Operand) {
		for _, operand := range operands {
			if local, ok := operand.Value.(ir.Local); ok {
				use(local)
			}
		}
	}
	switch s := s.(type) {
	case *ir.ReturnLocalStmt:
		use(s.Source)
	case *ir.CallStmt:
		take(s.Args...)
		set(s.Result)
	case *ir.CallDynamicStmt:
		take(s.Path...)
		for _, argument := range s.Args {
			use(argument)
		}
		set(s.Result)
	case *ir.DotStmt:
		take(s.Source, s.Key)
		set(s.Target)
	case *ir.LenStmt:
		take(s.Source)
		set(s.Target)
	case *ir.ScanStmt:
		use(s.Source)
		set(s.Key)
		set(s.Value)
	case *ir.AssignIntStmt:
		set(s.Target)
	case *ir.AssignVarStmt:
		take(s.Source)
		set(s.Target)
	case *ir.AssignVarOnceStmt:
		take(s.Source)
		set(s.Target)
	case *ir.ResetLocalStmt:
		set(s.Target)
	case *ir.MakeNullStmt:
		set(s.Target)
	case *ir.MakeNumberIntStmt:
		set(s.Target)
	case *ir.MakeNumberRefStmt:
		set(s.Target)
	case *ir.MakeArrayStmt:
		set(s.Target)
	case *ir.MakeObjectStmt:
		set(s.Target)
	case *ir.MakeSetStmt:
		set(s.Target)
	case *ir.EqualStmt:
		take(s.A, s.B)
	case *ir.NotEqualStmt:
		take(s.A, s.B)
	case *ir.IsArrayStmt:
		take(s.Source)
	case *ir.IsObjectStmt:
		take(s.Source)
	case *ir.IsSetStmt:
		take(s.Source)
	case *ir.IsDefinedStmt:
		use(s.Source)
	case *ir.IsUndefinedStmt:
		use(s.Source)
	case *ir.ArrayAppendStmt:
		take(s.Value)
		set(s.Array)
	case *ir.ObjectInsertStmt:
		take(s.Key, s.Value)
		set(s.Object)
	case *ir.ObjectInsertOnceStmt:
		take(s.Key, s.Value)
		set(s.Object)
	case *ir.ObjectMergeStmt:
		use(s.A)
		use(s.B)
		set(s.Target)
	case *ir.SetAddStmt:
		take(s.Value)
		set(s.Set)
	case *ir.WithStmt:
		take(s.Value)
		set(s.Local)
	case *ir.ResultSetAddStmt:
		use(s.Value)
	}
}
