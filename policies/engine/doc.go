// Package engine decides. It compiles policy sources into an immutable Snapshot
// and answers admission reviews with it: denials, warnings, patches.
//
// Invariants: a Snapshot never changes after NewSnapshot returned it, and may be
// used by any number of goroutines; the same Snapshot, Review and Options give
// the same Decision wherever they are asked (webhook, command line, controller),
// so nothing here reads a cluster, the environment, the network or a clock that
// the caller did not hand in. The package imports no Kubernetes client.
package engine
