//go:build !linux

package process

// setMemoryLimit does nothing: the system has no suitable limit.
func setMemoryLimit(int64) {}
