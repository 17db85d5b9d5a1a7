// Package kinds does to an object, without a cluster, what the API server does before it
// asks its admission webhooks: it refuses fields that the kind does not have, sets
// defaults, prunes custom resources, checks them by their schemas, and converts between the
// versions of a kind.
//
// Invariant: it never guesses. What the API server would make of an object is either
// known here, by the code that the API server runs or by a conversion that is tested
// against it, or ErrNotKnown.
package kinds
