// Package engine decides. It compiles policy sources into an immutable Snapshot
// and answers admission reviews with it: denials, warnings, patches.
//
// Invariants: what a Snapshot decides never changes after NewSnapshot returned it, and any
// number of goroutines may ask it; what it remembers beside that is which policies a kind
// of request can concern, and the last limit that each policy has reached. The same
// Snapshot, Review and Options, with a Clock that gives the same times, give the same
// Decision wherever they are asked (webhook, command line, controller), unless a policy is
// ended by the deadline of its evaluation. Time is read from Options.Clock alone, and
// nothing here reads a cluster, the environment or the network. The package imports no
// Kubernetes client.
package engine
