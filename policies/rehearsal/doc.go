// Package rehearsal evaluates a revision of a source for recorded requests before it goes live, in
// a child process with a low priority.
//
// Invariants: a request that was not evaluated is never counted as unchanged. Requests that are
// undecided and records that are damaged are counted. A rehearsal that was interrupted continues
// after the last request that was counted, or begins again.
package rehearsal
