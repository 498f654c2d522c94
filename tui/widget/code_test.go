package widget

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// reference is an editor that keeps one string and copies it at every change.
type reference struct {
	s  string
	at int
}

func (r *reference) lineStart() int { return strings.LastIndexByte(r.s[:r.at], '\n') + 1 }
func (r *reference) lineEnd() int {
	if i := strings.IndexByte(r.s[r.at:], '\n'); i >= 0 {
		return r.at + i
	}
	return len(r.s)
}
func (r *reference) replace(a, b int, t string) { r.s, r.at = r.s[:a]+t+r.s[b:], a+len(t) }

// prev and next step over one character; the texts of the test have one code point a character.
func (r *reference) prev() int {
	if r.at == 0 {
		return 0
	}
	_, n := utf8.DecodeLastRuneInString(r.s[:r.at])
	return r.at - n
}
func (r *reference) next() int {
	if r.at == len(r.s) {
		return r.at
	}
	_, n := utf8.DecodeRuneInString(r.s[r.at:])
	return r.at + n
}

func (r *reference) key(k Key) {
	switch k.Name {
	case "left":
		r.at = r.prev()
	case "right":
		r.at = r.next()
	case "home":
		r.at = r.lineStart()
	case "end":
		r.at = r.lineEnd()
	case "ctrl+home":
		r.at = 0
	case "ctrl+end":
		r.at = len(r.s)
	case "backspace":
		r.replace(r.prev(), r.at, "")
	case "delete":
		at := r.at
		r.replace(at, r.next(), "")
	case "ctrl+u":
		r.replace(r.lineStart(), r.at, "")
	case "ctrl+k":
		at, end := r.at, r.lineEnd()
		if end == at {
			end = r.next()
		}
		r.replace(at, end, "")
	case "enter":
		r.replace(r.at, r.at, "\n")
	default:
		r.replace(r.at, r.at, k.Text)
	}
}

func (c *Code) offset() int {
	n := c.at.Byte
	for _, l := range c.lines[:c.at.Line] {
		n += len(l) + 1
	}
	return n
}

func TestRandomEditsAgainstAString(t *testing.T) {
	for seed := range int64(20) {
		rnd := rand.New(rand.NewSource(seed))
		var c Code
		var ref reference
		c.Set("")
		names := []string{"left", "right", "home", "end", "ctrl+home", "ctrl+end", "backspace", "delete", "ctrl+u", "ctrl+k", "enter"}
		texts := []string{"a", "b", " ", "é", "世", "SELECT", "x\ny", "\n\n", "'", "日本\n語"}
		states := []string{""} // after each change
		for i := range 500 {
			var k Key
			if rnd.Intn(2) == 0 {
				k.Name = names[rnd.Intn(len(names))]
			} else {
				k.Text = texts[rnd.Intn(len(texts))]
				if utf8.RuneCountInString(k.Text) == 1 {
					k.Name = k.Text
				}
			}
			if k.Name == "home" { // ours stops at the first letter
				c.Handle(k)
				c.Go(Place{c.at.Line, 0})
			} else {
				c.Handle(k)
			}
			ref.key(k)
			if c.Text() != ref.s || c.offset() != ref.at {
				t.Fatalf("seed %d, edit %d, key %q: %q at %d, want %q at %d", seed, i, k, c.Text(), c.offset(), ref.s, ref.at)
			}
			if states[len(states)-1] != ref.s {
				states = append(states, ref.s)
			}
		}
		end := c.Text()
		steps := 0
		for c.Undo() {
			steps++
			if !in(states, c.Text()) {
				t.Fatalf("seed %d: undo made %q, which never was", seed, c.Text())
			}
		}
		if c.Text() != "" {
			t.Fatalf("seed %d: undone to %q, want nothing", seed, c.Text())
		}
		if steps < 100 {
			t.Fatalf("seed %d: only %d steps", seed, steps)
		}
		for c.Redo() {
		}
		if c.Text() != end {
			t.Fatalf("seed %d: done again %q, want %q", seed, c.Text(), end)
		}
	}
}

