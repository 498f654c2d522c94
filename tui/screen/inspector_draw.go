package screen

import (
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Draw implements Screen. S: stages above rows above the reasons. M: stages with notes above rows beside the
// reasons. L: stages beside the reasons, above the rows of several stages side by side.
func (s *Inspector) Draw(v canvas.View) {
	rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), s.title(), s.pane == stagePane)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case s.err != nil:
		s.drawError(body)
	case s.trace == nil:
		t := f("Batch %d is run again from its stored offsets and the state before it.", s.id)
		empty(body, t+" Checkpoint and sink stay as they are.", "ctrl+c cancels it, enter begins anew.")
	case s.zoom:
		s.drawRows(body, s.stages.Cursor, true)
	case s.sh.Class == L:
		s.drawWide(body)
	case s.sh.Class == M:
		s.drawMedium(body)
	default:
		s.drawSmall(body)
	}
}

// title says how the rows were got, and how many of them.
func (s *Inspector) title() safe.Line {
	if s.waiting {
		return "waiting for the next batch, which is recorded"
	}
	t := s.trace
	if t != nil && t.Partial {
		far := safe.Line(" so far")
		if s.sh.Class == S {
			far = ""
		}
		return spinner(s.sh) + "running again · " + widget.Count(t.RowsIn) + " rows" + far + " · ctrl+c cancels"
	}
	if s.sh.Busy != "" {
		return spinner(s.sh) + text(s.sh.Busy) + " …"
	}
	if t == nil {
		return ""
	}
	how := safe.Line("replayed")
	if t.Live {
		how = "traced"
	}
	if t.RowsThen >= 0 && t.RowsIn < t.RowsThen {
		how += " · " + widget.Count(t.RowsThen-t.RowsIn) + " rows are not there any more"
	}
	kept := int64(0)
	for i := range t.Stages {
		if t.Stages[i].In < 0 {
			kept += int64(len(t.Stages[i].Rows))
		}
	}
	if t.RowsIn == 0 {
		return how + " · no rows"
	}
	return how + " · " + widget.Count(kept) + " of " + widget.Count(t.RowsIn) + " traced"
}

func (s *Inspector) drawError(v canvas.View) {
	DrawCard(v, 1, s.err)
}

var stageColsS = []widget.Col{
	{Width: 2, Right: true},
	{Title: "STAGE", Width: 10},
	{Width: 17, Grow: true},
	{Title: "IN", Width: 9, Right: true},
	{Title: "OUT", Width: 9, Right: true},
	{Title: "ms", Width: 5, Right: true, Rank: 2},
	{Width: 16, Rank: 3},
}

var stageColsM = []widget.Col{
	{Width: 2, Right: true},
	{Title: "STAGE", Width: 10},
	{Width: 28},
	{Title: "IN", Width: 9, Right: true},
	{Title: "OUT", Width: 9, Right: true},
	{Title: "ms", Width: 5, Right: true, Rank: 3},
	{Title: "NOTE", Width: 24, Grow: true, Rank: 2},
}

// drawStages lists the operators on h lines, the header among them.
func (s *Inspector) drawStages(v canvas.View, cols []widget.Col) {
	n := len(s.trace.Stages)
	ws := widget.Layout(cols, v.W-3, 1)
	widget.Header(v, 2, 0, 1, cols, ws, canvas.Muted)
	from, to := s.stages.Window(n, v.H-1)
	for i := from; i < to; i++ {
		st, y := &s.trace.Stages[i], 1+i-from
		widget.Row(v, 2, y, 1, cols, ws, func(c int) (safe.Line, canvas.Style) {
			switch c {
			case 0:
				return f("%d", i+1), canvas.Text
			case 1:
				return text(st.Kind), canvas.Text
			case 2:
				return text(st.Detail), canvas.Muted
			case 3:
				if st.In < 0 {
					return "-", canvas.Muted
				}
				return widget.Count(st.In), canvas.Text
			case 4:
				return widget.Count(st.Out), canvas.Text
			case 5:
				return f("%d", st.Took.Milliseconds()), canvas.Muted
			}
			return text(st.Note), canvas.Muted
		})
		if i == s.stages.Cursor {
			v.Put(1, y, "▸", canvas.Accent|canvas.Bold)
			if s.pane == stagePane {
				v.Paint(2, y, v.W-2, canvas.Cursor)
			}
		}
	}
}

// stageLines is how many lines the list of stages takes, with its header, of those that there are.
func (s *Inspector) stageLines(most int) int { return min(len(s.trace.Stages)+1, max(4, most)) }

