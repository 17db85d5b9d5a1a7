package store

import (
	"crypto/ecdh"
	"crypto/ed25519"
)

// Principal is who asks: what the server knows it as, and its private keys.
type Principal struct {
	// ID is the UUID that the server has given it.
	ID string
	// Name is that of the principal, for people.
	Name string

	signing    ed25519.PrivateKey
	unwrapping *ecdh.PrivateKey
}
