//go:build !linux

package process

// limitMemory does nothing: the system has no suitable limit.
func limitMemory(int64) {}
