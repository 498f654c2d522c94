//go:build !linux

package vfs

// Map maps nothing: files are read.
func Map(f any, from int64, n int) (mem []byte, first int) { return nil, 0 }

// Unmap does nothing.
func Unmap(mem []byte) {}
