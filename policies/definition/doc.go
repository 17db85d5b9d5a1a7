// Package definition reads policies as their authors write them: the files of a source, the
// modules, METADATA, entry points and match of a policy, policies of other dialects, and the
// errors that locate problems in them.
//
// Invariants: the same files always give the same result, and the same errors in the same order.
// Nothing here compiles or evaluates Rego, and only input passed by the caller is read.
package definition
