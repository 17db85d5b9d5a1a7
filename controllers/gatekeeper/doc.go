// Package gatekeeper collects the templates and constraints of a cluster, which are objects of
// Gatekeeper's API groups, in one PolicySource, and creates the constraint kind of each
// template.
//
// Invariant: this package decides nothing. The source passes the same gate as any other; an
// object that fails the gate is omitted by itself, with an Event.
package gatekeeper
