// Package store reads a zopp server, and decrypts the values locally: the server has no key.
//
// No error or log contains a value, a key or a credential. Data from a server is untrusted: its
// lengths are checked before use. The package does not depend on Kubernetes.
package store
