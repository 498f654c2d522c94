package widget

import (
	"math"
	"strings"
	"testing"

	"streamlab/internal/safe"

	"streamlab/tui/canvas"
)

func drawn(w, h int, draw func(v canvas.View)) string {
	c := canvas.New(w, h)
	draw(c.View())
	return strings.TrimRight(c.Text(), "\n")
}

func TestStackKeepsTheSharesOfItsLayers(t *testing.T) {
	got := drawn(3, 4, func(v canvas.View) {
		Stack(v, [][]Layer{{{"░", 1}, {"█", 3}}, {{"░", 2}}, {{"▒", 0.01}}, {{"░", 0}}}, 4, canvas.Text)
	})
	// The oldest column does not fit on three cells; the least that is something is one cell.
	if want := "\n\n░\n░▒"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = drawn(2, 4, func(v canvas.View) { Stack(v, [][]Layer{{{"░", 1}, {"█", 3}}, {{"▓", 4}}}, 0, canvas.Text) })
	if want := "█▓\n█▓\n█▓\n░▓"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := drawn(2, 2, func(v canvas.View) { Stack(v, [][]Layer{{{"█", 0}}}, 0, canvas.Text) }); got != "" {
		t.Errorf("nothing is drawn as %q", got)
	}
}

func TestAgainstPutsMarksOverTheArea(t *testing.T) {
	got := drawn(3, 2, func(v canvas.View) {
		Against(v, []float64{0, 8, math.NaN()}, []float64{16, 16, 4}, 0, 16, "●", canvas.Text, canvas.Text)
	})
	if want := "●●\n▁█●"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// One moment only: no scale, no crash, no division by zero.
	if got := drawn(1, 1, func(v canvas.View) { Against(v, []float64{5}, []float64{5}, 5, 5, "●", canvas.Text, canvas.Text) }); got != "●" {
		t.Errorf("got %q", got)
	}
}

// Without charts numbers say what they would show; where there is little room the least and the greatest do.
func TestChartsInWordsFit(t *testing.T) {
	values := []float64{402, 0, 1200}
	for w, want := range map[int]safe.Line{40: "first 402 least 0 most 1.2k", 18: "0 to 1.2k"} {
		if got := inWords(values, w); got != want || safe.Width(got) > w {
			t.Errorf("on %d cells: %q, want %q", w, got, want)
		}
	}
}
