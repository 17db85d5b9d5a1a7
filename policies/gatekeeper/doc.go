// Package gatekeeper reads OPA Gatekeeper policies from the files of a source:
// ConstraintTemplates in Rego or CEL and their Constraints become policies of the engine, without
// changes.
//
// Invariant: no Gatekeeper object in a folder is ignored silently. Each object that is not
// supported is a compile error. Only objects below a folder named testdata, and Suites, are for
// tests alone.
package gatekeeper
