package canvas

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"streamlab/internal/safe"
)

func TestClipping(t *testing.T) {
	c := New(10, 3)
	v := c.View().Sub(2, 1, 5, 1)
	v.Put(-1, 0, "abcdefgh", Text)
	v.Put(0, 1, "outside", Text)
	v.Put(0, -1, "outside", Text)
	if got, want := c.Text(), "\n  bcdef\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWideCharacters(t *testing.T) {
	c := New(8, 3)
	v := c.View()
	v.Put(0, 0, "日本", Text)
	v.Put(1, 0, "x", Text) // takes the right half of 日
	v.Put(0, 1, "日本", Text)
	v.Put(2, 1, "y", Text) // takes the left half of 本
	v.Sub(0, 2, 3, 1).Put(0, 0, "日本", Text)
	if got, want := c.Text(), " x本\n日y\n日\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestColumnsStayAfterOddText(t *testing.T) {
	c := New(20, 1)
	for _, s := range []string{"हिन्दी", "👍🏽", "⚠️", "日"} {
		c.Reset(20, 1)
		c.View().Put(0, 0, safe.Text(s, 0), Text)
		c.View().Put(10, 0, "|", Text)
		out := c.Encode(Terminal())[0]
		i := strings.IndexByte(out, 'G')
		if i < 0 || !strings.Contains(out, "G") {
			t.Errorf("%q: no column is set in %q", s, out)
		}
		if w := ansi.StringWidth(out); w != 11 {
			t.Errorf("%q: the line measures %d, want 11", s, w)
		}
	}
}

func TestEncode(t *testing.T) {
	c := New(6, 2)
	c.View().Put(0, 0, "ab", Error|Bold)
	c.View().Put(2, 0, "c", Text)
	c.View().Put(0, 1, "d", Text)
	c.View().Paint(0, 1, 6, Cursor)
	want := "\x1b[0;1;31mab\x1b[0mc\x1b[K\n\x1b[0;7md     \x1b[0m"
	if got := strings.Join(c.Encode(Terminal()), "\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(c.Encode(None()), "\n"); strings.Contains(got, "31") {
		t.Errorf("theme none has a colour: %q", got)
	}
}

func TestContrast(t *testing.T) {
	for s, c := range darkLooks {
		if r := contrast(c, darkBack); r < 4.5 {
			t.Errorf("dark: role %d has contrast %.2f", s, r)
		}
	}
	for s, c := range lightLooks {
		if r := contrast(c, lightBack); r < 4.5 {
			t.Errorf("light: role %d has contrast %.2f", s, r)
		}
	}
}

func BenchmarkEncode200x50(b *testing.B) {
	c := New(200, 50)
	th := Terminal()
	b.ReportAllocs()
	for b.Loop() {
		c.Reset(200, 50)
		for y := range 50 {
			c.View().Put(0, y, "some text in a row", Muted)
			c.View().HLine(20, y, 180, "━", Accent)
		}
		_ = c.Encode(th)
	}
}
