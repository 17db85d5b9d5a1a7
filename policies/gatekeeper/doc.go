// Package gatekeeper reads the policies of OPA Gatekeeper from the files of a source:
// ConstraintTemplates in Rego and their Constraints become policies of the engine, as
// they are.
//
// Invariant: nothing of Gatekeeper's that a folder holds is passed over in silence.
// What is not carried out is a compile error that says so; only what lies below a
// folder named testdata, and Suites, are for tests alone.
package gatekeeper
