// Package cel evaluates policies in CEL: ValidatingAdmissionPolicies in the files of a source,
// ValidatingPolicies of Kyverno, and the CEL code of Gatekeeper templates. It compiles and evaluates
// expressions in the environment of the API server, with its cost limits.
//
// Invariant: an answer that only an API server has is never guessed. An expression that calls the
// authorizer leaves its policy undecided, and one that reads the cluster, a registry or a service
// is refused.
package cel
