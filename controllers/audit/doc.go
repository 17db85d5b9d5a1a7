// Package audit evaluates the objects in the cluster by the policies that are live, on the
// leader, and reports the results: reports, the status of PolicySources and constraints, metrics.
//
// Invariant: audit is never on the path of a review. It has its own client with a bounded rate,
// evaluates one object at a time, and pauses after each. A kind that cannot be listed is reported
// as such, and its objects never count as compliant.
package audit
