// Package openvoxtest provides shared parts for tests of OpenVox's controllers: a fake Puppet
// CA, a fake API server, and builders of objects.
//
// Invariant: objects are in namespace ns and belong to CertificateAuthority main, unless the
// test sets other values. No two built objects share memory.
package openvoxtest
