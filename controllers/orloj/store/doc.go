// Package store writes Orloj's PostgreSQL tables, in the format that orlojd reads.
//
// A row belongs to at most one object: whoever writes or deletes it has found its own
// UID in it, or nobody's, inside the transaction that does so. What orlojd keeps in a
// row, its status and its version, is read and written back. Tables are orlojd's, and
// are never altered here. The package knows nothing of Kubernetes.
package store
