// Package audit evaluates stored objects by the same engine as admission, as if each object were
// created now, and reports the results. It imports no Kubernetes client: the manager and the
// command line share it.
//
// Invariant: an object is never counted as compliant with a rule that was not evaluated for it.
// Rules that depend on the request are listed as not auditable instead.
package audit
