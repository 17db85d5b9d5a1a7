package bounds

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// stepsOfRecursion is how many steps it takes to name one rule of a circle of rules that
// depend on themselves.
const stepsOfRecursion = 100

// dependenciesStage returns errors for rules with so many dependencies that OPA would need
// minutes and gigabytes to check them for recursion. It is the last stage before OPA builds the
// dependency graph.
func (b Limits) dependenciesStage(work *Work) (ast.StageID, ast.CompilerStageDefinition) {
	return stage(ast.StageRewriteRegoMetadataCalls, "dependencies", func(c *ast.Compiler, first *errorInText) {
		d := &dependencies{Limits: b, of: map[*ast.Rule][]*ast.Rule{}, seen: map[*ast.Rule]*ast.Rule{}}
		defer func() { work.Dependencies, work.DependencySteps = d.count, d.steps }()
		if rule := d.collect(c); rule != nil {
			first.add(rule, "the references up to rule %s may name more than %d rules together: name the rules, or collect them in one rule and refer to that", b.Dependencies)
			return
		}
		for _, rule := range d.rules {
			if d.follow(rule); d.steps <= b.DependencySteps {
				continue
			}
			if d.recursive {
				first.add(rule, "rule %s is recursive: it depends on itself, as do others, and to follow that takes more than %d steps", b.DependencySteps)
			} else {
				first.add(rule, "following what the rules up to rule %s depend on takes more than %d steps: make the chains of rules shorter", b.DependencySteps)
			}
			return
		}
	})
}

type dependencies struct {
	Limits
	rules []*ast.Rule
	of    map[*ast.Rule][]*ast.Rule
	seen  map[*ast.Rule]*ast.Rule // the rule from which it was reached last
	count int                     // the number of dependencies in of
	steps int
	// recursive reports that the rule followed last depends on itself.
	recursive bool
}

// collect finds the dependencies of each rule. It returns the rule that exceeds the limits.
func (d *dependencies) collect(c *ast.Compiler) (tooMany *ast.Rule) {
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		for _, rule := range c.Modules[name].Rules {
			d.rules = append(d.rules, rule)
			ast.WalkRefs(rule, func(ref ast.Ref) bool {
				if d.count <= d.Dependencies && ref.HasPrefix(ast.DefaultRootRef) {
					found := c.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true})
					d.count += len(found)
					d.of[rule] = append(d.of[rule], found...)
				}
				return false
			})
			if d.count > d.Dependencies {
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
	for open := []*ast.Rule{from}; len(open) > 0 && d.steps+steps <= d.DependencySteps; {
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
