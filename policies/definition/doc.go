// Package definition is what authors write, as it is read: the files of a source, the
// modules, METADATA, entry points and match of a policy, policies in the form of other
// hosts, and the errors that name a place in all of that.
//
// Invariants: reading the same files gives the same result and the same errors in the same
// order, whoever reads them. Nothing here compiles or evaluates Rego, and nothing is read
// but what the caller hands in.
package definition
