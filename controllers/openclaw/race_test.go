//go:build race

package openclaw

// mostRules is lower with the race detector, with which OPA compiles too slowly for the deadline of
// the comparison.
const mostRules = 200
