package safe

import (
	"strings"
	"testing"
)

// However text is cut into writes, no byte of it that a terminal obeys comes through.
func TestWriterWhereverTextIsCut(t *testing.T) {
	const text = "a\x1b[31m\x07\té\r\nb\rc\u009b1m\u202e\x7f\xff日\n"
	const want = "a␛[31m␇\té\r\nb␍c⟨009B⟩1m⟨202E⟩␡\ufffd日\n"
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			var b strings.Builder
			w := Writer(&b)
			for _, part := range []string{text[:i], text[i:j], text[j:]} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if b.String() != want {
				t.Fatalf("cut at %d and %d: %q, want %q", i, j, b.String(), want)
			}
		}
	}
}
