package screen

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// A Grid shows a Result with a cell cursor. Column widths are measured once, from the first rows, so
// that drawing costs what is visible and no more. While scrolling to the right the first column stays.
type Grid struct {
	res    Result
	list   widget.List
	col    int // of the cursor
	left   int // first scrolled column after column 0
	widths []int
	order  []int // rows in sorted order; nil: as they came
	sorted int   // column the rows are sorted by; -1: none
	desc   bool
	plain  bool            // no row numbers, no types in the header
	marks  map[[2]int]bool // rows of the result, and columns, that have just changed; nil: none
}

const widest = 40 // cells a column may take before it is cut

// NewGrid makes a grid of a result.
func NewGrid(r Result) *Grid {
	g := &Grid{res: r, widths: make([]int, len(r.Columns)), sorted: -1}
	for i, c := range r.Columns {
		g.widths[i] = min(widest, max(3, safe.Width(g.head(i, c))))
	}
	for _, row := range r.Rows[:min(200, len(r.Rows))] {
		for i := range min(len(row), len(g.widths)) {
			if g.widths[i] < widest {
				g.widths[i] = max(g.widths[i], safe.Width(g.cell(i, row[i], widest)))
			}
		}
	}
	return g
}

// keepPlace takes cursor, scroll and sorting from the grid that g replaces.
func (g *Grid) keepPlace(old *Grid) *Grid {
	if old == nil || len(old.res.Columns) != len(g.res.Columns) {
		return g
	}
	g.list, g.col, g.left, g.desc = old.list, old.col, old.left, old.desc
	for i := range g.widths {
		g.widths[i] = max(g.widths[i], old.widths[i])
	}
	if old.sorted >= 0 {
		g.sortBy(old.sorted, old.desc)
	}
	return g
}

func (g *Grid) head(_ int, c Column) safe.Line {
	h := safe.Text(c.Name, widest)
	if c.Type != "" && !g.plain {
		h += " " + safe.Text(c.Type, 16)
	}
	return h
}

func cellText(c Cell, limit int) safe.Line {
	if c.Null {
		return "NULL"
	}
	return safe.Text(c.Text, limit)
}

// cell is what the screen shows of a cell of column c.
func (g *Grid) cell(c int, x Cell, limit int) safe.Line {
	if day := g.res.Columns[c].HideDay; day != "" && !x.Null {
		x.Text = strings.ReplaceAll(x.Text, day+" ", "")
	}
	t := cellText(x, limit)
	if g.res.Columns[c].Grouped && !x.Null {
		t = number(t)
	}
	return t
}

// oneDay hides the date of all times of a result, if they have only one.
func oneDay(r Result) Result {
	day := ""
	var timed []int
	for c, col := range r.Columns {
		if strings.HasPrefix(col.Type, "timestamp") || col.Type == "struct<start:timestamp,end:timestamp>" {
			timed = append(timed, c)
		}
	}
	for _, row := range r.Rows {
		for _, c := range timed {
			if c >= len(row) || row[c].Null {
				continue
			}
			for _, part := range strings.Split(strings.Trim(row[c].Text, "{}"), ", ") {
				d, _, ok := strings.Cut(part, " ")
				if ok && day == "" {
					day = d
				}
				if ok && d != day {
					return r
				}
			}
		}
	}
	r.Columns = append([]Column(nil), r.Columns...)
	for _, c := range timed {
		r.Columns[c].HideDay = day
	}
	return r
}

func (g *Grid) row(i int) []Cell {
	if g.order != nil {
		i = g.order[i]
	}
	return g.res.Rows[i]
}

// Handle does the actions that move, and sorting; false for others.
func (g *Grid) Handle(a Action) bool {
	n := len(g.res.Rows)
	switch {
	case move(&g.list, a, n):
	case a == Left:
		g.col = max(0, g.col-1)
	case a == Right:
		g.col = max(0, min(g.col+1, len(g.res.Columns)-1))
	case a == SortResult:
		if len(g.res.Columns) == 0 {
			return true
		}
		g.sortBy(g.col, g.sorted == g.col && !g.desc)
	default:
		return false
	}
	return true
}

func (g *Grid) sortBy(col int, desc bool) {
	g.sorted, g.desc = col, desc
	n := min(len(g.res.Rows), 10_000) // more would be felt
	g.order = make([]int, len(g.res.Rows))
	for i := range g.order {
		g.order[i] = i
	}
	num := g.res.Columns[col].Right
	keys := make([]float64, 0)
	if num {
		keys = make([]float64, len(g.res.Rows))
		for i, r := range g.res.Rows {
			if col < len(r) {
				keys[i], _ = strconv.ParseFloat(r[col].Text, 64)
			}
		}
	}
	sort.SliceStable(g.order[:n], func(i, j int) bool {
		a, b := g.order[i], g.order[j]
		if desc {
			a, b = b, a
		}
		ca, cb := g.at(a, col), g.at(b, col)
		if ca.Null != cb.Null {
			return ca.Null
		}
		if num {
			return keys[a] < keys[b]
		}
		return ca.Text < cb.Text
	})
}

