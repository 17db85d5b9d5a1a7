// Package sandbox is what policies may call, and how much of it.
//
// Invariant: a function that is not named here cannot be called, whatever OPA has. None of
// those that are reaches the network, the environment or randomness, and a call that could
// run long, or make much of little, is refused before it runs.
package sandbox
