package screen

import (
	"fmt"
	"strings"
	"testing"

	"streamlab/tui/canvas"
)

func wide(cols, rows int) Result {
	var r Result
	for c := range cols {
		r.Columns = append(r.Columns, Column{Name: fmt.Sprintf("c%d", c), Right: c%2 == 1})
	}
	for i := range rows {
		row := make([]Cell, cols)
		for c := range row {
			row[c] = Cell{Text: fmt.Sprintf("v%d.%d", i, c)}
			if c%2 == 1 {
				row[c].Text = fmt.Sprint((i * 7919) % 1000)
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func TestGridScrollsToTheCursor(t *testing.T) {
	g := NewGrid(wide(200, 10))
	c := canvas.New(60, 8)
	for i := range 250 {
		g.Handle(Right)
		c.Reset(60, 8)
		g.Draw(c.View(), true)
		if want := fmt.Sprintf("c%d", min(i+1, 199)); !strings.Contains(strings.SplitN(c.Text(), "\n", 2)[0], want) {
			t.Fatalf("column %s is not shown:\n%s", want, c.Text())
		}
		if !strings.Contains(c.Text(), "c0") {
			t.Fatal("the first column did not stay")
		}
	}
}

func TestGridSortsNumbersAndCopies(t *testing.T) {
	g := NewGrid(wide(2, 100))
	g.Handle(Right)
	g.Handle(SortResult)
	last := -1
	for i := range 100 {
		var n int
		fmt.Sscan(g.row(i)[1].Text, &n)
		if n < last {
			t.Fatalf("row %d: %d after %d", i, n, last)
		}
		last = n
	}
	r := Result{Columns: []Column{{Name: "a"}, {Name: "b", Right: true}},
		Rows: [][]Cell{{{Text: "=1+1"}, {Text: "-5"}}, {{Text: "x,\"y\""}, {Null: true}}}}
	if got, want := NewGrid(r).csv(), "a,b\n'=1+1,-5\n\"x,\"\"y\"\"\",\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGridFinds(t *testing.T) {
	g := NewGrid(wide(3, 50))
	if !g.Find("V30.2", 1) || g.list.Cursor != 30 || g.col != 2 {
		t.Errorf("found row %d column %d", g.list.Cursor, g.col)
	}
	if g.Find("nothing", 1) {
		t.Error("found what is not there")
	}
}

func BenchmarkGridOf100000Rows(b *testing.B) {
	g := NewGrid(wide(20, 100_000))
	c := canvas.New(200, 50)
	for b.Loop() {
		g.Handle(Down)
		g.Draw(c.View(), true)
	}
}
