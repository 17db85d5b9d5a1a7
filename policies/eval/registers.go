package eval

import "github.com/open-policy-agent/opa/v1/ir"

// walkStatements visits the statements of a block and of those within it.
func walkStatements(block *ir.Block, visit func(ir.Stmt)) {
	if block == nil {
		return
	}
	for _, s := range block.Stmts {
		visit(s)
		switch s := s.(type) {
		case *ir.BlockStmt:
			for _, inner := range s.Blocks {
				walkStatements(inner, visit)
			}
		case *ir.ScanStmt:
			walkStatements(s.Block, visit)
		case *ir.NotStmt:
			walkStatements(s.Block, visit)
		case *ir.WithStmt:
			walkStatements(s.Block, visit)
		}
	}
}

// written are the registers that a statement sets.
func written(s ir.Stmt) []ir.Local {
	switch s := s.(type) {
	case *ir.CallStmt:
		return []ir.Local{s.Result}
	case *ir.CallDynamicStmt:
		return []ir.Local{s.Result}
	case *ir.DotStmt:
		return []ir.Local{s.Target}
	case *ir.LenStmt:
		return []ir.Local{s.Target}
	case *ir.ScanStmt:
		return []ir.Local{s.Key, s.Value}
	case *ir.AssignIntStmt:
		return []ir.Local{s.Target}
	case *ir.AssignVarStmt:
		return []ir.Local{s.Target}
	case *ir.AssignVarOnceStmt:
		return []ir.Local{s.Target}
	case *ir.ResetLocalStmt:
		return []ir.Local{s.Target}
	case *ir.MakeNullStmt:
		return []ir.Local{s.Target}
	case *ir.MakeNumberIntStmt:
		return []ir.Local{s.Target}
	case *ir.MakeNumberRefStmt:
		return []ir.Local{s.Target}
	case *ir.MakeArrayStmt:
		return []ir.Local{s.Target}
	case *ir.MakeObjectStmt:
		return []ir.Local{s.Target}
	case *ir.MakeSetStmt:
		return []ir.Local{s.Target}
	case *ir.ArrayAppendStmt:
		return []ir.Local{s.Array}
	case *ir.ObjectInsertStmt:
		return []ir.Local{s.Object}
	case *ir.ObjectInsertOnceStmt:
		return []ir.Local{s.Object}
	case *ir.ObjectMergeStmt:
		return []ir.Local{s.Target}
	case *ir.SetAddStmt:
		return []ir.Local{s.Set}
	case *ir.WithStmt:
		return []ir.Local{s.Local}
	}
	return nil
}

// read are the registers that a statement uses.
func read(s ir.Stmt) (locals []ir.Local) {
	use := func(operands ...ir.Operand) {
		for _, operand := range operands {
			if local, ok := operand.Value.(ir.Local); ok {
				locals = append(locals, local)
			}
		}
	}
	switch s := s.(type) {
	case *ir.ReturnLocalStmt:
		return []ir.Local{s.Source}
	case *ir.CallStmt:
		use(s.Args...)
	case *ir.CallDynamicStmt:
		use(s.Path...)
		return append(locals, s.Args...)
	case *ir.DotStmt:
		use(s.Source, s.Key)
	case *ir.LenStmt:
		use(s.Source)
	case *ir.ScanStmt:
		return []ir.Local{s.Source}
	case *ir.AssignVarStmt:
		use(s.Source)
	case *ir.AssignVarOnceStmt:
		use(s.Source)
	case *ir.EqualStmt:
		use(s.A, s.B)
	case *ir.NotEqualStmt:
		use(s.A, s.B)
	case *ir.IsArrayStmt:
		use(s.Source)
	case *ir.IsObjectStmt:
		use(s.Source)
	case *ir.IsSetStmt:
		use(s.Source)
	case *ir.IsDefinedStmt:
		return []ir.Local{s.Source}
	case *ir.IsUndefinedStmt:
		return []ir.Local{s.Source}
	case *ir.ArrayAppendStmt:
		use(s.Value)
	case *ir.ObjectInsertStmt:
		use(s.Key, s.Value)
	case *ir.ObjectInsertOnceStmt:
		use(s.Key, s.Value)
	case *ir.ObjectMergeStmt:
		return []ir.Local{s.A, s.B}
	case *ir.SetAddStmt:
		use(s.Value)
	case *ir.WithStmt:
		use(s.Value)
	case *ir.ResultSetAddStmt:
		return []ir.Local{s.Value}
	}
	return locals
}
