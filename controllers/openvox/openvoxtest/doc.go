// Package openvoxtest has what tests of OpenVox's controllers share: a double of a Puppet CA, an
// API server without one, and objects.
//
// Invariant: objects are in namespace ns and of CertificateAuthority main, unless the test says
// otherwise, and no two that are made share anything.
package openvoxtest
