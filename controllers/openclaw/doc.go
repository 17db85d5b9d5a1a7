// Package openclaw reconciles OpenClawInstances and PolicyBundles: the Deployment of a gateway
// with an OPA sidecar, and the policies that this OPA evaluates.
//
// Each reconciler gathers input, builds the desired objects with pure functions, applies the
// differences, and writes a status. Invariants: no change by a tenant prevents the policies of
// broader scopes from reaching its gateways; otherwise the gateways are stopped within a bounded
// time. The status of both bundle and instance reports policies that are not in force. Existing
// objects are adopted only if a record shows that the instance owned them before. Secrets are
// read by name and never written.
package openclaw
