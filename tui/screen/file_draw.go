package screen

import (
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Draw implements Screen.
func (s *File) Draw(v canvas.View) {
	if !s.loaded {
		rule(v, 0, 0, v.W, "edit "+text(s.path), text(s.sh.Busy), true)
		if s.err != nil {
			DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, s.err)
		}
		return
	}
	if s.sh.Class == S {
		lines := s.verdictLines(v.W - 2)
		h := max(2, min(len(lines)+1, v.H*2/5))
		if s.checked == 0 { // the place is kept, so that the text does not jump when the verdict comes
			h = v.H * 2 / 5
		}
		s.drawText(v.Sub(0, 0, v.W, v.H-h))
		s.drawVerdict(v.Sub(0, v.H-h, v.W, h), lines)
		return
	}
	w := 66
	if s.sh.Class == L {
		w = v.W / 2
	}
	w = min(w, v.W*11/20)
	s.drawText(v.Sub(0, 0, w, v.H))
	divider(v, w, 0, v.H)
	side := v.Sub(w+1, 0, v.W-w-1, v.H)
	lines := s.verdictLines(side.W - 2)
	most := max(6, side.H/2)
	if s.current() != nil {
		most = max(6, side.H-8) // ways out come before plan and sinks
	}
	h := min(len(lines)+3, most)
	s.drawVerdict(side.Sub(0, 0, side.W, h), lines)
	s.drawPlan(side.Sub(0, h, side.W, side.H-h))
}

func (s *File) drawText(v canvas.View) {
	var note safe.Line
	add := func(t safe.Line) {
		if note != "" {
			note += " · "
		}
		note += t
	}
	switch {
	case s.sh.Busy != "":
		add(spinner(s.sh) + text(s.sh.Busy))
	case s.tooLong:
		add("read-only")
	case s.modified():
		add("modified")
	}
	if s.onDisk() != "" {
		add("changed on disk, ctrl+s")
	}
	switch n := len(s.verdict.Problems); {
	case s.checked != s.ed.Version() && s.checking:
		add("checking")
	case n == 0:
		add("no problems")
	default:
		add(widget.Plural(int64(n), "problem"))
	}
	rule(v, 0, 0, v.W, s.Crumb(), note, true)
	marks := map[int]bool{}
	for _, p := range s.verdict.Problems {
		marks[p.Err.Pos.Line-1] = true
	}
	s.ed.Draw(v.Sub(0, 1, v.W, v.H-1), widget.Signs, true, func(line int) (widget.Mark, bool) {
		return widget.Mark{Symbol: "✗", Style: canvas.Error | canvas.Bold}, marks[line]
	})
	s.underline(v.Sub(0, 1, v.W, v.H-1))
}

// underline marks the text that problems point at, while the text is the one that was checked.
func (s *File) underline(v canvas.View) {
	if s.checked != s.ed.Version() {
		return
	}
	for _, p := range s.verdict.Problems {
		pos := p.Err.Pos
		y := pos.Line - 1 - s.ed.Top()
		if pos.IsZero() || y < 0 || y >= v.H {
			continue
		}
		from := s.ed.Column(pos.Line-1, max(0, pos.Col-1))
		to := s.ed.Column(pos.Line-1, max(0, pos.Col-1)+max(1, pos.Length))
		x, n := s.ed.CellsOf(from, to, widget.Signs)
		if g := s.ed.GutterWidth(widget.Signs); x < g {
			n, x = n-(g-x), g
		}
		v.Paint(x, y, max(0, n), canvas.Underline)
	}
}

// verdictLine is a line of the verdict pane.
type verdictLine struct {
	text safe.Line
	st   canvas.Style
	key  safe.Line // in front: the digit of a fix
}

