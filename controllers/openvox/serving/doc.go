// Package serving has Puppet run in the cluster: it renders Configs, NodeClassifiers and
// ReportProcessors into the files of servers, and has Servers, Pools and Databases run with
// the certificates that are issued for them.
//
// Invariants: what was made before stays where an object cannot be carried out; a pair that
// administers a CA is mounted by nobody but the CA's own server, and no key is sent to an
// endpoint.
package serving
