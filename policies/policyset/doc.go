// Package policyset compiles the policies of a source into a Set, which package engine evaluates.
//
// Invariants: a Set is immutable, except for the record of the last limit that each policy has
// reached. An incremental compilation returns the same Set and the same errors as a complete one.
// A unit, which is a package or a template, is compiled again if its text, or a unit on which it
// depends, has changed. Nothing here reads a cluster, the environment, the network or the clock.
package policyset
