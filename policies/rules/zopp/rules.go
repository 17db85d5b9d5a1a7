// Package zopp has the rules for Secrets that are synced from zopp, and for
// ZoppSecretSyncs: what each must say, who may read what, and who may fill which Secret.
//
// Invariant: a source is read only where the Namespace of the object permits it, and that
// of the Secret, too, where it is another one.
package zopp
