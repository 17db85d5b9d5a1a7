// Package webhooks is the way in: it serves the admission reviews that the API server
// sends, and answers each with what policies/engine decides.
//
// Invariant: nothing here decides about an object. Every review whose uid can be read is
// answered with HTTP 200 and that uid; a review that could not be evaluated is denied on the
// entries with failure policy Fail and admitted with a warning on those with Ignore, except
// that a review which cannot be read is always denied, so that no object passes by being
// malformed or padded.
package webhooks
