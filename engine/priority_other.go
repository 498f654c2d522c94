//go:build !linux

package engine

// lowPriority does nothing: elsewhere priorities are of processes.
func lowPriority() {}
