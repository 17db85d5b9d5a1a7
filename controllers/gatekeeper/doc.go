// Package gatekeeper keeps the templates and constraints of a cluster, which are
// objects of Gatekeeper's API groups there, in one PolicySource, and gives each
// template the kind of its constraints.
//
// Invariant: it decides nothing. What the source holds goes through the gate like any
// other, and an object that could not pass it stays out alone, with an Event.
package gatekeeper
