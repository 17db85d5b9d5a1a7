// Package openclaw carries out OpenClawInstances and PolicyBundles: a gateway's
// Deployment with an OPA beside it, and the policies that this OPA answers by.
//
// Each reconciler gathers, builds with functions that know no API server, applies what
// differs, and writes a status. Invariants: nothing is taken over that is not
// controlled by the object it belongs to; a gateway's policies are composed as a whole
// or stay as they are; Secrets are read by name and never written.
package openclaw
