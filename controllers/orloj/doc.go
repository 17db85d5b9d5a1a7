// Package orloj carries Orloj's kinds into the store of orlojd. One reconciler serves all
// eight; it decides nothing: the rules of admission say what may be stored, and where.
//
// An object has a row of its own or none: package store sees to it. What is stored is the
// object with the rules' defaults, so it does not matter whether the webhook has run.
package orloj
