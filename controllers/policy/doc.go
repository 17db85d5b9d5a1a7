// Package policy reconciles PolicySources: the leader gates a revision and stores it as an
// artifact; every replica loads artifacts and reports the revision that it serves.
//
// Invariant: only a revision that passed the gate is written to status.digest, and replicas load
// only artifacts named by status.digest. A bad revision therefore never goes live, and the last
// good one stays.
package policy
