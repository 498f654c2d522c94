package screen

import (
	"context"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Checkpoint is one checkpoint: the strip of its retained batches, the records of the chosen batch, what
// a restart would do, and the state as it was after that batch.
type Checkpoint struct {
	sh   *Shared
	name string
	id   int64 // chosen batch; -1 follows the newest
	pane int   // 0 batch, 1 state
	zoom bool

	info  *CheckpointInfo
	err   *errs.Error
	asked time.Time
	seen  int64

	rec   *CheckpointBatch
	recAt int64
	recE  *errs.Error

	op      int // index into info.Operators
	filter  string
	state   *Grid
	stateE  *errs.Error
	stateAt [2]int64 // batch and operator that state belongs to
}

// NewCheckpoint makes the screen for a query at a batch; -1 is the newest.
func NewCheckpoint(sh *Shared, query string, batch int64) *Checkpoint {
	return &Checkpoint{sh: sh, name: query, id: batch, recAt: -1, seen: -2, stateAt: [2]int64{-1, -1}}
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
	if len(s.info.Operators) > 0 {
		sb := s.stateBatch()
		op := s.info.Operators[min(s.op, len(s.info.Operators)-1)].ID
		want := [2]int64{sb, int64(op)}
		if sb >= 0 && want != s.stateAt {
			e.Jobs = append(e.Jobs, s.loadState(want))
		}
	}
	return e
}

func (s *Checkpoint) loadState(want [2]int64) Job {
	s.stateAt = want
	bench, name, filter := s.sh.Bench, s.name, s.filter
	return Job{Slot: "state", What: "reading state", Run: func(ctx context.Context) func() Effect {
		r, err := bench.State(ctx, name, want[0], int(want[1]), filter, 1000)
		return func() Effect {
			if s.stateAt != want {
				return Effect{}
			}
			if s.stateE = AsError(err); err == nil {
				s.state = NewGrid(r).keepPlace(s.state)
			}
			return Effect{}
		}
	}}
}

// Handle implements Screen.
func (s *Checkpoint) Handle(a Action) Effect {
	switch a {
	case Back:
		if s.filter != "" {
			return s.setFilter("")
		}
		return Effect{Pop: true}
	case NextPane, PrevPane:
		s.pane = 1 - s.pane
		return Effect{}
	case Zoom:
		s.zoom = !s.zoom
		return Effect{}
	case PrevBatch, NextBatch, PrevNotable, NextNotable:
		return s.step(a)
	case NextState:
		if s.info != nil && len(s.info.Operators) > 0 {
			s.op = (s.op + 1) % len(s.info.Operators)
			s.state = nil
			return s.Wake()
		}
	case Filter:
		return Effect{Input: &Prompt{Title: "Filter state", Label: "text in key or value", Text: s.filter, Done: s.setFilter}}
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
	case ForkHere:
		b := s.batch()
		return Effect{Input: &Prompt{Title: f("Fork at batch %d", b), Label: "name of the new query",
			Text: s.name + "_fork", Done: func(t string) Effect {
				return Effect{Do: &Command{Verb: Fork, Query: s.name, Batch: b, Arg: t}, Toast: "forking to " + text(t)}
			}}}
	case RewindHere:
		b := s.batch()
		return Effect{Ask: &Question{
			Title: "Rewind " + text(s.name) + f(" to batch %d?", b),
			Lines: []safe.Line{f("Batches after %d will run again.", b),
				"The present checkpoint is kept aside under another name.", "Type the query's name to go on."},
			Verb: "rewind", Name: text(s.name),
			Yes: func() Effect {
				s.id, s.seen, s.recAt = -1, -2, -1
				return Effect{Do: &Command{Verb: Rewind, Query: s.name, Batch: b}, Toast: "rewinding " + text(s.name)}
			}}}
	}
	if s.state != nil && (s.pane == 1 || a != Left && a != Right) {
		switch a {
		case Enter, Look:
			return s.state.Open()
		case Copy:
			return s.state.CopyCell()
		case CopyAll:
			return s.state.CopyAll()
		}
		if s.state.Handle(a) {
			return Effect{}
		}
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

func (s *Checkpoint) setFilter(t string) Effect {
	s.filter, s.state = t, nil
	if s.info == nil || len(s.info.Operators) == 0 || s.stateBatch() < 0 {
		return Effect{}
	}
	op := s.info.Operators[min(s.op, len(s.info.Operators)-1)].ID
	return Effect{Jobs: []Job{s.loadState([2]int64{s.stateBatch(), int64(op)})}}
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
	switch a {
	case RewindHere:
		if q != nil && q.State.Active() {
			return "stop the query first"
		}
		if s.batch() < 0 {
			return "no batch is kept"
		}
	case ForkHere:
		if s.batch() < 0 {
			return "no batch is kept"
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
	note := widget.Plural(int64(n), "batch") + " kept · " + widget.Bytes(s.info.Bytes)
	switch {
	case s.info.InUse:
		note += " · in use"
	case s.info.Owner != "":
		note += " · held by " + text(s.info.Owner)
	}
	rule(v, 0, 0, v.W, title, note, s.pane == 0)
	if s.info.Problem != nil {
		DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, s.info.Problem)
		return
	}
	if n == 0 {
		empty(v.Sub(0, 1, v.W, v.H), "This checkpoint is empty: no batch has been planned.", text(s.info.Restart))
		return
	}
	y := 1
	if s.zoom && s.pane == 1 {
		s.drawState(v.Sub(0, 1, v.W, v.H-1))
		return
	}
	s.drawStrip(v.Sub(0, y, v.W, 3))
	y += 3
	if s.sh.Class == S {
		rest := v.Sub(0, y, v.W, v.H-y)
		used := s.drawRecord(rest.Sub(0, 0, v.W, min(9, rest.H)))
		used += s.drawRestart(rest.Sub(0, used, v.W, min(4, max(0, rest.H-used))))
		s.drawState(rest.Sub(0, used, v.W, rest.H-used))
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
	if third == 0 {
		used++
		s.drawText(left.Sub(0, used, w, left.H-used))
	}
	divider(v, w, y, v.H-y)
	s.drawState(v.Sub(w+1, y, v.W-w-third-1, v.H-y))
	if third > 0 {
		divider(v, v.W-third, y, v.H-y)
		s.drawText(v.Sub(v.W-third+1, y, third-1, v.H-y))
	}
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
	for i := from; i < to; i++ {
		m := bs[i]
		x := 2 + i - from
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
	const legend = "● committed  ◐ offsets only  ▲ bases  ! retried"
	lx := 2
	if w := safe.Width(legend); at-from < w+2 { // the mark of the batch would be in it
		lx = max(2+at-from+3, v.W-w-2)
	}
	v.Put(lx, 2, legend, canvas.Muted)
	v.Put(2+at-from, 2, "^", canvas.Accent|canvas.Bold)
}

func (s *Checkpoint) drawRecord(v canvas.View) int {
	b := s.batch()
	rule(v, 0, 0, v.W, f("batch %d", b), "[ ] move   space text", false)
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
	for i, src := range r.Sources {
		if i >= 4 {
			put("", f("… %d more sources", len(r.Sources)-i), canvas.Muted)
			break
		}
		rows := safe.Line("")
		if src.Rows >= 0 {
			rows = " (" + widget.Signed(src.Rows) + ")"
		}
		start := text(src.Start)
		if start == "" {
			start = "start"
		}
		w := v.W - 13 - safe.Width(rows)
		t := text(src.Source) + "  " + start + " → " + text(src.End)
		if safe.Width(t) > w {
			t = safe.Cut(text(src.Source), max(8, w/3)) + "  → " + text(src.End)
		}
		put("", safe.Cut(t, w)+rows, canvas.Text)
	}
	if r.ClosesUpTo.IsZero() && r.LateBefore.IsZero() {
		put("watermark", "none", canvas.Muted)
	} else {
		put("watermark", "closes up to "+s.sh.Clock(r.ClosesUpTo)+", late before "+s.sh.Clock(r.LateBefore), canvas.Text)
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
		put("state", f("none of batch %d", r.ID), canvas.Muted)
	default:
		put("state", f("version %d", r.StateVersion), canvas.Text)
	}
	return y
}

func (s *Checkpoint) drawRestart(v canvas.View) int {
	if v.H < 2 {
		return 0
	}
	rule(v, 0, 0, v.W, "if it restarts now", "", false)
	y := 1
	for _, l := range widget.Wrap(safe.Text(s.info.Restart, 600), v.W-2) {
		v.Put(1, y, l, canvas.Text)
		y++
	}
	return min(y, v.H)
}

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
	title := safe.Line("state")
	note := safe.Line("")
	if n := len(s.info.Operators); n > 0 {
		op := s.info.Operators[min(s.op, n-1)]
		title = f("state, version %d", s.stateBatch()+1)
		if v.W >= 64 {
			title = f("state %d ", op.ID) + text(op.Name) + f(", version %d", s.stateBatch()+1)
		}
		if n > 1 {
			title += f(" · %d of %d, O next", min(s.op, n-1)+1, n)
		}
	}
	if s.state != nil {
		note = s.state.Shown()
	}
	if s.filter != "" {
		note += " · /" + safe.Text(s.filter, 20)
	}
	rule(v, 0, 0, v.W, title, note, s.pane == 1)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case len(s.info.Operators) == 0:
		empty(body, "This query keeps no state.")
	case s.stateE != nil:
		DrawCard(body, 1, s.stateE)
	case s.stateBatch() < 0:
		empty(body, "No committed batch, so no state yet.")
	case s.state == nil:
		body.Put(1, 1, "reading …", canvas.Muted)
	default:
		s.state.Draw(body, s.pane == 1)
	}
}
