// Package sandbox is what policies may call, and how much of it.
//
// Invariant: a function of OPA that is not named here cannot be called. The named functions do
// not use the network, the environment or randomness, and a call that could run long, or create
// a large value from a small one, is refused before it runs.
package sandbox
