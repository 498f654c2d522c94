package screen

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Checkpoint is one checkpoint: the strip of its retained batches, the records of the chosen batch, what
// a restart would do, and the state as it was after that batch. Enter on a key shows its history, d marks a
// batch that the others are compared with.
type Checkpoint struct {
	sh   *Shared
	name string
	id   int64 // chosen batch; -1 follows the newest
	pane int   // 0 batch, 1 state, 2 history or differences
	room int   // lines below the strip, on small screens
	zoom bool

	info  *CheckpointInfo
	err   *errs.Error
	asked time.Time
	seen  int64

	rec   *CheckpointBatch
	recAt int64
	recE  *errs.Error

	op     int // index into info.Operators
	filter string
	rows   *statePager
	read   time.Time // when rows were asked for
	took   time.Duration

	hist  *keyHistory
	base  int64 // batch that others are compared with; -1: none
	diff  *batchDiff
	check *verifying // nil unless a verification runs
}

// keyHistory is what became of a key.
type keyHistory struct {
	key  StateRow
	op   int
	list widget.List
	rows []KeyVersion
	err  *errs.Error
	done bool
}

// batchDiff is the difference of two batches; d is nil while it is made.
type batchDiff struct {
	from, to int64
	op       int
	list     widget.List
	d        *Diff
	err      *errs.Error
}

// verifying is how far a verification is: written by its goroutine, read by Draw.
type verifying struct{ done, total atomic.Int64 }

// NewCheckpoint makes the screen for a query at a batch; -1 is the newest.
func NewCheckpoint(sh *Shared, query string, batch int64) *Checkpoint {
	return &Checkpoint{sh: sh, name: query, id: batch, recAt: -1, seen: -2, base: -1}
}

// Scope implements Screen, as do the methods below.
func (s *Checkpoint) Scope() Scope     { return InCheckpoint }
func (s *Checkpoint) Crumb() safe.Line { return text(s.name) }

// batch is the chosen batch; -1 if the checkpoint holds none.
func (s *Checkpoint) batch() int64 {
	if s.info == nil || len(s.info.Batches) == 0 {
		return -1
	}
	bs := s.info.Batches
	if s.id < 0 || s.id > bs[len(bs)-1].ID {
		return bs[len(bs)-1].ID
	}
	return max(s.id, bs[0].ID)
}

// stateBatch is the batch whose state is shown: the chosen one, or the last committed before it.
func (s *Checkpoint) stateBatch() int64 {
	b := s.batch()
	if b < 0 {
		return -1
	}
	out := int64(-1)
	for _, m := range s.info.Batches {
		if m.ID > b {
			break
		}
		if m.Commit {
			out = m.ID
		}
	}
	return out
}

// Wake implements Screen.
func (s *Checkpoint) Wake() Effect {
	if s.sh.Bench == nil {
		return Effect{}
	}
	s.sh.Focus = s.name
	bench, name := s.sh.Bench, s.name
	var e Effect
	newest := int64(-1)
	if q := s.sh.Query(s.name); q != nil {
		newest = q.BatchID + int64(q.State)<<32
	}
	if s.seen != newest && (s.seen == -2 || s.sh.Now.Sub(s.asked) >= time.Second) {
		s.seen, s.asked = newest, s.sh.Now
		e.Jobs = append(e.Jobs, Job{Slot: "info", What: "reading checkpoint", Run: func(ctx context.Context) func() Effect {
			c, err := bench.Checkpoint(ctx, name)
			return func() Effect {
				if s.err = AsError(err); err == nil {
					s.info = c
				}
				return s.Wake()
			}
		}})
	}
	b := s.batch()
	if b < 0 {
		return e
	}
	if b != s.recAt || s.rec != nil && !s.rec.HasCommit && len(e.Jobs) > 0 {
		s.recAt = b
		e.Jobs = append(e.Jobs, Job{Slot: "record", What: "reading batch", Run: func(ctx context.Context) func() Effect {
			r, err := bench.CheckpointBatch(ctx, name, b)
			return func() Effect {
				if s.recAt == b {
					s.rec, s.recE = r, AsError(err)
				}
				return Effect{}
			}
		}})
	}
	e.Jobs = append(e.Jobs, s.lookup()...)
	return e
}

