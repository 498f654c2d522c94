//go:build cgo

package main

import (
	_ "embed"
	"strings"
)

// pins says for every function which recorded line of Spark's answers holds it, a function a line: name, tab,
// family:line. The test of package conformance that checks it writes it, too (-pins).
//
//go:embed pins.txt
var pins string

// pinOf is the family and line that holds a function; "" if none does.
func pinOf(name string) string {
	for line := range strings.Lines(pins) {
		if n, at, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && n == name {
			return at
		}
	}
	return ""
}
