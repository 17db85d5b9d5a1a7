// Package openvox brings OpenVox's kinds to the manager: their flags, the facts by which requests
// are judged, and the controllers of its rooms. Package issuing has certificates issued, and
// package serving has servers run with them; they know each other by package layout alone.
//
// Invariant: it decides nothing. Who gets a certificate, and what may be stored, is decided by
// policies/rules/openvox.
package openvox
