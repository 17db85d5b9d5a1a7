//go:build !race

package engine

// raceEnabled says whether the race detector is on.
const raceEnabled = false
