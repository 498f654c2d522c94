package codec

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// Both ways of finding marks mark what looking at each byte does.
func TestMarksAreThoseOfTheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\"\\\n\r\x1f\x20!#[]\x7f\x80\x9f\xa0\xff"))), 64, 64*9).Draw(t, "text")
		blocks := len(text) / markBlock
		p := unsafe.Pointer(unsafe.SliceData(text))
		var a, b struct{ plain, lines [mostMarks]uint64 }
		marks(p, blocks, &a.plain, &a.lines)
		marksPlain(p, blocks, &b.plain, &b.lines)
		for i, c := range text[:blocks*markBlock] {
			plain, line := c == '"' || c == '\\' || c < ' ' || c >= 0x80, c == '\n'
			for name, m := range map[string]*struct{ plain, lines [mostMarks]uint64 }{"marks": &a, "marksPlain": &b} {
				if m.plain[i>>6]>>(i&63)&1 != 0 != plain || m.lines[i>>6]>>(i&63)&1 != 0 != line {
					t.Fatalf("%s: byte %x at %d", name, c, i)
				}
			}
		}
		if a.plain[blocks] != 0 || a.lines[blocks] != 0 {
			t.Fatal("too many")
		}
	})
}
