package screen

import (
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Draw implements Screen.
func (s *ModesLab) Draw(v canvas.View) {
	title := "Labs › " + s.Crumb()
	note := safe.Line("")
	switch {
	case s.busy:
		note = "at work …"
	case s.run != nil:
		note = f("input %d of %d", s.at+1, len(s.info.Inputs))
		if s.at >= 0 {
			if w := s.watermark(s.at); w != "" {
				note += " · watermark now " + safe.Text(s.cut.cut(w), 30)
			}
		}
	}
	rule(v, 0, 0, v.W, title, note, true)
	switch {
	case s.err != nil:
		DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, s.err)
		return
	case s.run == nil:
		empty(v.Sub(0, 1, v.W, v.H), "Three queries start, one for each mode.")
		return
	case s.menu != nil:
		s.drawMenu(v.Sub(0, 1, v.W, v.H-1))
		return
	}
	y := s.drawInput(v, 1)
	foot := 5
	switch {
	case v.H >= 30:
		foot = 7
	case v.H < 18:
		foot = 4
	}
	cols := v.Sub(0, y+1, v.W, v.H-y-1-foot)
	if s.zoom || s.sh.Plain {
		s.drawColumn(cols, s.col)
	} else {
		w := (v.W - 2) / 3
		for i := range modeNames {
			x := i * (w + 1)
			cw := w
			if i == 2 {
				cw = v.W - x
			} else {
				divider(v, x+w, y+1, cols.H)
			}
			s.drawColumn(cols.Sub(x, 0, cw, cols.H), i)
		}
	}
	s.drawNotice(v.Sub(0, v.H-foot, v.W, foot))
}

// watermark is the newest of the columns after a step.
func (s *ModesLab) watermark(at int) (w string) {
	for _, c := range s.steps[at].Columns {
		w = max(w, c.Watermark)
	}
	return w
}

// drawInput shows the input before, the one that is shown, and that there is another; and the query.
func (s *ModesLab) drawInput(v canvas.View, y int) int {
	v.Put(1, y, "input", canvas.Muted)
	from := max(0, s.at-1)
	put := func(y, i int) {
		in := &s.info.Inputs[i]
		order := orderOf(in, s.steps[i])
		mark, st := safe.Line("✓"), canvas.OK
		if i == s.at {
			mark, st = "▸", canvas.Accent|canvas.Bold
		}
		v.Put(8, y, mark, st)
		x := v.Put(10, y, f("%d", i), canvas.Muted) + 2
		for k, r := range in.Rows {
			t := safe.Text(s.cut.cut(strings.Join(r, " ")), 60)
			rs := canvas.Text
			if order[k] != "" {
				t, rs = t+" ("+order[k]+")", canvas.Warn
			}
			if k < len(in.Rows)-1 {
				t += ","
			}
			if x+safe.Width(t) > v.W-2 {
				v.Put(x, y, f("… %d rows", len(in.Rows)), canvas.Muted)
				return
			}
			x = v.Put(x, y, t, rs) + 1
		}
	}
	for i := from; i <= s.at; i++ {
		put(y, i)
		y++
	}
	switch next := s.at + 1; {
	case next >= len(s.info.Inputs):
		if s.at <= 0 {
			y += 1 - max(0, s.at)
		}
	case next < len(s.steps):
		v.Put(10, y, f("%d  ] shows what it did", next), canvas.Muted)
		y++
	default:
		t := f("%d  press . to feed it", next)
		if said, ok := s.said[next]; ok {
			t += "   you said " + safe.Text(said, 30)
		}
		v.Put(10, y, t, canvas.Muted)
		y++
	}
	v.Put(1, y, "query", canvas.Muted)
	q := safe.Text(strings.Join(strings.Fields(s.info.SQL), " "), 400)
	if t := s.info.Sample; t != "" {
		q = "on a sample, " + safe.Text(t, 60) + ": " + q
	}
	v.Fit(8, y, v.W-9, q, canvas.Text)
	return y + 1
}

// drawColumn shows one mode: what the input made it send, why, and where there is room all it has sent and what
// it keeps.
func (s *ModesLab) drawColumn(v canvas.View, mode int) {
	v.Clear()
	note := safe.Line("")
	if s.info.Refused[mode] != nil {
		note = "refused"
	} else if s.at >= 0 {
		note = widget.Plural(int64(len(sentRows(&s.steps[s.at].Columns[mode]))), "row")
	}
	rule(v, 0, 0, v.W, modeNames[mode], note, mode == s.col)
	if e := s.info.Refused[mode]; e != nil {
		drawRefusal(v.Sub(1, 1, v.W-1, v.H-1), e)
		return
	}
	if s.at < 0 {
		v.Put(1, 2, "(nothing was fed)", canvas.Muted)
		return
	}
	c := &s.steps[s.at].Columns[mode]
	body := v.Sub(1, 1, v.W-1, v.H-1)
	below := 0
	if body.H >= 16 {
		below = min(body.H/3, 9)
	}
	stateH := 0
	if s.sh.Class == L {
		stateH = min(body.H/3, 14)
	}
	top := body.Sub(0, 0, body.W, body.H-below-stateH)
	why := widget.Wrap(whyColumn(&s.info, s.steps, s.at, mode, s.cut), body.W-1)
	if c.Err != nil {
		drawRefusal(top, c.Err)
	} else {
		why = why[:max(0, min(len(why), top.H-4))] // the rows matter more
		s.drawRows(top.Sub(0, 0, top.W, max(2, top.H-len(why)-1)), mode, c)
		for i, l := range why {
			top.Put(0, top.H-len(why)+i, l, canvas.Muted)
		}
	}
	if below > 0 {
		s.drawSent(v.Sub(0, 1+top.H, v.W, below), mode)
	}
	if stateH > 0 {
		s.drawState(v.Sub(0, 1+top.H+below, v.W, stateH), c)
	}
}

