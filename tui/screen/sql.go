package screen

import (
	"context"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/sql"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// SQL is tab 3: a statement above, its result below, on wider screens the catalog to the left. It has two
// doors. SQLite answers over what memory sinks hold, while their queries write; Spark SQL answers over the
// sources, tables and views of the lab, as a batch over what is there now.
type SQL struct {
	sh      *Shared
	door    Door
	ed      widget.Code
	editing bool
	pane    sqlPane
	zoom    bool
	comp    completion

	grid    *Grid
	err     *errs.Error
	ran     string // statement of grid or err
	ranAt   Door
	took    time.Duration
	began   time.Time // of the newest run
	limit   int       // rows that the newest run asked for
	live    bool
	batches int64           // sum of batch ids at the last run
	changed map[[2]int]bool // cells that the last live run changed
	since   time.Time       // when it did

	tables  [2][]Table
	tablesE [2]*errs.Error
	asked   [2]bool
	cat     widget.List

	history []Past // oldest first
	saved   []Saved
	read    bool // history and saved have been read
	hist    int  // place in history while walking; len(history) is the draft
	draft   string
	find    string
}

type sqlPane uint8

const (
	editorPane sqlPane = iota
	resultPane
	catalogPane
)

// NewSQL makes the screen.
func NewSQL(sh *Shared) *SQL {
	s := &SQL{sh: sh, editing: true}
	s.ed.Indent = true
	s.ed.Highlight(highlightSQL)
	return s
}

// Scope implements Screen, as do the methods below.
func (s *SQL) Scope() Scope {
	if s.editing {
		return InEditor
	}
	return InSQL
}
func (s *SQL) Crumb() safe.Line { return "SQL · " + safe.Line(s.door.String()) }

// How many rows are fetched first and at most.
const (
	rowsAtOnce = 1000
	mostRows   = 100_000
)

// Wake implements Screen: the catalog is read once per visit, and a live statement runs again after
// batches, at most once a second.
func (s *SQL) Wake() Effect {
	var e Effect
	if s.sh.Bench == nil {
		return e
	}
	if !s.asked[s.door] {
		s.asked[s.door] = true
		e.Jobs = append(e.Jobs, s.loadCatalog())
	}
	if !s.read {
		s.read = true
		if r, ok := s.sh.Bench.(Rememberer); ok {
			e.Jobs = append(e.Jobs, s.loadStatements(r))
		}
	}
	if s.live && s.ran != "" && s.sh.Now.Sub(s.began) >= time.Second {
		if n := s.sumBatches(); n != s.batches {
			e.Jobs = append(e.Jobs, s.run(s.ran, s.ranAt, s.limit, again), s.loadCatalog())
		}
	}
	return e
}

func (s *SQL) sumBatches() (n int64) {
	for _, q := range s.sh.Queries {
		n += q.Last().BatchID
	}
	return n
}

func (s *SQL) loadCatalog() Job {
	bench, door := s.sh.Bench, s.door
	return Job{Slot: "catalog", Run: func(ctx context.Context) func() Effect {
		var ts []Table
		var err error
		if a, ok := bench.(Asker); ok {
			ts, err = a.Names(ctx, door)
		} else {
			ts, err = bench.Catalog(ctx)
		}
		return func() Effect {
			if s.tablesE[door] = AsError(err); err == nil {
				s.tables[door] = ts
			}
			return Effect{}
		}
	}}
}

func (s *SQL) loadStatements(r Rememberer) Job {
	return Job{Slot: "statements", Run: func(ctx context.Context) func() Effect {
		past, saved, err := r.Statements(ctx)
		return func() Effect {
			if err != nil {
				return Effect{Toast: "the history of statements cannot be read: " + text(err.Error())}
			}
			s.history = append(past, s.history...)
			s.saved = saved
			s.hist = len(s.history)
			return Effect{}
		}
	}}
}

// How a statement is run: by the user, again by itself, for more rows.
type reason uint8

const (
	asked reason = iota
	again
	more
)

func (s *SQL) run(text string, door Door, limit int, why reason) Job {
	bench := s.sh.Bench
	s.began, s.batches, s.limit = s.sh.Now, s.sumBatches(), limit
	what := safe.Line("running")
	if why == more {
		what = "fetching more"
	}
	return Job{Slot: "run", What: what, Run: func(ctx context.Context) func() Effect {
		var r Result
		var err error
		if a, ok := bench.(Asker); ok {
			r, err = a.Ask(ctx, door, text, limit)
		} else {
			r, err = bench.Query(ctx, text, limit)
		}
		if ctx.Err() != nil {
			return nil
		}
		var kept error
		p := Past{SQL: text, Door: door, Rows: -1, Failed: err != nil}
		if err == nil {
			p.Rows = max(r.Total, int64(len(r.Rows)))
		}
		if m, ok := bench.(Rememberer); ok && why == asked {
			p.At = s.sh.Now
			kept = m.Remember(ctx, p)
		}
		return func() Effect { return s.answer(p, r, AsError(err), why, kept) }
	}}
}

// answer takes the result of a run.
func (s *SQL) answer(p Past, r Result, err *errs.Error, why reason, kept error) Effect {
	if why == more && err != nil {
		return Effect{Toast: text(err.Message())}
	}
	s.ran, s.ranAt, s.err = p.SQL, p.Door, err
	if err == nil {
		old := s.grid
		s.grid = NewGrid(r)
		if why != asked {
			s.grid.keepPlace(old)
		}
		s.changed = nil
		if why == again {
			s.changed, s.since = differences(old, s.grid), s.sh.Now
		}
		s.took = r.Took
	} else {
		s.live = false
	}
	if why != asked {
		return Effect{}
	}
	if p.At.IsZero() {
		p.At = s.sh.Now
	}
	s.history = append(s.history, p)
	if over := len(s.history) - mostHistory; over > 0 {
		s.history = s.history[over:]
	}
	s.hist = len(s.history)
	if kept != nil {
		return Effect{Toast: "the statement was not written to the history: " + text(kept.Error())}
	}
	return Effect{}
}

const mostHistory = 500

// differences finds the cells of the first rows that are not as they were.
func differences(old, now *Grid) map[[2]int]bool {
	if old == nil || len(old.res.Columns) != len(now.res.Columns) {
		return nil
	}
	m := map[[2]int]bool{}
	for i, row := range now.res.Rows[:min(len(now.res.Rows), rowsAtOnce)] {
		for j, c := range row {
			if i >= len(old.res.Rows) || j >= len(old.res.Rows[i]) || old.res.Rows[i][j] != c {
				m[[2]int{i, j}] = true
			}
		}
	}
	return m
}

// Typing implements Typer.
func (s *SQL) Typing() bool { return s.editing }

// Type implements Typer.
func (s *SQL) Type(k widget.Key) (Effect, bool) {
	if s.comp.open() && s.completionKey(k.Name) {
		return Effect{}, true
	}
	s.comp.close()
	switch k.Name {
	case "enter":
		if t := strings.TrimSpace(s.ed.Text()); strings.HasSuffix(t, ";") && s.ed.AtEnd() {
			return s.runNow(), true
		}
	case "tab":
		if s.ed.Word() == "" && !strings.HasSuffix(s.ed.Line(s.ed.Cursor().Line)[:s.ed.Cursor().Byte], ".") {
			return Effect{}, false // the next pane
		}
		s.complete(1)
		if len(s.comp.items) == 1 {
			s.accept()
		}
		return Effect{}, true
	case "shift+tab":
		return Effect{}, false
	}
	if !s.ed.Handle(k) {
		return Effect{}, false
	}
	if k.Text != "" && len(k.Text) <= 4 {
		s.complete(2)
	}
	return Effect{}, true
}

// statement is what runs: of several in the text the one that the cursor is in or behind.
func (s *SQL) statement() string {
	t := s.ed.Text()
	list := sql.Split(t)
	if len(list) == 0 {
		return ""
	}
	p := s.ed.Cursor()
	at := p.Byte
	for i := range p.Line {
		at += len(s.ed.Line(i)) + 1
	}
	found := list[0]
	for _, sp := range list {
		if sp.Start <= at {
			found = sp
		}
	}
	return t[found.Start:found.End]
}

func (s *SQL) runNow() Effect {
	t := s.statement()
	if t == "" {
		return Effect{Toast: "nothing to run: write a statement first"}
	}
	if s.sh.Bench == nil {
		return Effect{Toast: "no lab is open: 4 opens one"}
	}
	s.comp.close()
	return Effect{Jobs: []Job{s.run(t, s.door, rowsAtOnce, asked), s.loadCatalog()}}
}

// takes is focus for the pointer.
func (s *SQL) takes(p sqlPane) func() bool {
	return func() bool {
		had := s.pane == p
		if !had {
			s.focus(p)
		}
		return had
	}
}

// focus goes to a pane.
func (s *SQL) focus(p sqlPane) {
	s.pane, s.editing = p, p == editorPane
	s.comp.close()
}

// Handle implements Screen.
func (s *SQL) Handle(a Action) Effect {
	switch a {
	case EditSQL:
		s.focus(editorPane)
		return Effect{}
	case RunSQL:
		return s.runNow()
	case Back:
		if s.zoom {
			s.zoom = false
			return Effect{}
		}
		s.focus(resultPane)
		return Effect{}
	case NextPane, PrevPane:
		n := sqlPane(2)
		if s.sh.Class != S {
			n = 3
		}
		d := sqlPane(1)
		if a == PrevPane {
			d = n - 1
		}
		s.focus((s.pane + d) % n)
		return Effect{}
	case Zoom:
		s.zoom = !s.zoom
		return Effect{}
	case LiveSQL:
		s.live = !s.live
		if s.live && s.ran == "" {
			return s.runNow()
		}
		return Effect{}
	case SwitchDoor:
		s.door = 1 - s.door
		s.comp.close()
		return s.Wake()
	case HistoryPrev, HistoryNext:
		s.walk(a == HistoryPrev)
		return Effect{}
	case SaveSQL:
		return s.save()
	case OpenSaved:
		return s.openSaved()
	}
	if s.pane == catalogPane && s.sh.Class != S {
		return s.handleCatalog(a)
	}
	return s.handleResult(a)
}

// handleResult does what is about the result.
func (s *SQL) handleResult(a Action) Effect {
	switch a {
	case Filter:
		return Effect{Input: &Prompt{Title: "Find in the result", Label: "text in any cell", Text: s.find,
			Done: func(t string) Effect { s.find = t; return s.next(1) }}}
	case FindNext:
		return s.next(1)
	case FindPrev:
		return s.next(-1)
	case Export:
		return s.export()
	}
	if s.err != nil && a == Copy {
		return Effect{Copy: &Clip{CardText(s.err), "error"}}
	}
	if s.grid == nil {
		if a == Enter {
			s.focus(editorPane)
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
	return s.fetchMore()
}

// fetchMore asks for ten times as many rows when the cursor comes to the last of those that are there.
func (s *SQL) fetchMore() Effect {
	g := s.grid
	n := len(g.res.Rows)
	if !g.res.More || s.limit >= mostRows || g.list.Cursor < n-100 || s.err != nil {
		return Effect{}
	}
	return Effect{Jobs: []Job{s.run(s.ran, s.ranAt, min(s.limit*10, mostRows), more)}}
}

// walk goes through the history; the text that was being written comes after its end.
func (s *SQL) walk(back bool) {
	s.comp.close()
	if s.hist == len(s.history) {
		s.draft = s.ed.Text()
	}
	d := 1
	if back {
		d = -1
	}
	s.hist = max(0, min(s.hist+d, len(s.history)))
	t := s.draft
	if s.hist < len(s.history) {
		t = s.history[s.hist].SQL
		s.door = s.history[s.hist].Door
	}
	s.ed.Replace(widget.Place{}, widget.Place{Line: 1 << 30}, t)
}

func (s *SQL) next(d int) Effect {
	if s.grid == nil || !s.grid.Find(s.find, d) {
		return Effect{Toast: notFound(s.find)}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *SQL) Disabled(a Action) safe.Line {
	switch a {
	case SortResult, Look, FindNext, FindPrev, Export:
		if s.grid == nil {
			return "there is no result yet"
		}
		if _, ok := s.sh.Bench.(Exporter); a == Export && !ok {
			return "this lab writes no files here"
		}
	case RunSQL, LiveSQL:
		if s.sh.Bench == nil {
			return "no lab is open"
		}
	case SwitchDoor:
		if _, ok := s.sh.Bench.(Asker); !ok {
			return "this lab has one door only"
		}
	case SaveSQL, OpenSaved:
		if _, ok := s.sh.Bench.(Rememberer); !ok {
			return "this lab keeps no statements"
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
	main, x0 := v, 0
	if s.sh.Class != S && !(s.zoom && s.pane != catalogPane) {
		w := 28
		if s.sh.Class == L {
			w = 40
		}
		if s.zoom {
			s.drawCatalog(v)
			return
		}
		s.drawCatalog(v.Sub(0, 0, w, v.H))
		divider(v, w, 0, v.H)
		main, x0 = v.Sub(w+1, 0, v.W-w-1, v.H), w+1
	}
	if s.zoom && s.pane == resultPane {
		s.drawResult(main)
		return
	}
	h := max(5, min(s.ed.Len()+1, main.H/3))
	if s.zoom {
		h = main.H - 1
	}
	rule(main, 0, 0, main.W, s.Crumb(), "ctrl+r run", s.pane == editorPane)
	ed := main.Sub(0, 1, main.W, h)
	focusable(ed, s.takes(editorPane))
	s.ed.Draw(ed, widget.Numbers, s.editing, nil)
	if s.ed.Text() == "" && !s.editing {
		ed.Put(5, 0, "i starts typing", canvas.Muted)
	} else if s.ed.Text() == "" {
		ed.Put(6, 0, "SELECT … ; and enter runs it", canvas.Muted)
	}
	if !s.zoom {
		s.drawResult(main.Sub(0, h+1, main.W, main.H-h-1))
	}
	if s.editing {
		x, y := s.ed.CursorAt(widget.Numbers)
		s.drawCompletion(v, x0+x, 1+y)
	}
}

func (s *SQL) drawResult(v canvas.View) {
	note := safe.Line("")
	live := safe.Line("live off")
	if s.live {
		live = "live"
	}
	switch {
	case s.sh.Busy != "":
		note = spinner(s.sh) + text(s.sh.Busy) + " … ctrl+c cancels"
	case s.grid != nil && s.err == nil:
		note = s.grid.Shown() + " · " + widget.Took(s.took)
		if s.grid.res.Batch >= 0 {
			note += f(" · as of batch %d", s.grid.res.Batch)
		}
		if n := s.grid.res.Note; n != "" {
			note += " · " + text(n)
		}
		note += " · " + live
	}
	title := safe.Line("result")
	if s.grid != nil && s.ranAt != s.door {
		title += " of " + safe.Line(s.ranAt.String())
	}
	rule(v, 0, 0, v.W, title, note, s.pane == resultPane)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case s.err != nil:
		DrawCard(body, 1, s.err)
	case s.grid != nil:
		marks := s.changed
		if s.sh.Now.Sub(s.since) >= time.Second {
			marks = nil
		}
		s.grid.marks = marks
		focusable(v, s.takes(resultPane))
		s.grid.click(body, s.takes(resultPane))
		s.grid.Draw(body, s.pane == resultPane)
	case s.sh.Bench == nil:
		empty(body, "No lab is open. Press 4 outside of the editor (esc) to choose one.")
	case s.tablesE[s.door] != nil:
		DrawCard(body, 1, s.tablesE[s.door])
	default:
		s.drawNames(body)
	}
}

// spinner turns while something is waited for, unless the screen is read out.
func spinner(sh *Shared) safe.Line {
	if sh.Plain {
		return ""
	}
	return [...]safe.Line{"◌ ", "◐ ", "● ", "◐ "}[sh.Now.UnixMilli()/250%4]
}

// drawNames shows what can be asked for while there is no result.
func (s *SQL) drawNames(v canvas.View) {
	what, none := safe.Line("Tables of the memory sinks:"), safe.Line("none yet: a query with format memory makes one")
	if s.door == SparkDoor {
		what, none = "Sources, tables and views of the lab:", "none"
	}
	y := 1
	v.Put(2, y, what, canvas.Muted)
	for _, t := range s.tables[s.door] {
		y++
		if y >= v.H {
			return
		}
		v.Fit(4, y, 30, text(t.Name), canvas.Text)
		if t.Rows >= 0 {
			v.Right(48, y, 12, widget.Count(t.Rows)+" rows", canvas.Muted)
		} else {
			v.Right(48, y, 14, noCount(t), canvas.Muted)
		}
	}
	if len(s.tables[s.door]) == 0 {
		v.Put(4, y+1, none, canvas.Muted)
	}
}

// noCount stands where a table has no count of rows: what it shows instead of its own.
func noCount(t Table) safe.Line {
	if t.Kind == "memory" {
		return "newest per key" // counting them would read all rows
	}
	return text(t.Kind)
}

// RunText puts a statement into the editor and runs it.
func (s *SQL) RunText(sql string) Effect {
	s.ed.Replace(widget.Place{}, widget.Place{Line: 1 << 30}, sql)
	s.focus(resultPane)
	return s.runNow()
}
