//go:build cgo

package main

import (
	"strings"
	"testing"
)

// A command with too few or too many arguments says which it takes.
func TestMissingArgumentsAreNamed(t *testing.T) {
	for args, usage := range map[string]string{"explain a.yaml": "streamlab explain LAB QUERY", "trace a.yaml": "streamlab trace LAB QUERY", "trace a b c": "streamlab trace LAB QUERY",
		"run": "streamlab run LAB [QUERY…]", "status a b": "streamlab status [LAB]", "modes a b c": "streamlab modes LAB [QUERY]", "no such": `"no" is no command`} {
		code, out := runApp(t, t.TempDir(), strings.Fields(args)...)
		if code != 2 || !strings.Contains(out, usage) {
			t.Errorf("%s: exit %d\n%s", args, code, out)
		}
	}
}
