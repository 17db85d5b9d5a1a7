// Package replay evaluates candidate policies for recorded requests, and compares the results
// with the recorded decisions or with those of other policies. It imports no Kubernetes client.
//
// Invariants: a request is counted once, however many webhook entries were called about it. A
// result that depends on a value that a record lacks is undecided, with a reference to the value.
// Findings of sources that are not replaced by the candidate stay as they were recorded.
package replay
