// Package zopp syncs the contents of zopp environments into Secrets: into those that request it
// by annotations, and into those that a ZoppSecretSync names.
//
// A hub follows each environment that is in use, once for all its users. The admission rules
// decide who may read which environment before anything is read. Pure functions build the
// desired contents of a Secret, and server-side apply writes them: its field ownership separates
// our keys from those of others.
//
// Invariants: a read error never removes a key from a Secret; an older state of an environment
// never replaces a newer one; nothing is written where nothing has changed; no error, Event,
// annotation, log or metric contains a value.
package zopp