// drawRows draws the rows that leave a stage below a rule. Without rows it says why there are none.
func (s *Inspector) drawRows(v canvas.View, stage int, chosen bool) {
	st, g := &s.trace.Stages[stage], s.grids[stage]
	title := f("out of %d ", stage+1) + text(st.Kind)
	note := widget.Count(st.Out)
	if chosen {
		note = g.list.Shown(g.len())
		if total := st.Values.Total; total > int64(g.len()) {
			note = f("%d kept of ", g.len()) + widget.Count(total)
		}
		if held := st.Values.Total - st.Out; held > 0 {
			note += ", " + widget.Count(held) + " held back"
		}
	}
	if s.followed != nil && chosen {
		title += " · following"
		if s.partial {
			title += ", some are not kept"
		}
	}
	if n := text(st.Note); s.sh.Class == S && n != "" && s.followed == nil { // the column of notes is narrow there
		title = safe.Cut(title+" · "+n, max(safe.Width(title), v.W-safe.Width(note)-8))
	}
	rule(v, 0, 0, v.W, title, note, chosen && s.pane == rowPane)
	body := v.Sub(0, 1, v.W, v.H-1)
	if g.len() == 0 {
		empty(body, s.nothing(stage))
		return
	}
	g.Draw(body, s.marked[stage], chosen && (s.pane == rowPane || s.zoom))
}

// nothing says why no row leaves a stage.
func (s *Inspector) nothing(stage int) safe.Line {
	t := s.trace
	st := &t.Stages[stage]
	switch {
	case t.RowsIn == 0 && st.In <= 0:
		if t.Closes.IsZero() {
			return "This batch had no rows."
		}
		return "This batch had no rows. It ran to close windows up to " + s.sh.Clock(t.Closes) + "."
	case st.In < 0:
		return "No row came from here in this batch."
	case st.In == 0:
		return "No row came to this stage."
	}
	return f("None of the %d rows that came left this stage.", st.In)
}

// fewer puts what a group was and is behind its key, and leaves out that a row was kept: for few lines.
func fewer(rs []Reason) (out []Reason) {
	for _, r := range rs {
		last := len(out) - 1
		switch {
		case r.About == "before" && last >= 0:
			out[last].Text += "  " + strings.TrimPrefix(r.Text, "none: the group is ")
		case r.About == "after" && last >= 0:
			out[last].Text += " → " + r.Text
		case r.About == "then" && r.Text == "kept" && last >= 0:
		default:
			out = append(out, r)
		}
	}
	return out
}

func (s *Inspector) drawSmall(v canvas.View) {
	n := s.stageLines(v.H / 3)
	s.drawStages(v.Sub(0, 0, v.W, n), stageColsS)
	why := 5
	if v.H < 18 {
		why = 3
	}
	s.drawRows(v.Sub(0, n, v.W, v.H-n-why), s.stages.Cursor, true)
	s.drawWhy(v.Sub(0, v.H-why, v.W, why), " a row through the stages", false)
}

func (s *Inspector) drawMedium(v canvas.View) {
	n := s.stageLines(v.H/3) + 1
	s.drawStages(v.Sub(0, 1, v.W, n-1), stageColsM)
	y := n + 1
	w := v.W * 53 / 100
	s.drawRows(v.Sub(0, y, w, v.H-y), s.stages.Cursor, true)
	divider(v, w, y, v.H-y)
	s.drawWhy(v.Sub(w+1, y, v.W-w-1, v.H-y), "", true)
}

func (s *Inspector) drawWide(v canvas.View) {
	top := max(s.stageLines(v.H/3), 9)
	w := v.W * 64 / 100
	s.drawStages(v.Sub(0, 1, w, top), stageColsM)
	divider(v, w, 1, top)
	s.drawWhy(v.Sub(w+1, 1, v.W-w-1, top), "", false)
	y := top + 2
	chain := s.chain(3)
	x := 0
	each := min(38, (v.W*6/10)/max(1, len(chain)))
	for _, st := range chain {
		s.drawRows(v.Sub(x, y, each, v.H-y), st, false)
		divider(v, x+each, y, v.H-y)
		x += each + 1
	}
	s.drawRows(v.Sub(x, y, v.W-x, v.H-y), s.stages.Cursor, true)
}

// chain is up to n stages that the chosen one's rows have come through, the nearest last. Of stages that
// change nothing in number the source is the one to show.
func (s *Inspector) chain(n int) []int {
	var all []int
	for at := s.stages.Cursor; len(s.trace.Stages[at].Below) > 0; {
		at = s.trace.Stages[at].Below[0]
		all = append([]int{at}, all...)
	}
	if len(all) > n { // the source and the nearest ones
		all = append(all[:1:1], all[len(all)-n+1:]...)
	}
	return all
}
