package eval

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Program is a compiled plan. It does not change, and is safe for concurrent use.
type Program struct {
	queries      []*plannedFunction
	rules        map[string]*Rule
	functions    int
	statements   int
	capabilities *ast.Capabilities
	pool         sync.Pool // of machines
}

// Rule is a rule that a Program can evaluate, or several of one name.
type Rule struct{ function *plannedFunction }

// Rule is the rule at a reference, such as data.shop.deny: nil where none was planned.
func (p *Program) Rule(ref ast.Ref) *Rule { return p.rules[ref.String()] }

// Statements counts the statements of the program.
func (p *Program) Statements() int { return p.statements }

// plannedFunction is a planned function, or a query.
type plannedFunction struct {
	path       string // such as data.shop.deny
	index      int
	registers  int // how many it has
	parameters []int
	result     int
	blocks     [][]op
	// guards are conditions of each block, and only the one value that there can be.
	guards [][]guard
	only   *ast.Term
	// conflicts is the register that is set if a key of its object has two values, 0 if it does
	// not create an object. nesting is how many objects deep the keys of its rules are.
	conflicts, nesting int
	// depths has a bit for each depth at which a rule of an object puts its values.
	depths uint64
}

// takesArguments says whether it is a function of the policy, and not a rule.
func (f *plannedFunction) takesArguments() bool { return len(f.parameters) > 2 }

// Function is a function of OPA within limits. Both checks may be nil.
type Function struct {
	Call topdown.BuiltinFunc
	// Admit refuses operands, and says what a call with them costs in steps.
	Admit func(operands []*ast.Term) (steps int, err error)
	// Accept does so for each result.
	Accept func(result *ast.Term) (steps int, err error)
	// Prepare is what a call prepares and keeps for later calls, such as a regular expression.
	// nil prepares nothing.
	Prepare *Preparation
}

// Preparation is the cost of what calls prepare, in addition to that of Function.Admit.
type Preparation struct {
	// Key is what a call prepares.
	Key func(operands []*ast.Term) string
	// Steps is the cost of preparing a key.
	Steps func(key string) int
}

