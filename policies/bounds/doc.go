// Package bounds refuses policies that OPA would compile for long, or with much memory:
// its work grows faster than the text in several ways, of which each has a limit.
//
// Invariant: everything is counted and nothing timed, so that a text has the same verdict
// on every machine, with the rule that is at fault.
package bounds
