// Package openclaw carries out OpenClawInstances and PolicyBundles: a gateway's
// Deployment with an OPA beside it, and the policies that this OPA answers by.
//
// Each reconciler gathers, builds with functions that know no API server, applies what
// differs, and writes a status. Invariants: whatever a tenant writes, edits or deletes,
// the policies of broader scopes reach its gateways, or these end within a bound; what is
// not in force is reported in the status of both sides. Nothing is taken over that an object
// has not had before. Secrets are read by name and never written.
package openclaw