// lookup asks for what the state pane and the differences lack.
func (s *Checkpoint) lookup() (jobs []Job) {
	sb := s.stateBatch()
	bench := s.inspecting()
	if sb < 0 || len(s.info.Operators) == 0 {
		return nil
	}
	q := s.query(sb)
	if s.rows == nil || !sameStore(s.rows.q, q) && (s.id >= 0 || !s.tiresome()) {
		s.rows = s.turned(newStatePager(q))
		s.rows.today = s.sh.today()
		s.read = s.sh.Now
	}
	if j, ok := s.rows.job(bench); ok {
		jobs = append(jobs, s.timed(j))
	}
	if b := s.batch(); s.base >= 0 && b >= 0 && s.base != b && (s.diff == nil || s.diff.from != s.base || s.diff.to != b || s.diff.op != s.op) {
		d := &batchDiff{from: s.base, to: b, op: s.op}
		s.diff = d
		jobs = append(jobs, Job{Slot: "diff", What: "comparing batches", Run: func(ctx context.Context) func() Effect {
			x, err := bench.DiffBatches(ctx, q, d.from, d.to, 1000)
			return func() Effect { d.d, d.err = x, AsError(err); return Effect{} }
		}})
	}
	return jobs
}

// timed notes how long the state took to read: what is slow is not read with every batch.
func (s *Checkpoint) timed(j Job) Job {
	run := j.Run
	j.Run = func(ctx context.Context) func() Effect {
		began := time.Now()
		apply := run(ctx)
		took := time.Since(began)
		return func() Effect { s.took = took; return apply() }
	}
	return j
}

// tiresome says that reading the state for every new batch would cost the query more than one part in twenty.
func (s *Checkpoint) tiresome() bool { return s.sh.Now.Sub(s.read) < 20*s.took }

// turned keeps the place of the pager that p replaces, if it shows the same store.
func (s *Checkpoint) turned(p *statePager) *statePager {
	if old := s.rows; old != nil && old.q.Operator == p.q.Operator && old.q.Store == p.q.Store && old.q.Filter == p.q.Filter {
		p.list, p.keyW, p.valueW, p.batchW, p.bytesW = old.list, old.keyW, old.valueW, old.batchW, old.bytesW
	}
	return p
}

func sameStore(a, b StateQuery) bool {
	return a.Batch == b.Batch && a.Operator == b.Operator && a.Store == b.Store && a.Filter == b.Filter
}

// query is the state that is shown of a batch.
func (s *Checkpoint) query(batch int64) StateQuery {
	o := s.info.Operators[min(s.op, len(s.info.Operators)-1)]
	return StateQuery{Query: s.name, Batch: batch, Operator: o.ID, Store: o.Store, Filter: s.filter}
}

// inspecting is the bench, or what stands in for one that cannot look so deep.
func (s *Checkpoint) inspecting() Inspecting {
	if b, ok := s.sh.Bench.(Inspecting); ok {
		return b
	}
	return shallow{s.sh.Bench}
}

