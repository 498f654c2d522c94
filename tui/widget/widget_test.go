package widget

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want safe.Line }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1204880), "1,204,880"}, {Count(-1), "-"},
		{Signed(412), "+412"}, {Signed(-3), "−3"},
		{Rate(0), "0"}, {Rate(4.5), "4.5"}, {Rate(840), "840"}, {Rate(9700), "9.7k"}, {Rate(998200), "998.2k"},
		{Rate(999960), "1.00M"}, {Rate(1.02e6), "1.02M"}, {Rate(-1), "-"},
		{Short(94 * time.Millisecond), "94ms"}, {Short(1200 * time.Millisecond), "1.2s"}, {Short(32 * time.Second), "32s"},
		{Short(10 * time.Minute), "10m"}, {Short(2 * time.Hour), "2h"}, {Short(72 * time.Hour), "3d"},
		{Took(182 * time.Millisecond), "182 ms"}, {Took(1240 * time.Millisecond), "1.24 s"}, {Took(185 * time.Second), "3m05s"},
		{Words(11 * time.Second), "11 s"}, {Words(1500 * time.Millisecond), "1.5 s"}, {Words(10 * time.Minute), "10 min"},
		{Clock(724 * time.Second), "12m04s"}, {Clock(9 * time.Second), "9s"}, {Clock(3*time.Hour + 7*time.Minute), "3h07m"},
		{Bytes(41), "41 B"}, {Bytes(14 << 10), "14 KiB"}, {Bytes(212 << 20), "212 MiB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestListKeepsTheCursorInView(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l List
	total := 100
	for range 2000 {
		switch rnd.IntN(4) {
		case 0:
			l.Move(rnd.IntN(21)-10, total)
		case 1:
			l.To(rnd.IntN(200)-50, total)
		case 2:
			total = rnd.IntN(120)
		}
		h := rnd.IntN(30)
		from, to := l.Window(total, h)
		if from < 0 || to > total || to-from > h {
			t.Fatalf("window [%d,%d) of %d on %d lines", from, to, total, h)
		}
		if total > 0 && h > 0 && (l.Cursor < from || l.Cursor >= to) {
			t.Fatalf("cursor %d is outside of [%d,%d)", l.Cursor, from, to)
		}
	}
}

func TestLayoutDropsByRank(t *testing.T) {
	cols := []Col{{Title: "NAME", Width: 10, Grow: true}, {Width: 5, Rank: 1}, {Width: 5, Rank: 3}, {Width: 5, Rank: 2}}
	for w := range 60 {
		ws := Layout(cols, w, 1)
		if ws[0] == 0 {
			t.Fatalf("%d cells: the name is gone", w)
		}
		if ws[2] > 0 && ws[3] == 0 || ws[3] > 0 && ws[1] == 0 {
			t.Fatalf("%d cells: a higher rank stayed: %v", w, ws)
		}
		sum := -1
		for _, x := range ws {
			if x > 0 {
				sum += x + 1
			}
		}
		if sum > max(w, 1) {
			t.Fatalf("%d cells: %v takes %d", w, ws, sum)
		}
	}
}

// The editor against a slice of runes with a cursor.
func TestEditorAgainstReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var e Editor
		var ref []rune
		at := 0
		for range 500 {
			switch rnd.IntN(8) {
			case 0, 1, 2, 3:
				r := []rune("abc x;日é")[rnd.IntN(8)]
				e.Handle(Key{Name: string(r), Text: string(r)})
				ref = append(ref[:at:at], append([]rune{r}, ref[at:]...)...)
				at++
			case 4:
				e.Handle(Key{Name: "enter"})
				ref = append(ref[:at:at], append([]rune{'\n'}, ref[at:]...)...)
				at++
			case 5:
				e.Handle(Key{Name: "backspace"})
				if at > 0 {
					ref = append(ref[:at-1:at-1], ref[at:]...)
					at--
				}
			case 6:
				e.Handle(Key{Name: "left"})
				at = max(0, at-1)
			case 7:
				e.Handle(Key{Name: "right"})
				at = min(len(ref), at+1)
			}
			if e.Text() != string(ref) {
				t.Fatalf("text is %q, want %q", e.Text(), string(ref))
			}
		}
		for range 600 {
			e.Handle(Key{Name: "ctrl+_"})
		}
		e.Draw(canvas.New(20, 4).View(), true, true, nil)
	}
}

func TestChartsStayInside(t *testing.T) {
	c := canvas.New(10, 3)
	Bars(c.View().Sub(2, 0, 4, 3), []float64{1, 2, 3, 4, 5, 6, 7, 1e9, -1}, 0, canvas.Text)
	Spark(c.View(), 0, 2, 2, []float64{0, 1, 2}, 0, canvas.Text)
	PhaseBar(c.View(), 0, 0, 2, []Part{{Took: 1, Shade: "░"}, {Took: 1000, Shade: "█"}}, canvas.Text)
	for _, l := range strings.Split(c.Text(), "\n") {
		if safe.Width(safe.Line(l)) > 10 {
			t.Errorf("%q is too wide", l)
		}
	}
	if !strings.HasPrefix(c.Text(), "░█") {
		t.Errorf("the bar is %q", c.Text())
	}
}
