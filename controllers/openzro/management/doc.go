// Package management is the client of openZro management servers. It has one Tenant for each
// address and key, and caches the server's collections.
//
// Invariants: Tenants share nothing, and a key is sent to its own address only. No error
// contains a key. A collection is listed once for all callers, and a list never undoes a write
// that happened since it began. While a server is unusable, only one caller at a time sends
// requests to it.
package management