// Handle implements Screen.
func (s *Checkpoint) Handle(a Action) Effect {
	switch a {
	case Back:
		return s.back()
	case NextPane, PrevPane:
		n := 2
		if s.third() {
			n = 3
		}
		if s.pane++; a == PrevPane {
			s.pane += n - 2
		}
		s.pane %= n
		return Effect{}
	case Zoom:
		s.zoom = !s.zoom
		return Effect{}
	case PrevBatch, NextBatch, PrevNotable, NextNotable:
		return s.step(a)
	case NextState:
		if s.info != nil && len(s.info.Operators) > 0 {
			s.op, s.hist = (s.op+1)%len(s.info.Operators), nil
			return s.Wake()
		}
	case Filter:
		return Effect{Input: &Prompt{Title: "Find keys", Label: `beginning of a key, ["…","/ho, or a condition`, Text: s.filter, Done: s.setFilter}}
	case DiffBase:
		return s.mark()
	case VerifyHere:
		return s.verify()
	case ExportHere:
		return s.export()
	case Look:
		if s.pane == 0 && s.rec != nil {
			t := "offsets/" + string(f("%d", s.rec.ID)) + "\n" + s.rec.OffsetsText
			if s.rec.HasCommit {
				t += "\n\ncommits/" + string(f("%d", s.rec.ID)) + "\n" + s.rec.CommitText
			}
			return Effect{View: &Viewer{Title: f("batch %d in Spark's text form", s.rec.ID), Text: t}}
		}
	case Copy:
		if s.pane == 0 && s.rec != nil {
			return Effect{Copy: &Clip{s.rec.OffsetsText, f("offsets/%d", s.rec.ID)}}
		}
	case OpenBatch, OpenBatches:
		return Effect{Tab: 1, Push: NewBatch(s.sh, s.name, s.batch())}
	case ForkHere, RewindHere, LoseHere, DropHere:
		return s.past(a)
	}
	if e, ok := s.handleRows(a); ok {
		return e
	}
	switch a {
	case Left:
		return s.step(PrevBatch)
	case Right:
		return s.step(NextBatch)
	}
	if q := s.sh.Query(s.name); q != nil {
		e, _ := steer(s.sh, a, q)
		return e
	}
	return Effect{}
}

// back closes the history, then the comparison, then the filter, then the screen.
func (s *Checkpoint) back() Effect {
	switch {
	case s.hist != nil:
		s.hist = nil
	case s.base >= 0:
		s.base, s.diff = -1, nil
	case s.filter != "":
		return s.setFilter("")
	default:
		bench := s.inspecting()
		return Effect{Pop: true, Jobs: []Job{{Slot: "release", Run: func(context.Context) func() Effect {
			bench.ReleaseState()
			return func() Effect { return Effect{} }
		}}}}
	}
	if s.pane == 2 {
		s.pane = 1
	}
	return Effect{}
}

// third says that there is a history or a comparison to look at.
func (s *Checkpoint) third() bool { return s.hist != nil || s.base >= 0 }

// handleRows moves in the lists and opens what is under the cursor.
func (s *Checkpoint) handleRows(a Action) (Effect, bool) {
	if s.pane == 2 && s.hist != nil {
		return Effect{}, move(&s.hist.list, a, len(s.hist.rows))
	}
	if s.pane == 2 && s.diff != nil && s.diff.d != nil {
		return Effect{}, move(&s.diff.list, a, len(s.diff.d.Rows))
	}
	if s.rows == nil || !s.rows.known {
		return Effect{}, false
	}
	if move(&s.rows.list, a, s.rows.head.Matches) {
		if s.pane == 0 {
			s.pane = 1
		}
		return Effect{Jobs: s.lookup()}, true
	}
	r, ok := s.rows.row(s.rows.list.Cursor)
	if !ok {
		return Effect{}, false
	}
	switch a {
	case Enter:
		return s.open(r), true
	case Look:
		t := r.JSON
		for i, c := range r.Values {
			t += "\n" + s.rows.head.Values[i].Name + " = " + string(cellText(c, 0))
		}
		return Effect{View: &Viewer{Title: "key " + text(r.Key), Text: t}}, true
	case Copy:
		return Effect{Copy: &Clip{r.JSON, "key as JSON"}}, true
	}
	return Effect{}, false
}

// open asks for the history of a key.
func (s *Checkpoint) open(r StateRow) Effect {
	h := &keyHistory{key: r, op: s.op}
	s.hist = h
	bench, q := s.inspecting(), s.query(s.stateBatch())
	return Effect{Jobs: []Job{{Slot: "history", What: "reading history", Run: func(ctx context.Context) func() Effect {
		rows, err := bench.KeyHistory(ctx, q, bytes.Clone(r.ID), 1000)
		return func() Effect { h.rows, h.err, h.done = rows, AsError(err), true; return Effect{} }
	}}}}
}

