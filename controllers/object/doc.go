// Package object is how controllers write to the API server: the children of an object,
// its finalizer, its status with conditions, and Events.
//
// Invariants: an object that is somebody else's is never written, nor one that has taken a
// name since it was read; nothing is written where nothing has changed; an Event is sent
// once for a change, and not before the status says the same.
package object
