package screen

import (
	"sort"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// traceRows shows the kept rows of a stage: those that left first, then the groups that were held back. In
// front of a row stands ▸ at the cursor and ● where it is followed.
type traceRows struct {
	*Grid
	stage *TraceStage
}

func newTraceRows(t *Trace, i int) *traceRows {
	s := &t.Stages[i]
	r := s.Values
	marked := false
	for _, x := range s.Rows {
		marked = marked || x.Mark != ""
	}
	if marked {
		r.Columns = append(append([]Column(nil), r.Columns...), Column{})
		rows := make([][]Cell, len(r.Rows))
		for k := range rows {
			rows[k] = append(append([]Cell(nil), r.Rows[k]...), Cell{Text: s.Rows[k].Mark})
		}
		r.Rows = rows
	}
	g := NewGrid(r)
	g.plain = true
	g.order = make([]int, len(r.Rows))
	for k := range g.order {
		g.order[k] = k
	}
	sort.SliceStable(g.order, func(a, b int) bool { return s.Rows[g.order[a]].Emitted && !s.Rows[g.order[b]].Emitted })
	return &traceRows{g, s}
}

func (g *traceRows) len() int { return len(g.stage.Rows) }

// place is the place of the row under the cursor among the stage's rows.
func (g *traceRows) place() int {
	g.list.To(g.list.Cursor, g.len())
	return g.order[g.list.Cursor]
}

// current is the number of the row under the cursor; -1 without rows.
func (g *traceRows) current() int64 {
	if g.len() == 0 {
		return -1
	}
	return g.stage.Rows[g.place()].N
}

// at moves to the row with a number, if it is kept.
func (g *traceRows) at(n int64) { g.toFirst(map[int64]bool{n: true}) }

// toFirst moves to the first row of a set, if one is kept and the cursor is at none.
func (g *traceRows) toFirst(set map[int64]bool) {
	if len(set) == 0 || g.len() == 0 || set[g.current()] {
		return
	}
	for i, k := range g.order {
		if set[g.stage.Rows[k].N] {
			g.list.To(i, g.len())
			return
		}
	}
}

// Draw draws header and rows. focused says that keys move the cursor.
func (g *traceRows) Draw(v canvas.View, marked map[int64]bool, focused bool) {
	n := g.len()
	const x0 = 3
	cols, widths := g.shown(v.W - x0)
	x := x0
	for _, c := range cols {
		w := min(widths[c], v.W-x)
		h := g.head(c, g.res.Columns[c])
		if g.res.Columns[c].Right {
			v.Right(x+w, 0, w, h, canvas.Muted)
		} else {
			v.Fit(x, 0, w, h, canvas.Muted)
		}
		x += widths[c] + 2
	}
	from, to := g.list.Window(n, v.H-1)
	for i := from; i < to; i++ {
		y := 1 + i - from
		g.drawRow(v, y, i, cols, widths, marked, focused)
	}
}

func (g *traceRows) drawRow(v canvas.View, y, i int, cols, widths []int, marked map[int64]bool, focused bool) {
	row, r := g.row(i), &g.stage.Rows[g.order[i]]
	cur := i == g.list.Cursor
	followed := marked[r.N]
	switch {
	case followed:
		v.Put(1, y, "●", canvas.Accent|canvas.Bold)
		if cur {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
		}
	case cur:
		v.Put(1, y, "▸", canvas.Accent|canvas.Bold)
	}
	x := 3
	for _, c := range cols {
		w := min(widths[c], v.W-x)
		st := canvas.Text
		var t safe.Line
		if c < len(row) {
			if row[c].Null {
				st = canvas.Muted
			}
			if r.Mark != "" && c == len(g.res.Columns)-1 {
				st = canvas.Warn
			}
			t = g.cell(c, row[c], w)
		}
		if !r.Emitted && st == canvas.Text {
			st = canvas.Muted
		}
		if followed {
			st |= canvas.Bold
		}
		if g.res.Columns[c].Right {
			v.Right(x+w, y, w, t, st)
		} else {
			v.Fit(x, y, w, t, st)
		}
		if cur && focused && c == g.col {
			v.Paint(x, y, w, canvas.Cursor)
		}
		x += widths[c] + 2
	}
}