// mark makes the chosen batch the one that others are compared with, or ends the comparison.
func (s *Checkpoint) mark() Effect {
	b := s.batch()
	if s.base == b {
		s.base, s.diff = -1, nil
		return Effect{Toast: "no comparison"}
	}
	s.base, s.diff, s.hist, s.id = b, nil, nil, b
	return Effect{Toast: f("batch %d is the base: move with [ ] to compare", b)}
}

func (s *Checkpoint) setFilter(t string) Effect {
	s.filter, s.rows = t, nil
	if s.info == nil {
		return Effect{}
	}
	return Effect{Jobs: s.lookup()}
}

func (s *Checkpoint) step(a Action) Effect {
	b := s.batch()
	if b < 0 {
		return Effect{}
	}
	bs := s.info.Batches
	i := 0
	for i < len(bs)-1 && bs[i].ID < b {
		i++
	}
	d := 1
	if a == PrevBatch || a == PrevNotable {
		d = -1
	}
	for j := i + d; j >= 0 && j < len(bs); j += d {
		if a == PrevBatch || a == NextBatch || bs[j].Retried || !bs[j].Commit || bs[j].Bases {
			s.id = bs[j].ID
			if j == len(bs)-1 {
				s.id = -1
			}
			return s.Wake()
		}
	}
	return Effect{Toast: f("batches %d to %d are kept", bs[0].ID, bs[len(bs)-1].ID)}
}

// Disabled implements Screen.
func (s *Checkpoint) Disabled(a Action) safe.Line {
	q := s.sh.Query(s.name)
	damaged := s.info != nil && s.info.Problem != nil
	switch a {
	case RewindHere, ForkHere, DiffBase, VerifyHere, ExportHere:
		switch {
		case damaged && s.info.Owner != "":
			return "another process holds it"
		case damaged && a != VerifyHere:
			return "it is damaged"
		case a == RewindHere && q != nil && q.State.Active():
			return "stop the query first"
		case s.batch() < 0 && a != VerifyHere:
			return "no batch is kept"
		case a == VerifyHere && s.check != nil:
			return "it runs already"
		}
	case PrevBatch, NextBatch, PrevNotable, NextNotable, OpenBatch, OpenBatches:
		if s.batch() < 0 {
			return "no batch is kept"
		}
		return "" // whether or not the query has run since the program started
	case NextPane, PrevPane, Filter, Enter, Look, Copy, FindNext, FindPrev:
		if damaged {
			return "there is nothing to look at"
		}
	case LoseHere:
		if !damaged || len(s.info.Lost) != 2 || s.info.Whole < 0 {
			return "no batch is lost"
		}
	case DropHere:
		if q != nil && q.State.Active() {
			return "stop the query first"
		}
	}
	return disabled(a, q)
}