func (g *Grid) at(row, col int) Cell {
	if r := g.res.Rows[row]; col < len(r) {
		return r[col]
	}
	return Cell{Null: true}
}

// Cell is the value under the cursor and its column.
func (g *Grid) Cell() (Cell, Column, bool) {
	if len(g.res.Rows) == 0 || len(g.res.Columns) == 0 {
		return Cell{}, Column{}, false
	}
	g.list.To(g.list.Cursor, len(g.res.Rows))
	g.col = min(g.col, len(g.res.Columns)-1)
	row := g.row(g.list.Cursor)
	if g.col >= len(row) {
		return Cell{}, Column{}, false
	}
	return row[g.col], g.res.Columns[g.col], true
}

// Open is the effect of looking at the cell under the cursor.
func (g *Grid) Open() Effect {
	c, col, ok := g.Cell()
	if !ok {
		return Effect{}
	}
	t := c.Text
	if c.Null {
		t = "NULL"
	}
	title := text(col.Name) + " · row " + widget.Count(int64(g.list.Cursor+1))
	if j, ok := indented(t); ok {
		t, title = j, title+" · JSON"
	}
	return Effect{View: &Viewer{Title: title, Text: t}}
}

// indented is a JSON object or array on several lines; ok is false for anything else.
func indented(t string) (string, bool) {
	s := strings.TrimSpace(t)
	if len(s) < 2 || len(s) > 1<<20 || s[0] != '{' && s[0] != '[' {
		return "", false
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return "", false
	}
	return b.String(), true
}

// at0 is the row of the result that stands in row i of the screen.
func (g *Grid) at0(i int) int {
	if g.order != nil {
		return g.order[i]
	}
	return i
}

// CopyCell is the effect of copying the cell under the cursor.
func (g *Grid) CopyCell() Effect {
	c, _, ok := g.Cell()
	if !ok {
		return Effect{}
	}
	return Effect{Copy: &Clip{c.Text, "cell"}}
}

// CopyAll is the effect of copying all fetched rows as CSV.
func (g *Grid) CopyAll() Effect {
	return Effect{Copy: &Clip{g.csv(), widget.Count(int64(len(g.res.Rows))) + " rows as CSV"}}
}

// csv writes header and rows in the order shown. A cell that a spreadsheet would take for a formula gets
// a quote in front.
func (g *Grid) csv() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rec := make([]string, len(g.res.Columns))
	for i, c := range g.res.Columns {
		rec[i] = c.Name
	}
	_ = w.Write(rec) // a strings.Builder takes everything
	for i := range g.res.Rows {
		row := g.row(i)
		for k := range rec {
			rec[k] = ""
			if k < len(row) && !row[k].Null {
				rec[k] = row[k].Text
				if t := rec[k]; t != "" && strings.ContainsRune("=+-@\t\r", rune(t[0])) && !g.res.Columns[k].Right {
					rec[k] = "'" + t
				}
			}
		}
		_ = w.Write(rec)
	}
	w.Flush()
	return b.String()
}

// Find moves to the next row (or the previous, with d -1) that holds s in any cell.
func (g *Grid) Find(s string, d int) bool {
	n := len(g.res.Rows)
	if n == 0 || s == "" {
		return false
	}
	s = strings.ToLower(s)
	for k := 1; k <= n; k++ {
		i := ((g.list.Cursor+d*k)%n + n) % n
		for c, cell := range g.row(i) {
			if strings.Contains(strings.ToLower(cell.Text), s) {
				g.list.To(i, n)
				g.col = c
				return true
			}
		}
	}
	return false
}

// Shown says which rows are on the screen.
func (g *Grid) Shown() safe.Line {
	n := len(g.res.Rows)
	if g.res.More || g.res.Total > int64(n) {
		t := "first " + widget.Count(int64(n))
		if g.res.Total > int64(n) {
			t += " of " + widget.Count(g.res.Total)
		}
		return t + " rows"
	}
	if n == 1 {
		return "1 row"
	}
	return g.list.Shown(n) + " rows"
}

// click makes the grid that is drawn on v answer to clicks: on a cell it goes there, on the title of a column it sorts.
func (g *Grid) click(v canvas.View, focus func() bool) {
	g.clickAt(v, g.x0(), focus)
}

