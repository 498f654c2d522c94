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
		rows := widget.Count(t.RowsIn) + " rows"
		if s.sh.Class == S {
			return spinner(s.sh) + rows + " · ctrl+c cancels"
		}
		return spinner(s.sh) + "running again · " + rows + " so far · ctrl+c cancels"
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
	day := safe.Line("")
	if t.Day != "" && t.Day != s.sh.today() {
		day = " · times of " + text(t.Day)
	}
	if t.RowsIn == 0 {
		return how + " · no rows" + day
	}
	return how + " · " + widget.Count(kept) + " of " + widget.Count(t.RowsIn) + " traced" + day
}

// drawError says why there are no rows, and below it what is known of the batch without them.
func (s *Inspector) drawError(v canvas.View) {
	y := DrawCard(v, 1, s.err) + 1
	q := s.sh.Query(s.name)
	r := Batch{sh: s.sh, name: s.name, id: s.id}
	i := r.progress(q)
	if i < 0 || v.H-y < 6 {
		return
	}
	rule(v, 0, y, v.W, "what the batch reported", s.sh.Millis(q.Progress[i].Time), false)
	r.drawReport(v, y+1, q, &q.Progress[i], i)
}

// stageCols are the columns of the list of stages on w cells: as wide as what stands in them. What a stage does and
// what is to note of it share the rest; the note goes first, and only then the milliseconds.
func (s *Inspector) stageCols(w int) []widget.Col {
	kind, detail, in, out, ms, note, brief := 5, 4, 2, 3, 2, 0, 0
	for i := range s.trace.Stages {
		st := &s.trace.Stages[i]
		kind = max(kind, safe.Width(text(st.Kind)))
		detail = max(detail, safe.Width(text(st.Detail)))
		in = max(in, safe.Width(widget.Count(st.In)))
		out = max(out, safe.Width(widget.Count(st.Out)))
		ms = max(ms, safe.Width(f("%d", st.Took.Milliseconds())))
		note = max(note, safe.Width(text(st.Note)))
		brief = max(brief, safe.Width(briefly(st.Note)))
	}
	s.brief = false
	cols := []widget.Col{
		{Width: 2, Right: true},
		{Title: "STAGE", Width: min(kind, 14)},
		{Width: detail},
		{Title: "IN", Width: in + 2, Right: true},
		{Title: "OUT", Width: out + 2, Right: true},
		{Title: "ms", Width: ms + 2, Right: true, Rank: 2},
		{Title: " NOTE", Width: note + 1, Grow: true, Rank: 3},
	}
	rest := w - len(cols) + 1
	for i, c := range cols {
		if i != 2 && i != 6 {
			rest -= c.Width
		}
	}
	switch {
	case note == 0 || rest < 34: // what it does needs the line
		cols = cols[:6]
		cols[2].Width, cols[2].Grow = min(detail, max(8, rest)), rest < detail
	case detail+note+1 > rest:
		s.brief = true
		for i := 3; i < 6; i++ {
			cols[i].Width--
			rest++
		}
		cols[2].Width = min(detail, max(rest*11/20, rest-brief-1))
		cols[6].Width = rest - cols[2].Width
	}
	return cols
}

// briefly is the first and weightiest part of a note.
func briefly(note string) safe.Line {
	first, _, _ := strings.Cut(note, ", ")
	first = strings.TrimSuffix(first, " dropped")
	return text(strings.TrimPrefix(strings.TrimPrefix(first, "offsets "), "watermark "))
}

// drawStages lists the operators on h lines, the header among them.
func (s *Inspector) drawStages(v canvas.View) {
	cols := s.stageCols(v.W - 3)
	n := len(s.trace.Stages)
	ws := widget.Layout(cols, v.W-3, 1)
	widget.Header(v, 2, 0, 1, cols, ws, canvas.Muted)
	from, to := s.stages.Window(n, v.H-1)
	focusable(v, s.takes(stagePane))
	clickRows(v, 1, to-from, &s.stages, from, s.takes(stagePane))
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
			if st.Note == "" {
				return "", canvas.Muted
			}
			n := text(st.Note)
			if s.brief {
				n = briefly(st.Note)
			}
			if strings.Contains(st.Note, "late row") {
				return " " + n, canvas.Warn
			}
			return " " + n, canvas.Muted
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
		g.list.Window(g.len(), v.H-2)
		note = g.list.Shown(g.len())
		if total := st.Values.Total; total > int64(g.len()) {
			note = g.list.Shown(g.len()) + " kept of " + widget.Count(total)
		}
		if held := st.Values.Total - st.Out; held > 0 {
			note += ", " + widget.Count(held) + " held back"
		}
		if cols := g.Beyond(v.W - 3); cols != "" && g.len() > 0 {
			note += " · " + cols
		}
	}
	if s.followed != nil && chosen {
		title += " · following"
		if s.partial {
			title += ", some are not kept"
		}
	}
	if n := text(st.Note); s.sh.Class == S && n != "" && s.followed == nil { // the column of notes is narrow there
		if room := v.W - safe.Width(note) - 8; room > safe.Width(title)+12 {
			title = safe.Cut(title+" · "+n, room)
		}
	}
	rule(v, 0, 0, v.W, title, note, chosen && s.pane == rowPane)
	body := v.Sub(0, 1, v.W, v.H-1)
	if g.len() == 0 {
		empty(body, s.nothing(stage))
		return
	}
	g.clickAt(body, 3, func() bool {
		had := chosen && s.takes(rowPane)()
		s.takes(rowPane)()
		s.stages.To(stage, len(s.grids))
		return had
	})
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
		return "This batch had no rows. It ran to close windows up to " + s.sh.EventClock(t.Closes) + "."
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
		case r.About == "then" && strings.HasPrefix(r.Text, "goes on to ") && last >= 0:
		default:
			out = append(out, r)
		}
	}
	return out
}

func (s *Inspector) drawSmall(v canvas.View) {
	n := s.stageLines(v.H / 3)
	s.drawStages(v.Sub(0, 0, v.W, n))
	why := 5
	if v.H < 18 {
		why = 3
	}
	s.drawRows(v.Sub(0, n, v.W, v.H-n-why), s.stages.Cursor, true)
	s.drawWhy(v.Sub(0, v.H-why, v.W, why), " a row through the stages", false)
}

func (s *Inspector) drawMedium(v canvas.View) {
	n := s.stageLines(v.H/3) + 1
	s.drawStages(v.Sub(0, 1, v.W, n-1))
	y := n + 1
	w := v.W * 53 / 100
	s.drawRows(v.Sub(0, y, w, v.H-y), s.stages.Cursor, true)
	divider(v, w, y, v.H-y)
	s.drawWhy(v.Sub(w+1, y, v.W-w-1, v.H-y), "", true)
}

func (s *Inspector) drawWide(v canvas.View) {
	top := max(s.stageLines(v.H/3), 9)
	w := v.W * 64 / 100
	s.drawStages(v.Sub(0, 1, w, top))
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
