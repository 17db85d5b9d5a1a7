// Package orloj syncs Orloj's kinds to the store of orlojd. One reconciler serves all eight
// kinds; it decides nothing: the admission rules define the valid objects and their rows.
//
// An object owns at most one row; package store enforces this. The stored row is the object with
// the rules' defaults, whether or not the webhook has set them.
package orloj
