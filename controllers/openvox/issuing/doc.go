// Package issuing issues certificates: it signs Certificates, CertificateSigningRequests and
// cert-manager CertificateRequests at the CAs of package authority.
//
// Invariants: the rules alone decide which request gets a certificate. A foreign key is never
// stored, and never signed under a name that another object holds. An attempt may be interrupted
// at any point; the next one resumes from the state of the CA and the Secrets.
package issuing