// Draw implements Screen.
func (s *Checkpoint) Draw(v canvas.View) {
	title := "Checkpoints › " + s.Crumb()
	if s.info == nil {
		rule(v, 0, 0, v.W, title, "", true)
		if s.err != nil {
			DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, s.err)
			return
		}
		empty(v.Sub(0, 1, v.W, v.H), "Reading the checkpoint …")
		return
	}
	n := len(s.info.Batches)
	note := widget.Plural(int64(n), "batch") + " kept"
	if n > 0 {
		if all := s.info.Batches[n-1].ID + 1; all > int64(n) {
			note = widget.Count(int64(n)) + " of " + widget.Count(all) + " batches kept"
		}
	}
	note += " · " + widget.Bytes(s.info.Bytes)
	switch {
	case s.check != nil:
		note += f(" · verifying %d %%", s.check.done.Load()*100/max(1, s.check.total.Load()))
	case s.info.InUse:
		note += " · in use"
	case s.info.Owner != "":
		note = "held by another process"
	case s.info.Problem != nil:
		note = problemWord(s.info)
	}
	rule(v, 0, 0, v.W, title, note, s.pane == 0)
	if s.info.Problem != nil {
		s.drawProblem(v.Sub(0, 1, v.W, v.H-1))
		return
	}
	if n == 0 {
		empty(v.Sub(0, 1, v.W, v.H), "This checkpoint is empty: no batch has been planned.", text(s.info.Restart))
		return
	}
	if s.zoom && s.pane == 1 {
		s.drawState(v.Sub(0, 1, v.W, v.H-1))
		return
	}
	if s.zoom && s.pane == 2 && s.third() {
		s.drawThird(v.Sub(0, 1, v.W, v.H-1))
		return
	}
	y := 1
	s.drawStrip(v.Sub(0, y, v.W, 3))
	y += 3
	if s.sh.Class == S {
		rest := v.Sub(0, y, v.W, v.H-y)
		s.room = rest.H
		used := s.drawRecord(rest.Sub(0, 0, v.W, min(9, rest.H)))
		used += s.drawRestart(rest.Sub(0, used, v.W, min(s.restartLines(v.W), max(4, rest.H-used-4), max(0, rest.H-used))))
		rest = rest.Sub(0, used, v.W, rest.H-used)
		if s.third() {
			s.drawThird(rest)
		} else {
			s.drawState(rest)
		}
		return
	}
	y++
	w := v.W * 64 / 120
	third := 0
	if s.sh.Class == L {
		w = v.W / 3
		third = v.W / 3
	}
	left := v.Sub(0, y, w, v.H-y)
	used := s.drawRecord(left)
	used++
	used += s.drawRestart(left.Sub(0, used, w, left.H-used))
	used++
	below := left.Sub(0, used, w, left.H-used)
	switch {
	case s.hist != nil && (third > 0 || s.base < 0 || s.pane == 2):
		s.drawHistory(below)
	case third == 0 && s.base >= 0:
		s.drawDiff(below)
	case third == 0:
		s.drawText(below)
	}
	divider(v, w, y, v.H-y)
	s.drawState(v.Sub(w+1, y, v.W-w-third-1, v.H-y))
	if third > 0 {
		divider(v, v.W-third, y, v.H-y)
		right := v.Sub(v.W-third+1, y, third-1, v.H-y)
		if s.base >= 0 {
			s.drawDiff(right)
		} else {
			s.drawText(right)
		}
	}
}

// problemWord says in a word what is wrong with a checkpoint.
func problemWord(c *CheckpointInfo) safe.Line {
	switch {
	case c.Owner != "":
		return "held"
	case c.Problem.Condition == "NO_CHECKPOINT":
		return "none"
	}
	return "damaged"
}

// drawStrip is one cell per retained batch, newest right, with the chosen one marked.
func (s *Checkpoint) drawStrip(v canvas.View) {
	bs := s.info.Batches
	w := v.W - 4
	b := s.batch()
	at := len(bs) - 1
	for i, m := range bs {
		if m.ID == b {
			at = i
		}
	}
	from := max(0, len(bs)-w)
	if at < from {
		from = max(0, at-w/2)
	}
	to := min(len(bs), from+w)
	gone := 0 // purged batches shown before the kept ones
	if s.sh.Class == L {
		gone = int(min(int64(max(0, w-len(bs))), bs[0].ID))
	}
	for i := range gone {
		id := bs[0].ID - int64(gone-i)
		v.Put(2+i, 1, "·", canvas.Muted)
		if id%10 == 0 && i+3 < v.W {
			v.Put(max(0, 1+i), 0, f("%d", id), canvas.Muted)
		}
	}
	for i := from; i < to; i++ {
		m := bs[i]
		x := 2 + gone + i - from
		sym, st := safe.Line("●"), canvas.OK
		switch {
		case m.Offsets && !m.Commit:
			sym, st = "◐", canvas.Warn
		case m.Retried:
			sym, st = "!", canvas.Warn
		case m.Bases:
			sym, st = "▲", canvas.OK
		}
		v.Put(x, 1, sym, st)
		if m.ID%10 == 0 && i-from >= 0 && x+4 < v.W {
			v.Put(max(0, x-1), 0, f("%d", m.ID), canvas.Muted)
		}
		if i == at {
			v.Paint(x, 1, 1, canvas.Cursor)
		}
	}
	legend := safe.Line("● committed  ◐ offsets only  ▲ bases  ! retried")
	if gone > 0 {
		legend += f("  · purged, %d kept", len(bs))
	}
	lx, mark := 2, 2+gone+at-from
	if w := safe.Width(legend); mark < w+4 { // the mark of the batch would be in it
		lx = max(mark+3, v.W-w-2)
	}
	v.Put(lx, 2, legend, canvas.Muted)
	v.Put(mark, 2, "^", canvas.Accent|canvas.Bold)
}

