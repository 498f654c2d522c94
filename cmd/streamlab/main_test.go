//go:build cgo

package main

import (
	"strings"
	"testing"

	"streamlab/errs"
)

func TestExcerptKeepsThePlaceOfLongAndBinaryLines(t *testing.T) {
	at := func(line string, col, length int) *errs.Error {
		e := errs.New("LAB_SYNTAX", "problem", "p").At(errs.Pos{File: "f", Line: 1, Col: col, Length: length})
		return e.WithExcerpt(line)
	}
	for _, c := range []struct {
		e           *errs.Error
		line, marks string
	}{
		{at("ab cd", 4, 2), "ab cd", "   ^^"},
		{at("\tab", 2, 9), "\tab", "\t^^"},
		{at("a\x1b[2Jb", 6, 1), "a·[2Jb", "     ^"},
		{at("ab", 9, 1), "ab", "  ^"},
		{at(strings.Repeat("x", 500)+"Y"+strings.Repeat("z", 500), 501, 1),
			"…" + strings.Repeat("x", 60) + "Y" + strings.Repeat("z", 59) + "…", strings.Repeat(" ", 61) + "^"},
	} {
		if line, marks := excerpt(c.e); line != c.line || marks != c.marks {
			t.Errorf("got\n%q\n%q\nwant\n%q\n%q", line, marks, c.line, c.marks)
		}
	}
}