// verdictLines lays out on w cells what is to be said: the three modes, why, Spark's condition, fixes.
func (s *File) verdictLines(w int) []verdictLine {
	var out []verdictLine
	para := func(t string, st canvas.Style) {
		for _, l := range safe.Lines(t) {
			for _, p := range widget.Wrap(l, min(w, 76)) {
				out = append(out, verdictLine{text: p, st: st})
			}
		}
	}
	q, p := s.queryVerdict(), s.current()
	if q != nil && len(q.Modes) > 0 {
		out = append(out, verdictLine{text: modesLine(q), st: canvas.Text})
	}
	if p == nil {
		switch {
		case s.checked == 0:
		case q != nil && q.Why != "":
			para(q.Why, canvas.Muted)
		case len(s.verdict.Problems) > 0:
			para("The problems are elsewhere: ctrl+n goes to the next.", canvas.Muted)
		default:
			para("Nothing is wrong here.", canvas.Muted)
		}
		return out
	}
	switch {
	case p.Why != "":
		para(p.Why, canvas.Text)
	default:
		para(firstLines(p.Err.Message(), 4), canvas.Text)
	}
	out = append(out, verdictLine{text: owner(p.Err.Condition) + text(p.Err.Condition), st: canvas.Muted})
	if len(p.Fixes) == 0 && p.Err.Hint != "" {
		para(p.Err.Hint, canvas.Text)
	}
	title := 0
	for _, x := range p.Fixes {
		title = max(title, safe.Width(text(x.Title)))
	}
	title = min(title, w/2)
	for i, x := range p.Fixes {
		if i == 9 {
			break
		}
		head := safe.Cut(text(x.Title), title)
		pad := safe.Line(strings.Repeat(" ", title-safe.Width(head)+3))
		rest := widget.Wrap(text(flat(x.Explain)), max(8, w-title-5))
		if s.sh.Class == S && len(rest) > 1 { // one line a fix: the place is short
			rest = []safe.Line{safe.Cut(text(flat(x.Explain)), w-title-5)}
		}
		first := safe.Line("")
		if len(rest) > 0 {
			first = rest[0]
		}
		out = append(out, verdictLine{key: f("%d", i+1), text: head + pad + first, st: canvas.Text})
		for _, l := range rest[min(1, len(rest)):] {
			out = append(out, verdictLine{text: safe.Line(strings.Repeat(" ", title+5)) + l, st: canvas.Text})
		}
	}
	return out
}

// owner says whose condition it is: those of lab files are ours.
func owner(condition string) safe.Line {
	if strings.HasPrefix(condition, "LAB_") || condition == "UNKNOWN_OPTION" || condition == "MISSING_OPTION" {
		return "Condition: "
	}
	return "Spark: "
}

// modesLine is "append ✗   update ✓ (not by delta)   complete ✓".
func modesLine(q *QueryVerdict) safe.Line {
	var out safe.Line
	for i, m := range q.Modes {
		if i > 0 {
			out += "   "
		}
		out += safe.Line(m.Mode)
		switch {
		case m.OK:
			out += " ✓"
		case m.By != "":
			out += " ✓ (not by " + text(m.By) + ")"
		default:
			out += " ✗"
		}
	}
	return out
}

func (s *File) drawVerdict(v canvas.View, lines []verdictLine) {
	title, note := safe.Line("verdict"), safe.Line("")
	q, p := s.queryVerdict(), s.current()
	switch {
	case p != nil && strings.HasPrefix(p.Err.Condition, "STREAMING_OUTPUT_MODE") && q != nil:
		title, note = "output mode", safe.Line(q.Mode)+" refused"
	case p != nil:
		title, note = "problem", f("line %d", p.Err.Pos.Line)
	case q != nil && len(q.Modes) > 0:
		title, note = "output mode", safe.Line(q.Mode)+" works"
	}
	if s.checked != s.ed.Version() && s.checking {
		note = "checking"
	}
	rule(v, 0, 0, v.W, title, note, false)
	top := 0
	if s.sh.Class != S && len(lines) > 1 && q != nil && len(q.Modes) > 0 && v.H > len(lines)+1 {
		top = 1 // a blank line below the modes, where there is room
	}
	for i, l := range lines {
		y := 1 + i
		if top == 1 && i > 0 {
			y++
		}
		if y >= v.H {
			v.Put(v.W-3, v.H-1, " … ", canvas.Muted)
			return
		}
		x := 1
		if l.key != "" {
			st := canvas.Key | canvas.Bold
			if s.fixing {
				st |= canvas.Cursor
			}
			v.Put(1, y, l.key, st)
			x = 3
		}
		v.Fit(x, y, v.W-x, l.text, l.st)
	}
}

