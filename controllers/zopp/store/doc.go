// Package store reads what a zopp server has, and decrypts it here: the server has no key.
//
// A value, a key or a credential is never part of an error, and is not logged. What a
// server sends is foreign: its lengths are checked before it is used. The package knows
// nothing of Kubernetes.
package store
