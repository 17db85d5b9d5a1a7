// Package eval evaluates Rego. OPA parses, compiles and plans it (package ir of OPA, made
// for other evaluators); this package compiles the plan to closures over registers, and
// runs them.
//
// Three things hold for every policy. A Program never changes, and any number of
// goroutines may run it. Nothing that an evaluation is given, input, data or a constant,
// is ever written to. And an evaluation ends, at the same point on every machine: its work is
// counted in steps and the values that it creates in bytes, and both are compared with the
// Limits at each call and each turn of a loop. No verdict depends on a clock.
//
// # Steps
//
// A step stands for at most 100 nanoseconds on an idle core, so that a bound on steps bounds the
// time. Everything that a policy can do is charged by functions of sizes, before it is done where
// the sizes are known:
//
//   - a statement is a step, and an insertion costs a few more;
//   - created values cost a step for bytesPerStep bytes, copied ones more;
//   - a comparison costs a step for comparedPerStep values of the smaller operand, for
//     bytesComparedPerStep bytes of strings, and more for numbers of many digits;
//   - an element that is inserted or looked up costs a step for each other one that its hash has
//     to be compared with (placement);
//   - a call of a function costs what its supplier says (Function): a base, and a part by the sizes of
//     operands and result. A call that is refused costs the check.
//
// An evaluation may exceed its bound by the cost of one call or comparison whose size is not known
// before. The benchmarks Functions of package sandbox and Hostile of package engine report
// nanoseconds for each step. A new function, or a function that is slower in a new release of OPA,
// needs a cost at which they stay below 100.
//
// The package imports OPA, and nothing of Lintel.
package eval
