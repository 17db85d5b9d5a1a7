// Package terms turns JSON into OPA's terms and back, without a Go value between.
//
// Invariant: what Decode accepts has one meaning for every reader. Duplicate keys, invalid
// UTF-8, nesting beyond MaxNesting and anything behind the first value are errors, and so
// are numbers and names that would take OPA long to compare. Terms are never changed:
// what changes one gives a new one.
package terms