func (s *Checkpoint) drawRecord(v canvas.View) int {
	b := s.batch()
	rule(v, 0, 0, v.W, f("batch %d", b), "[ ] move   d diff   space text", false)
	if s.recE != nil {
		return 1 + DrawCard(v.Sub(0, 1, v.W, v.H-1), 0, s.recE)
	}
	if s.rec == nil || s.rec.ID != b {
		v.Put(1, 1, "reading …", canvas.Muted)
		return 2
	}
	r := s.rec
	y := 1
	put := func(label, t safe.Line, st canvas.Style) {
		if y >= v.H {
			return
		}
		v.Put(1, y, label, canvas.Muted)
		v.Fit(12, y, v.W-13, t, st)
		y++
	}
	t := safe.Line("written")
	if !r.Written.IsZero() {
		t += " " + s.sh.Millis(r.Written)
	}
	put("offsets", t, canvas.Text)
	if q := s.sh.Query(s.name); q != nil && len(q.ID) > 4 && v.W > 50 {
		v.Put(36, y-1, "id "+text(q.ID[:4])+"…", canvas.Muted)
	}
	room := 4 // lines for all sources
	if s.sh.Class == S && v.H+s.restartLines(v.W) > s.room {
		room = 1 // what happens at a restart is worth more
	}
	for i, src := range r.Sources {
		if room == 0 {
			put("", f("… %d more sources", len(r.Sources)-i), canvas.Muted)
			break
		}
		for _, l := range offsetLines(src, v.W-13, room, len(r.Sources) > 1) {
			put("", l, canvas.Text)
			room--
		}
	}
	if r.ClosesUpTo.IsZero() && r.LateBefore.IsZero() {
		put("watermark", "none", canvas.Muted)
	} else {
		late := s.when(r.LateBefore)
		if r.ClosesUpTo.Sub(r.LateBefore).Abs() < 12*time.Hour {
			late = s.sh.EventTime(r.LateBefore) // the date is said already
		}
		put("watermark", "closes up to "+s.when(r.ClosesUpTo)+", late before "+late, canvas.Text)
	}
	switch {
	case !r.HasCommit:
		put("commit", "not written", canvas.Warn)
	case r.Committed.IsZero():
		put("commit", "written", canvas.OK)
	default:
		put("commit", "written "+s.sh.Millis(r.Committed), canvas.OK)
	}
	switch {
	case len(s.info.Operators) == 0:
		put("state", "none: the query keeps none", canvas.Muted)
	case r.StateVersion < 0:
		put("state", f("none of batch %d, newest is version %d", r.ID, s.stateBatch()+1), canvas.Muted)
	default:
		put("state", f("version %d", r.StateVersion), canvas.Text)
	}
	return y
}

// offsetLines are the range of a source on at most room lines: its numbers with their change, or its offsets.
func offsetLines(src SourceOffset, w, room int, named bool) []safe.Line {
	if len(src.Parts) == 0 {
		rows := safe.Line("")
		if src.Rows >= 0 {
			rows = " (" + widget.Signed(src.Rows) + ")"
		}
		start := text(src.Start)
		if start == "" {
			start = "start"
		}
		w -= safe.Width(rows)
		t := text(src.Source) + "  " + start + " → " + text(src.End)
		if safe.Width(t) > w {
			t = safe.Cut(text(src.Source), max(8, w/3)) + "  → " + text(src.End)
		}
		return []safe.Line{safe.Cut(t, w) + rows}
	}
	line := safe.Line("")
	if named {
		line = text(src.Source)
	}
	var out []safe.Line
	for k, p := range src.Parts {
		add := text(p)
		switch {
		case line == "":
			line = add
		case safe.Width(line)+3+safe.Width(add) <= w:
			line += "   " + add
		case len(out)+1 >= room:
			more := f("   … %d more", len(src.Parts)-k)
			return append(out, safe.Cut(line, max(8, w-safe.Width(more)))+more)
		default:
			out, line = append(out, line), add
		}
	}
	return append(out, safe.Cut(line, w))
}

