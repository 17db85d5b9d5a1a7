// Package admission decodes requests of an API server: a Review, decoded from an AdmissionReview
// as strictly as package terms decodes, and the kinds that a cluster serves.
//
// Invariant: a Review and a table of Resources are immutable and may be used by any number of
// goroutines. An object of a review is validated on arrival, and converted to terms on first
// use.
package admission
