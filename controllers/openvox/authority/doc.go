// Package authority manages Puppet CAs: it sets up in-cluster CertificateAuthorities, stores their
// CRLs, renders the signing policies that their autosign hooks read, and revokes certificates.
//
// Invariants: a CA's key never leaves its Secrets. A stored CRL is replaced only by one that follows
// it. A certificate that was revoked from here is revoked again until the CRL lists it.
package authority
