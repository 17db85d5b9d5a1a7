//go:build !race

package openclaw

// mostRules is about the number of rules that a bundle may have.
const mostRules = 3500