// drawPlan draws plan, what each sink accepts, and where there is room schema and dry run.
func (s *File) drawPlan(v canvas.View) {
	y := 0
	part := func(title safe.Line, need int) bool {
		if y+2 > v.H || need == 0 {
			return false
		}
		if y > 0 {
			y++
		}
		rule(v, 0, y, v.W, title, "", false)
		y++
		return y < v.H
	}
	if s.planErr != nil || s.planOf == "" {
		return
	}
	if part("plan", len(s.plan.Tree)) {
		for _, l := range s.plan.Tree {
			v.Fit(1, y, v.W-2, text(l), canvas.Text)
			y++
		}
	}
	if part("what each sink accepts", len(s.plan.Accept)) {
		y = s.drawAccept(v, y)
	}
	if s.sh.Class != L {
		return
	}
	if part("schema of the result", len(s.plan.Schema)) {
		name := 6
		for _, c := range s.plan.Schema {
			name = max(name, min(30, safe.Width(text(c.Name))))
		}
		for i, c := range s.plan.Schema {
			v.Fit(1, y, name, text(c.Name), canvas.Text)
			t := safe.Cut(text(c.Type), v.W-name-16)
			v.Put(name+3, y, t, canvas.Muted)
			if i < len(s.plan.Filled) && s.plan.Filled[i] {
				v.Put(name+3+safe.Width(t)+2, y, "not null", canvas.Muted)
			}
			if y++; y >= v.H {
				return
			}
		}
	}
	n := len(s.plan.Rows.Rows)
	switch {
	case s.plan.RowErr != nil:
		if part("dry run, 1 batch", 1) {
			DrawCard(v.Sub(0, y, v.W, v.H-y), 0, s.plan.RowErr)
		}
	case len(s.plan.Rows.Columns) > 0 && n == 0:
		if part("dry run, 1 batch", 1) {
			v.Put(1, y, "no rows: the sources hold nothing yet", canvas.Muted)
		}
	case n > 0:
		shown := min(n, max(1, v.H-y-4))
		if part(f("first %d rows if it ran now (dry run, 1 batch)", min(shown, n)), n) {
			g := NewGrid(s.plan.Rows)
			g.plain = true
			g.Draw(v.Sub(0, y, v.W, min(shown+1, v.H-y)), false)
		}
	}
}

// drawAccept draws the table of sinks and modes and gives the next free line.
func (s *File) drawAccept(v canvas.View, y int) int {
	q := s.queryVerdict()
	shape := [3]bool{true, true, true}
	if q != nil {
		for i, m := range q.Modes[:min(3, len(q.Modes))] {
			shape[i] = m.OK || m.By != ""
		}
	}
	marks := map[string]bool{}
	for _, a := range s.plan.Accept {
		if y >= v.H {
			return y
		}
		st := canvas.Text
		if q != nil && strings.EqualFold(a.Sink, q.Format) {
			st = canvas.Accent | canvas.Bold
		}
		v.Fit(1, y, 13, text(a.Sink), st)
		x := 15
		for i, mode := range [...]safe.Line{"append", "update", "complete"} {
			if a.Modes[i] {
				st := canvas.Text
				if !shape[i] {
					st = canvas.Muted // the sink would take it, the query's shape does not give it
				}
				v.Put(x, y, mode+safe.Line(a.Notes[i]), st)
				marks[a.Notes[i]] = true
			}
			x += 8
		}
		y++
	}
	if y+1 < v.H && (marks["*"] || marks["**"]) {
		y++
		v.Fit(1, y, v.W-2, "*  adds rows, replaces none   ** sends all again", canvas.Muted)
		y++
	}
	return y
}

// showPlan shows everything about the query as text: on small screens there is no place for it beside.
func (s *File) showPlan() Effect {
	w, q := s.sh.wright(), s.at()
	if w == nil || q == "" {
		return Effect{Toast: "the cursor is in no query"}
	}
	t, path := s.ed.Text(), s.path
	return Effect{Jobs: []Job{planJob(w, path, t, q)}}
}
