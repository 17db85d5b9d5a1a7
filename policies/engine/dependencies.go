package engine

import "github.com/open-policy-agent/opa/v1/ast"

const (
	// maxDependencies is how many rules all references of a source may name together:
	// one with a variable in it names every rule that it may stand for.
	maxDependencies = 100_000
	// maxDependencySteps is how many dependencies OPA may follow to find rules that
	// depend on themselves: it begins anew at every rule.
	maxDependencySteps = 5_000_000
	// stepsOfRecursion is how many of them it takes to name one rule of such a circle.
	stepsOfRecursion = 100
)

// dependenciesStage refuses rules that depend on each other so manifoldly that OPA
// would take minutes and gigabytes to see whether one depends on itself. It is the last
// stage before OPA makes the graph of them.
func dependenciesStage() (ast.StageID, ast.CompilerStageDefinition) {
	return ast.StageRewriteRegoMetadataCalls, ast.CompilerStageDefinition{
		Name:       "BoundDependencies",
		MetricName: "lintel_bound_dependencies",
		Stage: func(c *ast.Compiler) *ast.Error {
			d := &dependencies{of: map[*ast.Rule][]*ast.Rule{}, seen: map[*ast.Rule]*ast.Rule{}}
			var first errorInText
			if rule := d.collect(c); rule != nil {
				first.add(rule, "the references up to rule %s may name more than %d rules together: name the rules, or collect them in one rule and refer to that", maxDependencies)
				return first.error
			}
			for _, rule := range d.rules {
				if d.follow(rule); d.steps <= maxDependencySteps {
					continue
				}
				if d.recursive {
					first.add(rule, "rule %s is recursive: it depends on itself, as do others, and to follow that takes more than %d steps", maxDependencySteps)
				} else {
					first.add(rule, "following what the rules up to rule %s depend on takes more than %d steps: make the chains of rules shorter", maxDependencySteps)
				}
				break
			}
			return first.error
		},
	}
}

type dependencies struct {
	rules []*ast.Rule
	of    map[*ast.Rule][]*ast.Rule
	seen  map[*ast.Rule]*ast.Rule // the rule from which it was reached last
	steps int
	// recursive says that the rule followed last depends on itself.
	recursive bool
}

// collect finds what each rule depends on. It gives the rule at which that is too much.
func (d *dependencies) collect(c *ast.Compiler) (tooMany *ast.Rule) {
	count := 0
	for _, name := range sortedKeys(c.Modules) {
		for _, rule := range c.Modules[name].Rules {
			d.rules = append(d.rules, rule)
			ast.WalkRefs(rule, func(ref ast.Ref) bool {
				if count <= maxDependencies && ref.HasPrefix(ast.DefaultRootRef) {
					found := c.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true})
					count += len(found)
					d.of[rule] = append(d.of[rule], found...)
				}
				return false
			})
			if count > maxDependencies {
				return rule
			}
		}
	}
	return nil
}

// follow counts the dependencies that can be reached from a rule.
func (d *dependencies) follow(from *ast.Rule) {
	steps := 0
	d.recursive = false
	for open := []*ast.Rule{from}; len(open) > 0 && d.steps+steps <= maxDependencySteps; {
		rule := open[len(open)-1]
		open = open[:len(open)-1]
		for _, other := range d.of[rule] {
			steps++
			d.recursive = d.recursive || other == from
			if d.seen[other] != from {
				d.seen[other] = from
				open = append(open, other)
			}
		}
	}
	if d.recursive {
		steps *= stepsOfRecursion
	}
	d.steps += steps
}