func in(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (c *Code) typed(s string) {
	for _, r := range s {
		c.Handle(Key{Name: string(r), Text: string(r)})
	}
}

func TestUndoTakesWordsBack(t *testing.T) {
	var c Code
	c.Set("")
	c.typed("select page")
	for _, want := range []string{"select ", "select", ""} {
		c.Undo()
		if c.Text() != want {
			t.Fatalf("got %q, want %q", c.Text(), want)
		}
	}
	c.Redo()
	c.typed("x")
	if c.Redo() {
		t.Error("a change must end what can be done again")
	}
	c.Together(func() {
		c.Replace(Place{0, 0}, Place{0, 6}, "one")
		c.Replace(Place{0, 0}, Place{0, 0}, "zero\n")
	})
	c.Undo()
	if c.Text() != "selectx" {
		t.Errorf("changes made together must go together: %q", c.Text())
	}
	c.ReadOnly = true
	c.typed("y")
	if c.Text() != "selectx" {
		t.Error("read-only text was changed")
	}
}

func TestIndentAndWords(t *testing.T) {
	c := Code{Indent: true}
	c.Set("  - queryName: a\n    sql: |")
	c.GoEnd()
	c.Handle(Key{Name: "enter"})
	c.typed("SELECT 1")
	if got := c.Line(2); got != "      SELECT 1" {
		t.Errorf("got %q", got)
	}
	c.Handle(Key{Name: "enter"})
	c.Handle(Key{Name: "backspace"})
	if got := c.Line(3); got != "    " {
		t.Errorf("backspace took %q", got)
	}
	c.Handle(Key{Name: "shift+tab"})
	if got := c.Line(3); got != "  " || c.Cursor().Byte != 2 {
		t.Errorf("shift+tab left %q, cursor at %d", got, c.Cursor().Byte)
	}
	c.Set("sum(count_1) + 日本語x")
	c.GoEnd()
	if c.Word() != "日本語x" {
		t.Errorf("word %q", c.Word())
	}
	var stops []int
	for c.at.Byte > 0 {
		c.Handle(Key{Name: "ctrl+left"})
		stops = append(stops, c.at.Byte)
	}
	if len(stops) != 6 || stops[0] != 15 || stops[3] != 4 {
		t.Errorf("stops of ctrl+left: %v", stops)
	}
	c.Complete("summe") // nothing before the cursor
	if c.Text() != "summesum(count_1) + 日本語x" {
		t.Errorf("got %q", c.Text())
	}
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	var c Code
	c.Set("日本語日本語\nab\nabcdefghijklmno")
	c.Go(Place{0, 12}) // cell 8
	c.Handle(Key{Name: "down"})
	c.Handle(Key{Name: "down"})
	if c.Cursor() != (Place{2, 8}) {
		t.Errorf("cursor at %v", c.Cursor())
	}
	c.Handle(Key{Name: "up"})
	c.Handle(Key{Name: "up"})
	if c.Cursor() != (Place{0, 12}) {
		t.Errorf("cursor at %v", c.Cursor())
	}
}

func TestOnlyVisibleLinesAreLookedAt(t *testing.T) {
	var c Code
	asked := map[int]int{}
	line := func(l string) (n int) {
		for _, r := range l {
			n = n*10 + int(r-'0')
		}
		return n
	}
	c.Highlight(func(state uint64, l string) ([]Span, uint64) {
		asked[line(l)]++
		return nil, state + 1
	})
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.TrimLeft(string([]byte{byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)}), "0"))
		b.WriteByte('\n')
	}
	c.Set(b.String())
	cv := canvas.New(40, 10)
	draw := func() { cv.Reset(40, 10); c.Draw(cv.View(), Numbers, true, nil) }
	draw()
	if len(asked) != 10 {
		t.Fatalf("%d lines were looked at, want 10", len(asked))
	}
	draw()
	c.Go(Place{5, 0})
	c.typed("1") // lines from here on are looked at again
	draw()
	if asked[0] != 1 || asked[4] != 1 || asked[7] != 2 {
		t.Errorf("looked at: %v", asked)
	}
}

func TestDrawStaysInItsColumns(t *testing.T) {
	hostile := []string{"\x1b[31mred\x1b[0m", "‮evil", "日本語日本語日本語日本語日本語", "👍🏽⚠️👨‍👩‍👧‍👦 family", "हिन्दी हिन्दी",
		"a\tb\tc", string([]byte{0xff, 0xfe, 'x'}), strings.Repeat("x", 5000), "z̀̀̀̀̀̀̀̀̀̀algo"}
	var c Code
	c.Highlight(func(state uint64, l string) ([]Span, uint64) {
		if len(l) > 3 {
			return []Span{{1, 3, canvas.Accent}}, 0 // cuts characters in two
		}
		return nil, 0
	})
	c.Set(strings.Join(hostile, "\n"))
	for line := range hostile {
		for _, key := range []string{"home", "right", "right", "ctrl+right", "end"} {
			c.Go(Place{line, c.at.Byte})
			c.Handle(Key{Name: key})
			cv := canvas.New(40, 12)
			c.Draw(cv.View().Sub(5, 1, 30, 10), Signs, true, func(i int) (Mark, bool) { return Mark{"✗", canvas.Error}, i == 2 })
			for y, l := range strings.Split(cv.Text(), "\n") {
				if w := safe.Width(safe.Line(l)); w > 35 {
					t.Fatalf("line %d is %d wide: %q", y, w, l)
				}
				if strings.ContainsAny(l, "\x1b\t") || strings.Contains(l, "‮") {
					t.Fatalf("line %d holds a control character: %q", y, l)
				}
			}
			x, y := c.CursorAt(Signs)
			if x < 6 || x >= 30 || y < 0 || y >= 10 {
				t.Fatalf("line %d after %s: the cursor is at %d, %d", line, key, x, y)
			}
		}
	}
}

func BenchmarkCodeKey(b *testing.B) {
	c := Code{Indent: true}
	c.Set(strings.Repeat("      SELECT window(ts, '1 minute') AS w, page FROM clicks\n", 2000))
	c.Go(Place{1000, 12})
	cv := canvas.New(200, 50)
	for range b.N {
		c.typed("x")
		cv.Reset(200, 50)
		c.Draw(cv.View(), Signs, true, nil)
	}
}
