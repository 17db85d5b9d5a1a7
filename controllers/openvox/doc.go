// Package openvox carries out OpenVox's kinds: certificates and CRLs of Puppet CAs, and
// the signing policies that a CA's autosign hook reads. It decides nothing: who gets a
// certificate is decided by policies/rules/openvox.
package openvox
