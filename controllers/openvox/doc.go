// Package openvox adds OpenVox's kinds to the manager: their flags, the facts for reviews, and
// the controllers of its subpackages. Package authority manages CAs, package issuing issues
// certificates at them, and package serving runs servers with the certificates. Package serving
// shares only package layout with the other two.
//
// Invariant: this package decides nothing. The policies in policies/rules/openvox decide which
// requests get a certificate, and which objects may be stored.
package openvox
