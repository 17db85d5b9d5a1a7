//go:build !unix

package process

// lowerPriority does nothing: there are no priorities to set.
func lowerPriority() {}
