package eval

import (
	"encoding/binary"
	"hash"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// planDigest writes the statements of a function without their places.
type planDigest struct {
	study *sharingStudy
	out   hash.Hash
	found *studied
	reads inputReads
}

func (w *planDigest) ints(values ...int64) {
	var b [8]byte
	for _, v := range values {
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		w.out.Write(b[:])
	}
}

func (w *planDigest) text(s string) {
	w.ints(int64(len(s)))
	w.out.Write([]byte(s))
}

func (w *planDigest) blocks(blocks []*ir.Block) {
	w.ints(int64(len(blocks)))
	for _, block := range blocks {
		if block == nil {
			w.ints(-1)
			continue
		}
		w.ints(int64(len(block.Stmts)))
		for _, s := range block.Stmts {
			w.statement(s)
		}
	}
}

// operand writes an operand, which is read as a whole.
func (w *planDigest) operand(o ir.Operand) {
	if local, ok := o.Value.(ir.Local); ok {
		w.reads.whole(local)
	}
	w.write(o)
}

func (w *planDigest) write(o ir.Operand) {
	switch v := o.Value.(type) {
	case ir.Local:
		w.ints(1, int64(v))
	case ir.StringIndex:
		w.ints(2)
		w.text(string(w.study.strings[v].Value.(ast.String)))
	case ir.Bool:
		b := int64(0)
		if v {
			b = 1
		}
		w.ints(3, b)
	}
}

// key is the constant string that an operand is.
func (w *planDigest) key(o ir.Operand) (string, bool) {
	i, ok := o.Value.(ir.StringIndex)
	if !ok {
		return "", false
	}
	return string(w.study.strings[i].Value.(ast.String)), true
}

// part writes a source of which only one key is read, into a target.
func (w *planDigest) part(source, key ir.Operand, target ir.Local) {
	local, isLocal := source.Value.(ir.Local)
	if name, isConstant := w.key(key); isLocal && isConstant {
		w.reads.part(local, name, target)
		w.write(source)
	} else {
		w.operand(source)
	}
	w.operand(key)
}

func (w *planDigest) call(s *ir.CallStmt) {
	w.ints(int64(len(s.Args)), int64(s.Result))
	if f := w.study.byName[s.Func]; f != nil {
		callee := w.study.of(s.Func)
		w.out.Write(callee.digest[:])
		w.found.isPure = w.found.isPure && callee.isPure
		w.found.wholeInput = w.found.wholeInput || callee.wholeInput
		w.found.readsPresence = w.found.readsPresence || callee.readsPresence
		w.found.prepares = w.found.prepares || callee.prepares
		w.found.loops = w.found.loops || callee.loops
		w.found.weight += callee.weight
		w.found.height = max(w.found.height, callee.height+1)
		w.found.parts = append(w.found.parts, callee.parts...)
		for i, argument := range s.Args {
			if local, ok := argument.Value.(ir.Local); i < 2 && ok && int(local) == i {
				w.write(argument)
			} else {
				w.operand(argument)
			}
		}
		return
	}
	w.text(s.Func)
	w.found.weight += builtinWeight
	b := ast.BuiltinMap[s.Func]
	if b == nil || b.Nondeterministic && s.Func != "time.now_ns" || impure[s.Func] {
		w.found.isPure = false
	}
	if f, ok := w.study.functions(s.Func); !ok || f.Prepare != nil {
		w.found.prepares = true
	}
	args := s.Args
	if s.Func == ast.ObjectGet.Name && len(args) > 2 {
		w.part(args[0], args[1], s.Result)
		args = args[2:]
	}
	for _, argument := range args {
		w.operand(argument)
	}
}

var impure = map[string]bool{"print": true, "internal.print": true, "internal.test_case": true, "trace": true}

func (w *planDigest) locals(read []ir.Local, set ...ir.Local) {
	for _, local := range read {
		w.reads.whole(local)
		w.ints(int64(local))
	}
	for _, local := range set {
		w.ints(int64(local))
	}
}

func (w *planDigest) statement(s ir.Stmt) {
	w.found.weight++
	switch s := s.(type) {
	case *ir.NopStmt:
		w.ints(100)
	case *ir.BlockStmt:
		w.ints(101)
		w.blocks(s.Blocks)
	case *ir.BreakStmt:
		w.ints(102, int64(s.Index))
	case *ir.ReturnLocalStmt:
		w.ints(103)
		w.locals([]ir.Local{s.Source})
	case *ir.NotStmt:
		w.ints(104)
		w.blocks([]*ir.Block{s.Block})
	case *ir.ScanStmt:
		w.ints(105)
		w.found.loops = true
		w.locals([]ir.Local{s.Source}, s.Key, s.Value)
		w.blocks([]*ir.Block{s.Block})
	case *ir.CallStmt:
		w.ints(106)
		w.call(s)
	case *ir.DotStmt:
		w.ints(107, int64(s.Target))
		w.part(s.Source, s.Key, s.Target)
	case *ir.LenStmt:
		w.ints(108, int64(s.Target))
		w.operand(s.Source)
	case *ir.AssignIntStmt:
		w.ints(109, s.Value, int64(s.Target))
	case *ir.AssignVarStmt:
		w.ints(110, int64(s.Target))
		if local, isLocal := s.Source.Value.(ir.Local); isLocal {
			w.reads.assigned(local, s.Target)
		}
		w.write(s.Source)
	case *ir.AssignVarOnceStmt:
		w.ints(111, int64(s.Target))
		w.operand(s.Source)
	case *ir.ResetLocalStmt:
		w.ints(112, int64(s.Target))
	case *ir.MakeNullStmt:
		w.ints(113, int64(s.Target))
	case *ir.MakeNumberIntStmt:
		w.ints(114, s.Value, int64(s.Target))
	case *ir.MakeNumberRefStmt:
		w.ints(115, int64(s.Target))
		w.text(string(w.study.strings[s.Index].Value.(ast.String)))
	case *ir.MakeArrayStmt:
		w.ints(116, int64(s.Target))
	case *ir.MakeObjectStmt:
		w.ints(117, int64(s.Target))
	case *ir.MakeSetStmt:
		w.ints(118, int64(s.Target))
	case *ir.EqualStmt:
		w.ints(119)
		w.operand(s.A)
		w.operand(s.B)
	case *ir.NotEqualStmt:
		w.ints(120)
		w.operand(s.A)
		w.operand(s.B)
	case *ir.IsArrayStmt:
		w.ints(121)
		w.operand(s.Source)
	case *ir.IsObjectStmt:
		w.ints(122)
		w.operand(s.Source)
	case *ir.IsSetStmt:
		w.ints(123)
		w.operand(s.Source)
	case *ir.IsDefinedStmt:
		w.ints(124, int64(s.Source))
		w.reads.presence(s.Source)
	case *ir.IsUndefinedStmt:
		w.ints(125, int64(s.Source))
		w.reads.presence(s.Source)
	case *ir.ArrayAppendStmt:
		w.ints(126, int64(s.Array))
		w.operand(s.Value)
	case *ir.ObjectInsertStmt:
		w.ints(127, int64(s.Object))
		w.operand(s.Key)
		w.operand(s.Value)
	case *ir.ObjectInsertOnceStmt:
		w.ints(128, int64(s.Object))
		w.operand(s.Key)
		w.operand(s.Value)
	case *ir.ObjectMergeStmt:
		w.ints(129)
		w.locals([]ir.Local{s.A, s.B}, s.Target)
	case *ir.SetAddStmt:
		w.ints(130, int64(s.Set))
		w.operand(s.Value)
	default: // with, and calls of rules by computed names
		w.found.isPure = false
	}
}
