// Package zopp has the contents of zopp's environments in Secrets: in those that ask for it
// by annotations, and in those that a ZoppSecretSync names.
//
// A hub follows each environment that is in use, once for all who use it. The rules of
// admission say who may read what, before anything is read. What a Secret is to hold is
// built by pure functions, and written by server-side apply, whose record of fields tells
// our keys from those of others.
//
// Invariants: a key is never taken out of a Secret because something could not be read; an
// older state of an environment never replaces a newer one; nothing is written where nothing
// has changed; no value is part of an error, an Event, an annotation, a log or a metric.
package zopp
