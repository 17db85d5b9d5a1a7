// Package eval evaluates Rego. OPA parses, compiles and plans it (package ir of OPA, made
// for other evaluators); this package compiles the plan to closures over registers, and
// runs them.
//
// Three things hold for every policy. A Program never changes, and any number of
// goroutines may run it. Nothing that an evaluation is given, input, data or a constant,
// is ever written to. And an evaluation ends: every statement counts as a step and every value
// that is created counts its bytes, and both are compared with the Limits at each call and each
// turn of a loop. What the functions of OPA do in one call is bounded by who supplies them
// (Functions).
//
// The package imports OPA, and nothing of Lintel.
package eval
