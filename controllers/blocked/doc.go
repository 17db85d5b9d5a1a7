// Package blocked sends Events to the owners of objects that admission denies. Controllers create
// the objects of a workload, such as the Pods of a ReplicaSet, so the user of a Deployment does not
// see the denial.
//
// Invariant: Events never delay a review, and their number is bounded. Denials wait in a queue, and
// are dropped while the queue is full. An owner gets an Event about one message at most once in ten
// minutes, and at most one Event a minute after a burst. An Event is about an object only if the uid
// in the ownerReference is that of the object, or if an object that was verified like this names it.
package blocked
