// Package management talks to an openZro management server, one Tenant for each address
// and key, and remembers what its collections hold.
//
// Invariants: a Tenant knows nothing of another, and a key goes to no address but its own.
// A key is in no error. A collection is listed once for all who ask, and what was written
// here since a list began is not undone by it. While a server cannot be used, nobody asks
// it but the one who waits for it.
package management
