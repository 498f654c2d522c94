//go:build !cgo

package main

import (
	"fmt"
	"os"
)

// main of a program that was built without a C compiler: SQLite, which holds what memory sinks get, is C.
func main() {
	fmt.Fprintln(os.Stderr, "error: streamlab needs a C compiler to build (SQLite is written in C).")
	fmt.Fprintln(os.Stderr, "  try: install one (Debian: apt install gcc libc6-dev; macOS: xcode-select --install), then run it again")
	fmt.Fprintln(os.Stderr, "  try: CGO_ENABLED=1 go run ./cmd/streamlab")
	os.Exit(2)
}
