// Package openzro syncs the OZ* objects of namespaces to openZro management servers.
//
// A namespace is a tenant: its own key creates the items of its objects. Invariants: nothing is
// written where the server already matches the object; foreign items are never deleted, and
// members of a group are never removed; a policy is written completely or not at all; items that
// were created before a crash are recognized by their description or by the status; keys are
// stored only in Secrets.
package openzro
