// Package serving runs Puppet in the cluster: it renders Configs, NodeClassifiers and
// ReportProcessors into the files of servers, and runs Servers, Pools and Databases with their
// certificates.
//
// Invariants: if an object cannot be applied, the existing objects stay. A certificate that
// administers a CA is mounted only by the CA's own server, and no key is sent to an endpoint.
package serving
