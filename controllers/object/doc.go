// Package object writes to the API server for controllers: the children of an object, its
// finalizer, its status with conditions, and Events.
//
// Invariants: an object of another owner is never written, nor one that has taken a name since
// the read; nothing is written if nothing changed; an Event is sent once for a change, after the
// status reports the change.
package object
