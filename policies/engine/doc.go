// Package engine evaluates policies. It combines compiled sources in an immutable Snapshot
// and evaluates admission reviews with it: denials, warnings, patches. Package policyset compiles
// the sources.
//
// Invariants: what a Snapshot decides never changes after NewSnapshot returned it, and any
// number of goroutines may evaluate it. A Snapshot caches only which policies a kind of
// request can match, and the last limit that each policy has reached. The same Snapshot,
// Review and Options, with a Clock that returns the same times, return the same Decision in
// the webhook, the CLI and the controllers, unless the deadline of its evaluation ends a
// policy. Time is read from Options.Clock alone. Nothing here reads a cluster, the
// environment or the network. The package imports no Kubernetes client.
package engine
