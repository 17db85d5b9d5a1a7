// Package planning makes programs of compiled Rego.
//
// Invariant: CheckGrowth has no rule planned that would come to more than MaxGrowth terms
// beyond those that are written, and a rule that OPA's planner refuses is an error at the
// place where it stands.
package planning
