// Package clusterdata is the objects of a cluster as policies read them: in versions that
// share what has not changed between them, projected to the fields that policies can be
// shown to read, and limited to the namespaces that a source may see.
//
// Invariants: a version never changes after it was made, and any number of goroutines may
// read it; a value is put together when it is first read, and is the same for all readers.
// A kind that was not loaded is an error, and never empty.
package clusterdata
