package screen

import (
	"context"
	"strings"
	"time"
	"unicode"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// SQL is tab 3: SQLite over the memory sinks. A statement above, its result below, on wider screens the
// catalog to the left.
type SQL struct {
	sh      *Shared
	ed      widget.Editor
	editing bool
	pane    int // 0 editor, 1 result

	grid  *Grid
	err   *errs.Error
	ran   string // statement of grid or err
	took  time.Duration
	live  bool
	liveE int64 // sum of batch ids at the last run
	at    time.Time

	tables  []Table
	asked   bool
	tablesE *errs.Error

	history []past // oldest first
	hist    int    // place in history while walking; len(history) is the draft
	draft   string
	find    string
	comp    []string
	compAt  int
}

type past struct {
	sql    string
	rows   int64 // -1: error
	at     time.Time
	failed bool
}

// NewSQL makes the screen.
func NewSQL(sh *Shared) *SQL { return &SQL{sh: sh, editing: true} }

// Scope implements Screen, as do the methods below.
func (s *SQL) Scope() Scope {
	if s.editing {
		return InEditor
	}
	return InSQL
}
func (s *SQL) Crumb() safe.Line { return "SQL · SQLite" }

// rowsAtOnce is how many rows a statement fetches.
const rowsAtOnce = 1000

// Wake implements Screen: the catalog is read once per visit, and a live statement runs again after
// batches, at most once a second.
func (s *SQL) Wake() Effect {
	var e Effect
	if s.sh.Bench == nil {
		return e
	}
	if !s.asked {
		s.asked = true
		e.Jobs = append(e.Jobs, s.loadCatalog())
	}
	if s.live && s.ran != "" && s.sh.Now.Sub(s.at) >= time.Second {
		if n := s.batches(); n != s.liveE {
			e.Jobs = append(e.Jobs, s.run(s.ran, false), s.loadCatalog())
		}
	}
	return e
}

func (s *SQL) batches() (n int64) {
	for _, q := range s.sh.Queries {
		n += q.Last().BatchID
	}
	return n
}

// Reset forgets what belongs to a lab that is not open any more.
func (s *SQL) Reset() { s.asked, s.tables, s.grid, s.err, s.live = false, nil, nil, nil, false }

func (s *SQL) loadCatalog() Job {
	bench := s.sh.Bench
	return Job{Slot: "catalog", Run: func(ctx context.Context) func() Effect {
		ts, err := bench.Catalog(ctx)
		return func() Effect {
			s.tables, s.tablesE = ts, AsError(err)
			return Effect{}
		}
	}}
}

func (s *SQL) run(sql string, record bool) Job {
	bench := s.sh.Bench
	s.at, s.liveE = s.sh.Now, s.batches()
	return Job{Slot: "run", What: "running", Run: func(ctx context.Context) func() Effect {
		r, err := bench.Query(ctx, sql, rowsAtOnce)
		return func() Effect {
			s.ran = sql
			s.err = AsError(err)
			n := int64(-1)
			if err == nil {
				s.grid = NewGrid(r).keepPlace(s.grid)
				if record {
					s.grid = NewGrid(r)
				}
				s.took = r.Took
				n = max(r.Total, int64(len(r.Rows)))
			} else {
				s.live = false
			}
			if record {
				s.history = append(s.history, past{sql, n, s.sh.Now, err != nil})
				if len(s.history) > 200 {
					s.history = s.history[1:]
				}
				s.hist = len(s.history)
			}
			return Effect{}
		}
	}}
}

// Typing implements Typer.
func (s *SQL) Typing() bool { return s.editing }

// Type implements Typer.
func (s *SQL) Type(k widget.Key) (Effect, bool) {
	if len(s.comp) > 0 {
		switch k.Name {
		case "tab", "enter":
			s.ed.Complete(s.comp[s.compAt])
			s.comp = nil
			return Effect{}, true
		case "esc":
			s.comp = nil
			return Effect{}, true
		case "down":
			s.compAt = (s.compAt + 1) % len(s.comp)
			return Effect{}, true
		case "up":
			s.compAt = (s.compAt + len(s.comp) - 1) % len(s.comp)
			return Effect{}, true
		}
	}
	s.comp = nil
	switch k.Name {
	case "enter":
		if t := strings.TrimSpace(s.ed.Text()); strings.HasSuffix(t, ";") && s.ed.AtEnd() {
			return s.runNow(), true
		}
	case "tab":
		if s.ed.Word() == "" {
			return Effect{}, false // the next pane
		}
		s.complete(1)
		return Effect{}, true
	}
	if !s.ed.Handle(k) {
		return Effect{}, false
	}
	if k.Text != "" && len(k.Text) <= 4 {
		s.complete(2)
	}
	return Effect{}, true
}

// complete looks for names that begin with the word before the cursor, if it has at least n letters.
func (s *SQL) complete(n int) {
	w := strings.ToLower(s.ed.Word())
	s.comp, s.compAt = nil, 0
	if len(w) < n {
		return
	}
	add := func(c string) {
		if len(s.comp) >= 6 || !strings.HasPrefix(strings.ToLower(c), w) || strings.EqualFold(c, w) {
			return
		}
		for _, have := range s.comp {
			if have == c {
				return
			}
		}
		s.comp = append(s.comp, c)
	}
	for _, t := range s.tables {
		add(t.Name)
	}
	for _, t := range s.tables {
		for _, c := range t.Columns {
			add(c.Name)
		}
	}
}

func (s *SQL) runNow() Effect {
	t := strings.TrimSpace(s.ed.Text())
	if t == "" {
		return Effect{Toast: "nothing to run: write a statement first"}
	}
	if s.sh.Bench == nil {
		return Effect{Toast: "no lab is open: 4 opens one"}
	}
	return Effect{Jobs: []Job{s.run(t, true), s.loadCatalog()}}
}

// Handle implements Screen.
func (s *SQL) Handle(a Action) Effect {
	switch a {
	case EditSQL:
		s.editing, s.pane = true, 0
		return Effect{}
	case RunSQL:
		return s.runNow()
	case Back:
		s.editing, s.comp = false, nil
		s.pane = 1
		return Effect{}
	case NextPane, PrevPane:
		s.pane = 1 - s.pane
		s.editing = s.pane == 0
		return Effect{}
	case LiveSQL:
		s.live = !s.live
		if s.live && s.ran == "" {
			return s.runNow()
		}
		return Effect{}
	case HistoryPrev, HistoryNext:
		if s.hist == len(s.history) {
			s.draft = s.ed.Text()
		}
		d := 1
		if a == HistoryPrev {
			d = -1
		}
		s.hist = max(0, min(s.hist+d, len(s.history)))
		if s.hist == len(s.history) {
			s.ed.Set(s.draft)
		} else {
			s.ed.Set(s.history[s.hist].sql)
		}
		return Effect{}
	case Filter:
		return Effect{Input: &Prompt{Title: "Find in the result", Label: "text in any cell", Text: s.find,
			Done: func(t string) Effect { s.find = t; return s.next(1) }}}
	case FindNext:
		return s.next(1)
	case FindPrev:
		return s.next(-1)
	}
	if s.err != nil && a == Copy {
		return Effect{Copy: &Clip{CardText(s.err), "error"}}
	}
	if s.grid == nil {
		if a == Enter {
			s.editing, s.pane = true, 0
		}
		return Effect{}
	}
	switch a {
	case Enter, Look:
		return s.grid.Open()
	case Copy:
		return s.grid.CopyCell()
	case CopyAll:
		return s.grid.CopyAll()
	}
	s.grid.Handle(a)
	return Effect{}
}

func (s *SQL) next(d int) Effect {
	if s.grid == nil || !s.grid.Find(s.find, d) {
		return Effect{Toast: "not found: " + text(s.find)}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *SQL) Disabled(a Action) safe.Line {
	switch a {
	case SortResult, Look, FindNext, FindPrev:
		if s.grid == nil {
			return "there is no result yet"
		}
	case RunSQL, LiveSQL:
		if s.sh.Bench == nil {
			return "no lab is open"
		}
	case HistoryPrev, HistoryNext:
		if len(s.history) == 0 {
			return "nothing ran yet"
		}
	}
	return ""
}

// Draw implements Screen.
func (s *SQL) Draw(v canvas.View) {
	main := v
	if s.sh.Class != S {
		w := 28
		if s.sh.Class == L {
			w = 40
		}
		s.drawCatalog(v.Sub(0, 0, w, v.H))
		divider(v, w, 0, v.H)
		main = v.Sub(w+1, 0, v.W-w-1, v.H)
	}
	h := max(5, min(s.ed.Lines()+1, main.H/3))
	rule(main, 0, 0, main.W, "SQL · SQLite", "ctrl+r run", s.pane == 0)
	ed := main.Sub(0, 1, main.W, h)
	s.ed.Draw(ed, s.editing, true, colourSQL)
	if s.ed.Text() == "" && !s.editing {
		ed.Put(5, 0, "i starts typing", canvas.Muted)
	} else if s.ed.Text() == "" {
		ed.Put(6, 0, "SELECT … ; and enter runs it", canvas.Muted)
	}
	s.drawCompletion(main, h)
	res := main.Sub(0, h+1, main.W, main.H-h-1)
	s.drawResult(res)
}

func (s *SQL) drawCompletion(v canvas.View, h int) {
	if len(s.comp) == 0 {
		return
	}
	w := 24
	x := v.W - w - 2
	box := v.Sub(x, 1, w, len(s.comp)+2)
	box.Clear()
	box.Put(0, 0, "┌ complete ", canvas.Muted)
	box.HLine(11, 0, w-12, "─", canvas.Muted)
	box.Put(w-1, 0, "┐", canvas.Muted)
	for i, c := range s.comp {
		box.Put(0, i+1, "│", canvas.Muted)
		box.Fit(2, i+1, w-4, text(c), canvas.Text)
		box.Put(w-1, i+1, "│", canvas.Muted)
		if i == s.compAt {
			box.Paint(1, i+1, w-2, canvas.Cursor)
		}
	}
	y := len(s.comp) + 1
	box.Put(0, y, "└", canvas.Muted)
	box.HLine(1, y, w-2, "─", canvas.Muted)
	box.Put(w-1, y, "┘", canvas.Muted)
}

func (s *SQL) drawResult(v canvas.View) {
	note := safe.Line("")
	live := safe.Line("live off")
	if s.live {
		live = "live"
	}
	switch {
	case s.sh.Busy != "":
		note = text(s.sh.Busy) + " … ctrl+c cancels"
	case s.grid != nil && s.err == nil:
		note = s.grid.Shown() + " · " + widget.Took(s.took)
		if s.grid.res.Batch >= 0 {
			note += f(" · as of batch %d", s.grid.res.Batch)
		}
		note += " · " + live
	}
	rule(v, 0, 0, v.W, "result", note, s.pane == 1)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case s.err != nil:
		DrawCard(body, 1, s.err)
	case s.grid != nil:
		s.grid.Draw(body, s.pane == 1)
	case s.sh.Bench == nil:
		empty(body, "No lab is open. Press 4 outside of the editor (esc) to choose one.")
	default:
		y := 1
		body.Put(2, y, "Tables of the memory sinks:", canvas.Muted)
		for _, t := range s.tables {
			y++
			if y >= body.H {
				break
			}
			body.Fit(4, y, 30, text(t.Name), canvas.Text)
			if t.Rows >= 0 {
				body.Right(48, y, 12, widget.Count(t.Rows)+" rows", canvas.Muted)
			}
		}
		if len(s.tables) == 0 {
			body.Put(4, y+1, "none yet: a query with format memory makes one", canvas.Muted)
		}
	}
}

func (s *SQL) drawCatalog(v canvas.View) {
	rule(v, 0, 0, v.W, "catalog", "", false)
	hh := 0
	if len(s.history) > 0 {
		hh = min(len(s.history)+1, max(4, v.H/3))
	}
	y, kind := 1, ""
	end := v.H - hh
	for _, t := range s.tables {
		if y >= end {
			break
		}
		if t.Kind != kind {
			kind = t.Kind
			v.Fit(1, y, v.W-2, text(kind)+" tables", canvas.Muted)
			if kind == "view" {
				v.Fit(1, y, v.W-2, "views        ", canvas.Muted)
			}
			y++
		}
		if y >= end {
			break
		}
		v.Fit(3, y, v.W-14, text(t.Name), canvas.Text)
		if t.Rows >= 0 {
			v.Right(v.W-3, y, 10, widget.Count(t.Rows), canvas.Muted)
		}
		y++
		for _, c := range t.Columns {
			if y >= end {
				break
			}
			v.Fit(5, y, v.W-16, text(c.Name), canvas.Muted)
			v.Fit(max(19, v.W-9), y, 8, text(c.Type), canvas.Muted)
			y++
		}
	}
	if s.tablesE != nil && y+3 < end {
		DrawCard(v.Sub(0, y, v.W, end-y), 0, s.tablesE)
	}
	if hh == 0 {
		return
	}
	h := v.Sub(0, end, v.W, hh)
	rule(h, 0, 0, v.W, "history", "ctrl+p", false)
	for i := range min(hh-1, len(s.history)) {
		p := s.history[len(s.history)-1-i]
		n := widget.Count(p.rows)
		if p.failed {
			n = "error"
		}
		h.Put(1, i+1, s.sh.Clock(p.at)[:5], canvas.Muted)
		h.Fit(7, i+1, v.W-16, text(strings.Join(strings.Fields(p.sql), " ")), canvas.Text)
		h.Right(v.W-2, i+1, 8, n, canvas.Muted)
	}
}

var keywords = wordSet(`select from where group by order having limit offset as and or not in is
		null like between case when then else end join left right inner outer on using union all distinct
		with values asc desc exists cast over partition recursive pragma explain`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// colourSQL gives a style per byte of a line: keywords, strings, numbers and comments. SQLite's words,
// not Spark's: this pane speaks to SQLite.
func colourSQL(line string) []canvas.Style {
	out := make([]canvas.Style, len(line))
	paint := func(a, b int, st canvas.Style) {
		for ; a < b; a++ {
			out[a] = st
		}
	}
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == '\'':
			j := i + 1
			for j < len(line) && line[j] != '\'' {
				j++
			}
			j = min(j+1, len(line))
			paint(i, j, canvas.OK)
			i = j
		case c == '-' && i+1 < len(line) && line[i+1] == '-':
			paint(i, len(line), canvas.Muted)
			i = len(line)
		case c >= '0' && c <= '9':
			j := i
			for j < len(line) && (line[j] >= '0' && line[j] <= '9' || line[j] == '.') {
				j++
			}
			paint(i, j, canvas.Warn)
			i = j
		case c == '_' || unicode.IsLetter(rune(c)):
			j := i
			for j < len(line) && (line[j] == '_' || line[j] < 0x80 && (unicode.IsLetter(rune(line[j])) || unicode.IsDigit(rune(line[j])))) {
				j++
			}
			if j == i {
				j++
			}
			if keywords[strings.ToLower(line[i:j])] {
				paint(i, j, canvas.Accent|canvas.Bold)
			}
			i = j
		default:
			i++
		}
	}
	return out
}

// RunText puts a statement into the editor and runs it.
func (s *SQL) RunText(sql string) Effect {
	s.ed.Set(sql)
	s.editing, s.pane = false, 1
	return s.runNow()
}
