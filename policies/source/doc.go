// Package source turns PolicySources into what the engine compiles, and revisions
// into artifacts that every replica can load.
//
// Invariant: what Unpack returns has the digest that was asked for; a replica never
// compiles content that the gate has not seen.
package source
