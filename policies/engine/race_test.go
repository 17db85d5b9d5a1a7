//go:build race

package engine

// raceEnabled: the race detector takes many times the memory.
const raceEnabled = true
