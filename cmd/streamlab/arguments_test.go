//go:build cgo

package main

import (
	"strings"
	"testing"
)

// A command with too few or too many arguments says which it takes.
func TestMissingArgumentsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"explain", "a.yaml"}, {"trace", "a.yaml"}, {"trace", "a", "b", "c"}} {
		code, out := runApp(t, t.TempDir(), args...)
		if code != 2 || !strings.Contains(out, "streamlab "+args[0]+" LAB QUERY") {
			t.Errorf("%v: exit %d\n%s", args, code, out)
		}
	}
}
