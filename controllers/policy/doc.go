// Package policy carries out PolicySources: the leader gates a revision and stores
// it as an artifact, and every replica loads artifacts and reports what it serves.
//
// Invariant: only a revision that passed the gate gets into status.digest, and
// replicas load nothing but what status.digest names; so a bad revision never goes
// live, and the last good one stays.
package policy
