// Package streamlab is the root of the module; it holds nothing but the test of the import policy. The
// program is cmd/streamlab, the Go API is engine.
package streamlab
