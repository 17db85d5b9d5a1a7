// Package properties says how much of a property a test tries, and from which seed.
package properties

import (
	"os"
	"strconv"
)

// Count is the number of random cases: short in each run of the tests, long where
// LINTEL_LONG is set, as `make properties` does.
func Count(short, long int) int {
	if os.Getenv("LINTEL_LONG") != "" {
		return long
	}
	return short
}

// Seed is LINTEL_SEED, or the given seed where that is not set.
func Seed(otherwise uint64) uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("LINTEL_SEED"), 10, 64); err == nil {
		return seed
	}
	return otherwise
}
