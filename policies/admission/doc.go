// Package admission is what an API server asks: a Review, decoded from an AdmissionReview
// as strictly as package terms decodes, and the kinds that a cluster serves.
//
// Invariant: a Review and a table of Resources never change once they are made, and may be
// used by any number of goroutines. An object of a review is checked when it arrives, and
// becomes terms when somebody first asks for it.
package admission
