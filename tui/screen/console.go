package screen

import (
	"context"
	"strconv"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// A consoleBlock is what a console sink printed of one batch, as a range of lines.
type consoleBlock struct {
	batch    int64
	from, to int // lines, to exclusive
	replay   bool
}

// blocks finds the blocks in lines. A batch that comes directly after itself was run again; where checkpoints are
// temporary it is another run's.
func blocks(lines []string, temporary bool) (out []consoleBlock) {
	for i, l := range lines {
		id, err := strconv.ParseInt(strings.TrimPrefix(l, "Batch: "), 10, 64)
		if !isBatchLine(l) || err != nil {
			continue
		}
		b := consoleBlock{batch: id, from: max(0, i-1), to: len(lines)}
		if n := len(out); n > 0 {
			out[n-1].to = b.from
			b.replay = out[n-1].batch == id && !temporary
		}
		out = append(out, b)
	}
	return out
}

// wholeBatches is how many batches are printed anew at a time, the newest ones.
const wholeBatches = 20

// lines is what the console sink printed; where truncation is off, with the tables of batches whose rows could be
// read in full.
func (s *Output) lines() []string {
	if !s.full {
		return s.con.Lines
	}
	if s.shown != nil && s.shownOf == s.con.Version && s.shownN == len(s.whole) {
		return s.shown
	}
	out := make([]string, 0, len(s.con.Lines))
	done := 0
	for _, b := range blocks(s.con.Lines, false) {
		first, last := tableIn(s.con.Lines, b)
		if t := s.whole[b.batch]; t != nil && first < last {
			out = append(append(out, s.con.Lines[done:first]...), t...)
			done = last
		}
	}
	s.shown, s.shownOf, s.shownN = append(out, s.con.Lines[done:]...), s.con.Version, len(s.whole)
	return s.shown
}

// tableIn is the range of lines of a block that are its table, with the header.
func tableIn(lines []string, b consoleBlock) (from, to int) {
	from = -1
	for i := b.from; i < b.to; i++ {
		if l := lines[i]; strings.HasPrefix(l, "+-") || strings.HasPrefix(l, "|") {
			if from < 0 {
				from = i
			}
			to = i + 1
		}
	}
	return max(0, from), to
}

// untruncate switches truncation and reads the rows of the newest batches.
func (s *Output) untruncate() Effect {
	if s.full = !s.full; !s.full {
		return Effect{}
	}
	return s.readWhole()
}

// readWhole reads the rows of batches that are not known in full yet.
func (s *Output) readWhole() Effect {
	want := map[int64]int{}
	bs := blocks(s.con.Lines, false)
	for _, b := range bs[max(0, len(bs)-wholeBatches):] {
		if from, to := tableIn(s.con.Lines, b); s.whole[b.batch] == nil && to-from > 3 {
			want[b.batch] = to - from - 4 // three rules and the header
		}
	}
	if len(want) == 0 {
		return Effect{}
	}
	name, bench := s.name, s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "whole", What: "reading rows", Run: func(ctx context.Context) func() Effect {
		got := map[int64][]string{}
		for id, n := range want {
			r, err := bench.BatchRows(ctx, name, id, max(1, n))
			if err != nil { // of a temporary checkpoint, or purged: its table stays as it is
				got[id] = []string{}
				continue
			}
			got[id] = wholeTable(r, n)
		}
		return func() Effect {
			if s.whole == nil {
				s.whole = map[int64][]string{}
			}
			lost := 0
			for id, t := range got {
				if len(t) == 0 {
					lost++
					continue
				}
				s.whole[id] = t
			}
			if lost > 0 && lost == len(got) {
				s.full = false
				return Effect{Toast: "the rows are not kept any more: they stay as they were printed"}
			}
			return Effect{}
		}
	}}}}
}

var consoleEscapes = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`, "\v", `\v`, "\a", `\a`)

// wholeTable prints the first n rows as the console sink does with truncate false: cells begin at the left.
func wholeTable(r Result, n int) (out []string) {
	width := make([]int, len(r.Columns))
	rows := [][]string{make([]string, len(r.Columns))}
	for i, c := range r.Columns {
		rows[0][i] = consoleEscapes.Replace(c.Name)
	}
	for _, cells := range r.Rows[:min(n, len(r.Rows))] {
		row := make([]string, len(r.Columns))
		for i := range row {
			row[i] = "NULL"
			if !cells[i].Null {
				row[i] = consoleEscapes.Replace(cells[i].Text)
			}
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(3, width[i], safe.Width(safe.Line(c)))
		}
	}
	rule := "+"
	for _, w := range width {
		rule += strings.Repeat("-", w) + "+"
	}
	out = append(out, rule)
	for k, row := range rows {
		l := "|"
		for i, c := range row {
			l += c + strings.Repeat(" ", width[i]-safe.Width(safe.Line(c))) + "|"
		}
		if out = append(out, l); k == 0 {
			out = append(out, rule)
		}
	}
	return append(out, rule)
}

// where says which batch of a console is in sight: the newest while the end is followed, else that of the first line.
func (s *Output) where(q *QuerySnapshot) safe.Line {
	bs := blocks(s.lines(), q.Temporary)
	if len(bs) == 0 {
		return ""
	}
	at := bs[0].batch
	for _, b := range bs {
		if b.from <= s.first() || s.top < 0 {
			at = b.batch
		}
	}
	return f("batch %d of %d", at, bs[len(bs)-1].batch)
}

// frozenWord says that the screen is held, and what it misses.
func (s *Output) frozenWord(q *QuerySnapshot) safe.Line {
	n := q.Last().BatchID - s.frozenAt
	if n <= 0 {
		return "frozen"
	}
	return "frozen, " + widget.Count(n) + " newer " + map[bool]safe.Line{true: "batch", false: "batches"}[n == 1]
}
