// Package store writes Orloj's PostgreSQL tables, in the format that orlojd reads.
//
// A row belongs to at most one object: a write or deletion first checks, in the same
// transaction, that the row has the object's own UID or no owner. The fields that orlojd
// maintains, status and version, are read and written back. The tables belong to orlojd; this
// package never alters their schema. The package does not depend on Kubernetes.
package store