// when writes an event time: the time of day, and the date if it is not today's.
func (s *Checkpoint) when(t time.Time) safe.Line {
	if t.IsZero() || t.UTC().Format(time.DateOnly) == s.sh.today() {
		return s.sh.EventClock(t)
	}
	return safe.Line(t.UTC().Format(time.DateOnly)) + " " + s.sh.EventClock(t)
}

func (s *Checkpoint) drawRestart(v canvas.View) int {
	if v.H < 2 {
		return 0
	}
	rule(v, 0, 0, v.W, "if it restarts now", "", false)
	y := 1
	for i, l := range s.restartText(v.W) {
		if y == v.H-1 && i < len(s.restartText(v.W))-1 {
			l = safe.Cut(l, v.W-3) + "…"
		}
		if y < v.H {
			v.Put(1, y, l, canvas.Text)
			y++
		}
	}
	return y
}

// restartText is what happens at a restart, as lines of a pane w wide; restartLines how many lines that takes with
// the rule above it.
func (s *Checkpoint) restartText(w int) []safe.Line {
	return widget.Wrap(safe.Text(s.sh.withoutToday(s.info.Restart), 600), w-2)
}

func (s *Checkpoint) restartLines(w int) int { return 1 + len(s.restartText(w)) }

// drawText is the offset log and commit log of the batch in Spark's own text form.
func (s *Checkpoint) drawText(v canvas.View) {
	if v.H < 2 || s.rec == nil {
		return
	}
	rule(v, 0, 0, v.W, f("offsets/%d as Spark writes it", s.rec.ID), "y copy", false)
	y := 1
	for _, l := range safe.Lines(s.rec.OffsetsText) {
		v.Fit(1, y, v.W-2, l, canvas.Text)
		y++
	}
	if s.rec.HasCommit && y+2 < v.H {
		y++
		rule(v, 0, y, v.W, f("commits/%d", s.rec.ID), "", false)
		y++
		for _, l := range safe.Lines(s.rec.CommitText) {
			v.Fit(1, y, v.W-2, l, canvas.Text)
			y++
		}
	}
	if len(s.rec.Conf) > 0 && y+2 < v.H {
		y++
		rule(v, 0, y, v.W, "pinned settings", "", false)
		for _, kv := range s.rec.Conf {
			y++
			v.Fit(1, y, v.W-2, text(kv.Key)+" = "+text(safe.Redact(kv.Key, kv.Value)), canvas.Muted)
		}
	}
}

func (s *Checkpoint) drawState(v canvas.View) {
	if v.H < 2 {
		return
	}
	title := safe.Line("state keys")
	note := safe.Line("")
	if n := len(s.info.Operators); n > 0 {
		op := s.info.Operators[min(s.op, n-1)]
		at := s.stateBatch()
		if s.rows != nil {
			at = s.rows.q.Batch // it may be behind the newest
		}
		title = f("state keys, version %d", at+1)
		if n > 1 {
			title = f("state %d ", op.ID) + text(op.Name)
			if op.Store != "default" && op.Store != "" {
				title += " " + text(op.Store)
			}
			title += f(", version %d · O next", at+1)
		}
	}
	if s.rows != nil {
		if s.rows.known {
			s.rows.list.Window(s.rows.head.Matches, v.H-2)
		}
		note = s.rows.shown()
	}
	rule(v, 0, 0, v.W, title, note, s.pane == 1)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case len(s.info.Operators) == 0:
		empty(body, "This query keeps no state.")
	case s.stateBatch() < 0:
		empty(body, "No committed batch, so no state yet.")
	case s.rows == nil:
		body.Put(1, 1, "reading …", canvas.Muted)
	case s.rows.err != nil:
		DrawCard(body, 1, s.rows.err)
	default:
		focusable(v, takes(&s.pane, 1))
		s.rows.focus = takes(&s.pane, 1)
		s.rows.draw(body, s.pane == 1)
	}
}
