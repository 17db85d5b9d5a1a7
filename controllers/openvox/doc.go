// Package openvox adds OpenVox's kinds to the manager: their flags, the facts for reviews, and
// the controllers of its subpackages. Package issuing issues certificates, and package serving
// runs servers with them. The two share only package layout.
//
// Invariant: this package decides nothing. The policies in policies/rules/openvox decide which
// requests get a certificate, and which objects may be stored.
package openvox
