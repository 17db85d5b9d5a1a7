// Package issuing has certificates issued: it sets up CertificateAuthorities in the cluster,
// keeps their CRLs and the signing policies that their autosign hooks read, and has them sign
// Certificates, CertificateSigningRequests and cert-manager's CertificateRequests.
//
// Invariants: who gets a certificate is decided by the rules alone; a key of somebody else is
// never stored, nor signed under a name that another holds; an attempt may be broken off
// anywhere, and the next one begins with what the CA and the Secrets have.
package issuing