// x0 is where the first column begins.
func (g *Grid) x0() int {
	if g.plain {
		return 1
	}
	return 4 + max(3, safe.Width(widget.Count(int64(len(g.res.Rows)))))
}

func (g *Grid) clickAt(v canvas.View, x0 int, focus func() bool) {
	n := len(g.res.Rows)
	if n == 0 {
		return
	}
	cols, widths := g.shown(v.W - x0)
	column := func(x int) int {
		at := x0
		for _, c := range cols {
			if at += widths[c] + 2; x < at {
				return c
			}
		}
		return cols[len(cols)-1]
	}
	from, to := g.list.Window(n, v.H-1)
	clickLines(v, 0, 1, focus, func(x, _ int) bool {
		g.col = column(x)
		g.sortBy(g.col, g.sorted == g.col && !g.desc)
		return false
	})
	clickLines(v, 1, to-from, focus, func(x, line int) bool {
		row, col := from+line, column(x)
		again := g.list.Cursor == row && g.col == col
		g.list.Cursor, g.col = row, col
		return again
	})
}

// Draw draws header and rows.
func (g *Grid) Draw(v canvas.View, focused bool) {
	n := len(g.res.Rows)
	num := 0
	if !g.plain {
		num = max(3, safe.Width(widget.Count(int64(n))))
		v.Right(2+num, 0, num, "#", canvas.Muted)
		num += 2
	}
	x0 := 2 + num
	if g.plain {
		x0 = 1
	}
	cols, widths := g.shown(v.W - x0)
	x := x0
	for _, c := range cols {
		w := min(widths[c], v.W-x)
		h := g.head(c, g.res.Columns[c])
		if g.sorted == c {
			if g.desc {
				h += " ↓"
			} else {
				h += " ↑"
			}
		}
		if g.res.Columns[c].Right {
			v.Right(x+w, 0, w, h, canvas.Muted)
		} else {
			v.Fit(x, 0, w, h, canvas.Muted)
		}
		x += widths[c] + 2
	}
	if n == 0 {
		v.Put(2, 2, "no rows", canvas.Muted)
		return
	}
	from, to := g.list.Window(n, v.H-1)
	for i := from; i < to; i++ {
		y := 1 + i - from
		row := g.row(i)
		cur := i == g.list.Cursor
		if !g.plain {
			if cur {
				v.Put(1, y, "▸", canvas.Accent|canvas.Bold)
			}
			v.Right(num, y, num-2, widget.Count(int64(i+1)), canvas.Muted)
		}
		x := x0
		for _, c := range cols {
			w := min(widths[c], v.W-x)
			st := canvas.Text
			cell := Cell{Null: true}
			if c < len(row) {
				cell = row[c]
			}
			if cell.Null {
				st = canvas.Muted
			}
			if g.marks != nil && g.marks[[2]int{g.at0(i), c}] {
				st = canvas.Change | canvas.Bold
			}
			t := g.cell(c, cell, w)
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
		if cur && focused {
			v.Paint(x0, y, v.W-x0, canvas.Bold)
		}
	}
}

// shown is which columns are on w cells, and how wide all are. Where not all fit, a long first column leaves room for
// one more.
func (g *Grid) shown(w int) (cols, widths []int) {
	widths = append([]int(nil), g.widths...)
	all := -2
	for _, n := range widths {
		all += n + 2
	}
	if all > w && len(widths) > 1 {
		widths[0] = min(widths[0], max(10, w/2-1))
	}
	return g.visible(w, widths), widths
}

// Beyond says how many columns are to the left and to the right of those on w cells; "" if all are there.
func (g *Grid) Beyond(w int) safe.Line {
	cols, _ := g.shown(w)
	if n := len(g.res.Columns) - len(cols); n > 0 {
		return f("%d of %d columns, ← →", len(cols), len(g.res.Columns))
	}
	return ""
}

// visible chooses the columns for w cells: the first, then those from left on, scrolled so that the
// cursor's column is among them.
func (g *Grid) visible(w int, widths []int) []int {
	n := len(g.res.Columns)
	if n == 0 {
		return nil
	}
	g.col = min(g.col, n-1)
	g.left = max(1, min(g.left, n-1))
	if g.col > 0 && g.col < g.left {
		g.left = g.col
	}
	for {
		cols := []int{0}
		x := widths[0] + 2
		for c := g.left; c < n; c++ {
			if x+min(widths[c], 8) > w {
				break
			}
			cols = append(cols, c)
			x += widths[c] + 2
		}
		last := cols[len(cols)-1]
		if g.col <= last || g.left >= n-1 {
			return cols
		}
		g.left++
	}
}
