// Package clusterdata provides the objects of a cluster to policies: in snapshots that share all
// unchanged parts, projected to the fields that policies can read, and limited to the namespaces
// that a source may see.
//
// Invariants: a snapshot is immutable, and any number of goroutines may read it; a value is
// built on first use, and is the same for all readers. A kind that is not loaded is an error,
// never an empty list.
package clusterdata