// drawRefusal is an error card for a narrow column.
func drawRefusal(v canvas.View, e *errs.Error) {
	y := 0
	put := func(l safe.Line, st canvas.Style) {
		for _, part := range widget.Wrap(l, v.W-1) {
			v.Put(0, y, part, st)
			y++
		}
	}
	put("✗ "+safe.Text(strings.ReplaceAll(e.Condition, ".", " · "), 120), canvas.Error|canvas.Bold)
	put(safe.Text(firstLines(e.Message(), 6), 600), canvas.Text)
	for inner := errs.As(e.Err); inner != nil; inner = errs.As(inner.Err) {
		put("cause: "+safe.Text(firstLines(inner.Message(), 3), 300), canvas.Muted)
		e = inner
	}
	if e.Hint != "" {
		put("try: "+safe.Text(e.Hint, 300), canvas.Text)
	}
}

// drawRows is the rows of the step, batch by batch. A batch without rows is a thin line.
func (s *ModesLab) drawRows(v canvas.View, mode int, c *ModesColumn) {
	type line struct {
		cells []string
		mark  safe.Line
		thin  safe.Line
	}
	var lines []line
	ms := marks(&s.info, s.steps, s.at, mode)
	k := 0
	for _, b := range c.Batches {
		if b.NoData {
			t := safe.Line("no-data batch")
			if b.Watermark != "" {
				t += ", watermark " + safe.Text(s.cut.cut(b.Watermark), 30)
			}
			lines = append(lines, line{thin: t + f("  %d", len(b.Rows))})
		}
		for _, r := range b.Rows {
			l := line{cells: r}
			if k < len(ms) {
				l.mark = ms[k]
			}
			k++
			lines = append(lines, l)
		}
	}
	widths := make([]int, len(s.info.Names))
	names := make([]safe.Line, len(widths))
	for i, n := range s.info.Names {
		names[i] = text(n)
		widths[i] = safe.Width(names[i])
	}
	for _, l := range lines {
		for i, cell := range l.cells {
			if i < len(widths) {
				widths[i] = max(widths[i], safe.Width(safe.Text(s.cut.cut(cell), 40)))
			}
		}
	}
	mark := 0
	if ms != nil {
		mark = 8
	}
	// First the gaps give way when all does not fit, then the widest columns.
	gap := 2
	for {
		total, widest := len(widths)*gap, 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if len(widths) == 0 || total <= v.W-mark || widths[widest] <= 4 {
			break
		}
		if gap == 2 {
			gap = 1
			continue
		}
		widths[widest]--
	}
	put := func(y int, cell func(i int) safe.Line, st canvas.Style) {
		x := 0
		for i, w := range widths {
			v.Fit(x, y, w, cell(i), st)
			x += w + gap
		}
	}
	put(0, func(i int) safe.Line { return names[i] }, canvas.Muted)
	if len(lines) == 0 {
		v.Put(0, 2, "(nothing)", canvas.Muted)
		return
	}
	room := v.H - 1
	s.scroll = min(s.scroll, max(0, len(lines)-1))
	first := 0
	if mode == s.col {
		first = min(s.scroll, max(0, len(lines)-room))
	}
	for i := first; i < len(lines); i++ {
		y := 1 + i - first
		if y >= v.H || y == v.H-1 && i < len(lines)-1 {
			v.Put(0, v.H-1, f("… %d more", len(lines)-i), canvas.Muted)
			return
		}
		l := lines[i]
		if l.thin != "" {
			v.Fit(0, y, v.W, l.thin, canvas.Muted)
			continue
		}
		put(y, func(k int) safe.Line {
			if k < len(l.cells) {
				return safe.Text(s.cut.cut(l.cells[k]), 80)
			}
			return ""
		}, canvas.Text)
		st := canvas.Muted
		if l.mark == "changed" {
			st = canvas.Change
		} else if l.mark == "new" {
			st = canvas.Add
		}
		v.Right(v.W, y, 8, l.mark, st)
	}
}

