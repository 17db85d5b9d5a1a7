package bounds

import "github.com/open-policy-agent/opa/v1/ast"

// Limits bound the compilation work of OPA that grows faster than the text. Work is counted, so
// that a text has the same verdict on every machine.
type Limits struct {
	// Depth limits how deep the terms of a rule may be nested.
	Depth int
	// Checks is how many expressions OPA may look at for one rule: those within a
	// comprehension once for each comprehension around it, and once more. AllChecks is
	// how many for the rules of one module together.
	Checks, AllChecks int
	// Ordering bounds the sum of the cubes of the lengths of bodies, calls within others
	// counted in: as long may OPA take to put the expressions of a module in an order in
	// which each finds its variables.
	Ordering int
	// Closures limits the comprehensions and every expressions of a rule: OPA visits all
	// variables of a body for each.
	Closures int
	// Calls is how many calls a rule may have within others, References how many
	// references, and Branches how many else branches.
	Calls, References, Branches int
	// Dependencies is how many rules all references may name together: one with a
	// variable in it names every rule that it may stand for.
	Dependencies int
	// DependencySteps limits the dependencies that OPA may follow to find recursive rules: it
	// starts again at every rule.
	DependencySteps int
	// TypeSteps limits the steps for searching the types of rules and for comparing the types of
	// references with similar ones: OPA joins the alternatives again for each reference.
	TypeSteps int
}

// Work is the amount of bounded work in a compilation, as far as it was counted.
type Work struct{ Checks, Ordering, Dependencies, DependencySteps, TypeSteps int }

// unbounded is more than any text comes to.
const unbounded = 1 << 60

// OfSources are those of a source. It is compiled in a process of its own first, which
// is ended where it takes long: so some of what takes seconds only is not bounded.
var OfSources = Limits{
	Depth: unbounded, Checks: 5_000, AllChecks: unbounded, Ordering: unbounded, Closures: 1_000, Calls: 5_000, References: 10_000, Branches: 1_000,
	Dependencies: 100_000, DependencySteps: 5_000_000, TypeSteps: 20_000_000,
}

// On has a compiler refuse, by name, the rules that are beyond the bounds, and those
// whose types are too large.
func (b Limits) On(compiler *ast.Compiler) *ast.Compiler { return b.Measure(compiler, &Work{}) }

// Measure is On, and counts the work while the compiler compiles.
func (b Limits) Measure(compiler *ast.Compiler, work *Work) *ast.Compiler {
	return compiler.WithStageAfterID(b.nestingStage(work)).WithStageAfterID(b.dependenciesStage(work)).WithStageAfterID(b.typesStage(work))
}

// stage is a stage of the compiler that refuses rules, and the one that it follows.
func stage(after ast.StageID, what string, check func(*ast.Compiler, *errorInText)) (ast.StageID, ast.CompilerStageDefinition) {
	return after, ast.CompilerStageDefinition{
		Name:       "bound " + what,
		MetricName: "lintel_bound_" + what,
		Stage: func(c *ast.Compiler) *ast.Error {
			var first errorInText
			check(c, &first)
			return first.error
		},
	}
}

// ReservedPrefix starts the names of generated rules, and is refused in source.
const ReservedPrefix = "lintel__"
