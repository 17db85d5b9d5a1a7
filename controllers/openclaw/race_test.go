//go:build race

package openclaw

// raceDetector reports that tests run with the race detector.
const raceDetector = true