// drawSent is all that a mode has sent so far, an input a line or more.
func (s *ModesLab) drawSent(v canvas.View, mode int) {
	rule(v, 0, 0, v.W, "all rows sent so far", "", false)
	var lines []safe.Line
	for i := 0; i <= s.at; i++ {
		rows := sentRows(&s.steps[i].Columns[mode])
		l := f("%d ", i)
		for k, r := range rows {
			t := safe.Text(s.cut.cut(strings.Join(r, " ")), 60)
			if k > 0 {
				t = " · " + t
			}
			if safe.Width(l)+safe.Width(t) > v.W-2 && k > 0 {
				lines = append(lines, l)
				l, t = f("%d ", i), safe.Text(s.cut.cut(strings.Join(r, " ")), 60)
			}
			l += t
		}
		if len(rows) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		v.Put(1, 1, "(none)", canvas.Muted)
	}
	if n := len(lines) - (v.H - 1); n > 0 {
		lines = append([]safe.Line{f("… %d lines before", n+1)}, lines[n+1:]...)
	}
	for i, l := range lines {
		v.Fit(1, 1+i, v.W-1, l, canvas.Text)
	}
}

// drawState is the state that the input left.
func (s *ModesLab) drawState(v canvas.View, c *ModesColumn) {
	rule(v, 0, 0, v.W, f("state after input %d", s.at), widget.Plural(c.StateRows, "row"), false)
	if c.StateRows == 0 {
		v.Put(1, 1, "(empty)", canvas.Muted)
		return
	}
	for i, r := range c.State {
		if i+1 >= v.H-1 && i < len(c.State)-1 {
			v.Put(1, i+1, f("… %d more", c.StateRows-int64(i)), canvas.Muted)
			return
		}
		v.Fit(1, i+1, v.W-1, safe.Text(s.cut.cut(strings.Join(r, "  ")), 200), canvas.Text)
	}
	if len(c.State) == 0 {
		v.Put(1, 1, "(cannot be shown)", canvas.Muted)
	}
}

// drawNotice is what is worth noticing, the prediction for the next input, or a step of the lab.
func (s *ModesLab) drawNotice(v canvas.View) {
	v.Clear()
	n := len(s.sh.Lab.Steps)
	if s.note > 0 && s.note <= n {
		st := s.sh.Lab.Steps[s.note-1]
		rule(v, 0, 0, v.W, text(st.Title), f("step %d of %d", s.note, n), false)
		s.para(v, []safe.Line{text(st.Why), text(st.Predict)})
		return
	}
	note := safe.Line("")
	if p, ok := s.sh.Bench.(Predictor); ok {
		if right, total := p.Score(); total > 0 {
			note = f("%d of %d predictions right, in all labs", right, total)
		}
	}
	rule(v, 0, 0, v.W, "what to notice", note, false)
	var lines []safe.Line
	if s.at >= 0 {
		if said, ok := s.said[s.at]; ok {
			word := safe.Line("you were right")
			if was := s.counts(s.at); was != said {
				word = "it was " + safe.Text(was, 30)
			}
			lines = append(lines, "You said "+safe.Text(said, 30)+": "+word+".")
		}
		lines = append(lines, notice(&s.info, s.steps, s.at, s.cut)...)
	} else {
		lines = append(lines, "The same rows go to three queries, one in each output mode. What a mode sends is what a sink gets.")
	}
	if next := len(s.steps); next < len(s.info.Inputs) && s.at == next-1 {
		if _, ok := s.said[next]; !ok {
			lines = append(lines, f("Predict: how many rows will each mode send for input %d?  p answers", next))
		}
	}
	s.para(v, lines)
}

func (s *ModesLab) para(v canvas.View, lines []safe.Line) {
	y := 1
	for i, l := range lines {
		st := canvas.Text
		if strings.HasPrefix(string(l), "Predict:") || s.note > 0 && i == 1 {
			st = canvas.Accent
		}
		for _, part := range widget.Wrap(l, v.W-3) {
			v.Put(1, y, part, st)
			y++
		}
	}
}

func (s *ModesLab) drawMenu(v canvas.View) {
	v.Put(1, 1, "What shall be different? enter chooses and starts again, esc goes back.", canvas.Muted)
	from, to := s.list.Window(len(s.menu), v.H-3)
	for i := from; i < to; i++ {
		c := s.menu[i]
		y := 3 + i - from
		if c.on {
			v.Put(2, y, "●", canvas.Accent)
		}
		v.Fit(4, y, v.W-5, c.label, canvas.Text)
		if i == s.list.Cursor {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			v.Paint(4, y, v.W-5, canvas.Cursor)
		}
	}
}

// asText is the columns as plain text, for the clipboard.
func (s *ModesLab) asText() string {
	var b strings.Builder
	b.WriteString(strings.Join(strings.Fields(s.info.SQL), " ") + "\n")
	for i := 0; i <= s.at; i++ {
		for _, r := range s.info.Inputs[i].Rows {
			b.WriteString(string(f("input %d: ", i)) + strings.Join(r, " ") + "\n")
		}
		for m, name := range modeNames {
			for _, r := range sentRows(&s.steps[i].Columns[m]) {
				b.WriteString("  " + string(name) + ": " + strings.Join(r, " ") + "\n")
			}
		}
	}
	return b.String()
}
