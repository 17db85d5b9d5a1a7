// Package hierarchy is how the scopes of policy sources stand to each other: which bind
// which, which namespaces they have, and what a scope grants those below it.
//
// Invariant: below the enterprise a source has no namespace that a scope above lacks, and
// nothing is granted that one scope above withholds. A Tree and a Place never change.
package hierarchy