// Apply calls the function once, within its limits: the last of its results, nil where it
// has none.
func (f Function) Apply(context topdown.BuiltinContext, operands ...*ast.Term) (result *ast.Term, err error) {
	if f.Admit != nil {
		if _, err := f.Admit(operands); err != nil {
			return nil, err
		}
	}
	err = f.Call(context, operands, func(t *ast.Term) error {
		result = t
		return nil
	})
	if err == nil && result != nil && f.Accept != nil {
		_, err = f.Accept(result)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// FunctionLookup returns a function that a Program may call. It is called while a program is
// compiled; an unknown function cannot be called.
type FunctionLookup func(name string) (Function, bool)

// StandardFunctions are all functions of OPA, without limits.
func StandardFunctions(name string) (Function, bool) {
	call := topdown.GetBuiltin(name)
	return Function{Call: call}, call != nil
}

// CompileOptions are the zero value for a program that only decides.
type CompileOptions struct {
	// Capabilities are passed to functions that read them; nil stands for those of this version of
	// OPA.
	Capabilities *ast.Capabilities
	// Cover records which statements ran, which costs time.
	Cover bool
}

// compiler makes a Program of a plan.
type compiler struct {
	policy    *ir.Policy
	program   *Program
	functions FunctionLookup
	options   CompileOptions
	declared  map[string]*ir.BuiltinFunc
	byName    map[string]*plannedFunction
	byPath    map[string]*plannedFunction // generation and names, as CallDynamicStmt gives them
	strings   []*ast.Term
	places    map[[3]int]*ast.Location // by file, line and column: most are those of several statements

	current *plannedFunction
	// writers count, within one block of a function, the statements that set a register, and
	// constants are the values that never change there.
	writers   map[ir.Local]int
	constants map[ir.Local]*ast.Term
	// dotted are the registers that hold a part of what another rule made.
	dotted map[ir.Local]bool
	// building are the registers that hold the object of the rule, or one within it, with
	// their depth.
	building map[ir.Local]int
	// once are the registers that store the location of another register's only assignment.
	once map[ir.Local]int
	// ready are the registers that have a value, for checkOrder.
	ready map[ir.Local]bool
}

// Compile compiles a plan.
func Compile(policy *ir.Policy, functions FunctionLookup, options CompileOptions) (*Program, error) {
	if options.Capabilities == nil {
		options.Capabilities = standardCapabilities()
	}
	p := &Program{rules: map[string]*Rule{}, functions: len(policy.Funcs.Funcs), capabilities: options.Capabilities}
	c := &compiler{
		policy: policy, program: p, functions: functions, options: options,
		declared: map[string]*ir.BuiltinFunc{}, byName: map[string]*plannedFunction{}, byPath: map[string]*plannedFunction{},
	}
	for _, s := range policy.Static.Strings {
		c.strings = append(c.strings, ast.StringTerm(s.Value))
	}
	for _, declaration := range policy.Static.BuiltinFuncs {
		c.declared[declaration.Name] = declaration
	}
	for i, planned := range policy.Funcs.Funcs {
		generation, path, _ := strings.Cut(planned.Name, ".")
		f := &plannedFunction{path: path, index: i, result: int(planned.Return)}
		for _, parameter := range planned.Params {
			f.parameters = append(f.parameters, int(parameter))
		}
		c.byName[planned.Name] = f
		c.byPath[strings.Join(planned.Path, "\x00")] = f
		if generation == "g0" && !f.takesArguments() {
			p.rules[path] = &Rule{f}
		}
	}
	for _, planned := range policy.Funcs.Funcs {
		c.current = c.byName[planned.Name]
		c.current.only = c.onlyValue(planned)
		if err := c.compile(c.current, planned.Blocks); err != nil {
			return nil, fmt.Errorf("%s: %w", c.byName[planned.Name].path, err)
		}
	}
	for _, plan := range policy.Plans.Plans {
		f := &plannedFunction{path: plan.Name}
		if err := c.compile(f, plan.Blocks); err != nil {
			return nil, fmt.Errorf("%s: %w", plan.Name, err)
		}
		p.queries = append(p.queries, f)
	}
	return p, nil
}

var standardCapabilities = sync.OnceValue(func() *ast.Capabilities { return ast.CapabilitiesForThisVersion() })

func (c *compiler) compile(f *plannedFunction, blocks []*ir.Block) error {
	c.current, c.once = f, emptied(c.once)
	f.registers = max(f.result+1, 3) // input, data, and a result
	for _, parameter := range f.parameters {
		f.registers = max(f.registers, parameter+1)
	}
	named := func(local ir.Local) { f.registers = max(f.registers, int(local)+1) }
	for _, block := range blocks {
		walkStatements(block, func(s ir.Stmt) { registersOf(s, named, named) })
	}
	for _, block := range blocks {
		c.study(block)
		if err := c.checkOrder(block); err != nil {
			return err
		}
		ops, err := c.block(block)
		if err != nil {
			return err
		}
		f.blocks, f.guards = append(f.blocks, ops), append(f.guards, c.guardsOf(block))
	}
	return nil
}

// study counts the statements that set and use the registers of a block. Blocks of a function
// share registers, but not their values.
func (c *compiler) study(block *ir.Block) {
	c.writers, c.constants, c.dotted, c.building = emptied(c.writers), emptied(c.constants), emptied(c.dotted), emptied(c.building)
	use := func(ir.Local) {}
	set := func(local ir.Local) { c.writers[local]++ }
	if c.current.result > int(ir.Data) { // of a query, there is none
		c.building[ir.Local(c.current.result)] = 1
	}
	walkStatements(block, func(s ir.Stmt) {
		registersOf(s, use, set)
		if dot, ok := s.(*ir.DotStmt); ok {
			c.dotted[dot.Target] = true
			if source, isLocal := dot.Source.Value.(ir.Local); isLocal && c.building[source] > 0 {
				c.building[dot.Target] = c.building[source] + 1
			}
		}
	})
	walkStatements(block, func(s ir.Stmt) {
		if local, term := c.constant(s); term != nil && c.writers[local] == 1 && !c.isShared(local) {
			c.constants[local] = term
		}
	})
}

// emptied returns a map without entries, for the next block. A large map is not kept, because
// emptying it takes as long for a small block.
func emptied[V any](m map[ir.Local]V) map[ir.Local]V {
	if m == nil || len(m) > 256 {
		return map[ir.Local]V{}
	}
	clear(m)
	return m
}

const unordered = "a variable of this pattern is used before the part of it that gives it a value: write an equation for each part"

// UnorderedError is about a pattern that OPA plans wrongly: [a, b] = [b, 1], where b has no
// value yet when a is unified with it.
type UnorderedError struct{ Location *ast.Location }

// Message is the error without the location.
func (*UnorderedError) Message() string { return unordered }

func (e *UnorderedError) Error() string {
	return e.Location.String() + ": " + unordered
}

// checkOrder finds a variable that is used before it has a value.
func (c *compiler) checkOrder(block *ir.Block) error {
	c.ready = emptied(c.ready)
	ready := c.ready
	ready[ir.Input], ready[ir.Data], ready[ir.Local(c.current.result)] = true, true, true
	for _, parameter := range c.current.parameters {
		ready[ir.Local(parameter)] = true
	}
	var err error
	var within func(blocks []*ir.Block) (made []ir.Local)
	within = func(blocks []*ir.Block) (all []ir.Local) {
		for _, block := range blocks {
			if block == nil {
				continue
			}
			var made []ir.Local
			set := func(local ir.Local) {
				if !ready[local] {
					ready[local], made = true, append(made, local)
				}
			}
			for _, s := range block.Stmts {
				registersOf(s, func(local ir.Local) {
					switch s.(type) {
					case *ir.AssignVarStmt, *ir.EqualStmt:
						if !ready[local] && err == nil {
							err = &UnorderedError{c.place(s)}
						}
					}
				}, set)
				for _, local := range within(blocksOf(s)) {
					set(local)
				}
			}
			for _, local := range made { // the next block may use the same registers for others
				ready[local] = false
			}
			all = append(all, made...)
		}
		return all
	}
	within([]*ir.Block{block})
	return err
}

// isShared says whether a register is used beyond one block.
func (c *compiler) isShared(local ir.Local) bool {
	return int(local) == c.current.result || slices.Contains(c.current.parameters, int(local))
}

// constant is the constant that a statement assigns: nil for others.
func (c *compiler) constant(s ir.Stmt) (ir.Local, *ast.Term) {
	switch s := s.(type) {
	case *ir.MakeNumberIntStmt:
		return s.Target, ast.InternedTerm(int(s.Value))
	case *ir.MakeNumberRefStmt:
		return s.Target, ast.NewTerm(ast.Number(string(c.strings[s.Index].Value.(ast.String))))
	case *ir.MakeNullStmt:
		return s.Target, ast.InternedNullTerm
	}
	return 0, nil
}

// operand is a register, or its constant value.
func (c *compiler) operand(o ir.Operand) operand {
	switch value := o.Value.(type) {
	case ir.Local:
		if constant := c.constants[value]; constant != nil {
			return operand{constant: constant}
		}
		return operand{register: int(value)}
	case ir.StringIndex:
		return operand{constant: c.strings[value]}
	case ir.Bool:
		return operand{constant: ast.InternedTerm(bool(value))}
	}
	panic(fmt.Sprintf("OPA plans an operand %T, which is not known here", o.Value))
}

// place is the location of a statement in a policy.
func (c *compiler) place(s ir.Stmt) *ast.Location {
	l := s.GetLocation()
	at := [3]int{l.File, l.Row, l.Col}
	if known := c.places[at]; known != nil {
		return known
	}
	file := ""
	if l.File < len(c.policy.Static.Files) {
		file = c.policy.Static.Files[l.File].Value
	}
	if c.places == nil {
		c.places = map[[3]int]*ast.Location{}
	}
	c.places[at] = ast.NewLocation(nil, file, l.Row, l.Col)
	return c.places[at]
}

// block compiles the statements of a block.
func (c *compiler) block(block *ir.Block) ([]op, error) {
	if block == nil {
		return nil, nil
	}
	var out []op
	for i := 0; i < len(block.Stmts); i++ {
		s := block.Stmts[i]
		if local, term := c.constant(s); term != nil && c.constants[local] != nil {
			continue
		}
		var compiled op
		var err error
		if i+1 < len(block.Stmts) {
			if compiled, err = c.walkScan(s, block.Stmts[i+1]); compiled != nil {
				i++
			}
		}
		if compiled == nil && err == nil {
			compiled, err = c.statement(s)
		}
		if err != nil {
			return nil, err
		}
		if compiled == nil {
			continue
		}
		c.program.statements++
		if c.options.Cover {
			compiled = c.covered(s, compiled)
		}
		out = append(out, compiled)
	}
	return out, nil
}
