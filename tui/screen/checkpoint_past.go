package screen

import (
	"context"
	"path"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// past asks before the checkpoint is changed, or copied.
func (s *Checkpoint) past(a Action) Effect {
	b, name := s.batch(), text(s.name)
	changed := func(c Command, toast safe.Line) Effect {
		s.id, s.seen, s.recAt, s.rows, s.hist, s.diff, s.base = -1, -2, -1, nil, nil, nil, -1
		c.Query = s.name
		return Effect{Do: &c, Toast: toast}
	}
	switch a {
	case ForkHere:
		return Effect{Input: &Prompt{Title: f("Fork at batch %d", b), Label: "name of the new checkpoint", Text: s.name + "_fork",
			Done: func(t string) Effect {
				return Effect{Do: &Command{Verb: Fork, Query: s.name, Batch: b, Arg: t}, Toast: "forking to " + text(t)}
			}}}
	case RewindHere:
		last := s.info.Batches[len(s.info.Batches)-1].ID
		again := f("Batches %d to %d will run again.", b+1, last)
		switch b {
		case last - 1:
			again = f("Batch %d will run again.", last)
		case last:
			again = f("Batch %d is the newest: nothing is given up.", b)
		}
		return Effect{Ask: &Question{Title: "Rewind " + name + f(" to batch %d?", b),
			Lines: []safe.Line{again, s.twice(), "The present checkpoint stays beside it as " + text(path.Base(s.info.Location)) + ".before- and the time.", "Type the query's name to go on."},
			Verb:  "rewind", Name: name,
			Yes: func() Effect { return changed(Command{Verb: Rewind, Batch: b}, "rewinding "+name) }}}
	case LoseHere:
		return Effect{Ask: &Question{Title: "Accept the loss of batches of " + name + "?",
			Lines: []safe.Line{f("Batches %d to %d are lost.", s.info.Lost[0], s.info.Lost[1]), f("The query goes on after batch %d.", s.info.Whole),
				"The damaged folder stays beside it.", "Type the query's name to go on."},
			Verb: "accept the loss", Name: name,
			Yes: func() Effect { return changed(Command{Verb: AcceptLoss}, "going back to the newest whole batch") }}}
	}
	return askAfresh(s.sh, s.name, func(sink safe.Line) *Question {
		lines := []safe.Line{"The query begins with batch 0 and reads everything again."}
		if sink != "" {
			lines = append(lines, sink)
		}
		return &Question{Title: "Remove the checkpoint of " + name + "?",
			Lines: append(lines, "The folder stays beside it as", text(s.info.Location)+".before-…", "Type the query's name to go on."),
			Verb:  "remove", Name: name,
			Yes: func() Effect { return changed(Command{Verb: Discard}, "removing the checkpoint of "+name) }}
	})
}

// twice says what the sink may see again.
func (s *Checkpoint) twice() safe.Line {
	q := s.sh.Query(s.name)
	if q == nil {
		return "The sink may see their rows again."
	}
	switch q.Promise {
	case "exactly-once":
		return text(q.Sink) + " keeps what it has of them."
	case "none":
		return text(q.Sink) + " shows them again."
	}
	return text(q.Sink) + " may see their rows twice."
}

// verify reads everything in the background; the title says how far it is.
func (s *Checkpoint) verify() Effect {
	c := &verifying{}
	c.total.Store(1)
	s.check = c
	bench, name := s.inspecting(), s.name
	return Effect{Toast: "verifying: the title says how far it is", Jobs: []Job{{Slot: "verify", What: "verifying", Run: func(ctx context.Context) func() Effect {
		err := bench.VerifyCheckpoint(ctx, name, func(done, total int64) { c.done.Store(done); c.total.Store(total) })
		return func() Effect {
			s.check = nil
			if err != nil {
				return Effect{Error: AsError(err)}
			}
			return Effect{Toast: text(name) + " is whole: records, logs and the sums of the state"}
		}
	}}}}
}

// export asks for a folder and writes the checkpoint there.
func (s *Checkpoint) export() Effect {
	bench, name := s.inspecting(), s.name
	return Effect{Input: &Prompt{Title: "Export in Spark's layout", Label: "new folder", Text: name + "-checkpoint", Done: func(dir string) Effect {
		return Effect{Jobs: []Job{{Slot: "export", What: "exporting", Run: func(ctx context.Context) func() Effect {
			n, err := bench.ExportCheckpoint(ctx, name, dir)
			return func() Effect {
				if err != nil {
					return Effect{Error: AsError(err)}
				}
				return Effect{Toast: widget.Plural(int64(n), "file") + " in " + text(dir)}
			}
		}}}}
	}}}
}

// drawProblem is what is said of a checkpoint that does not open.
func (s *Checkpoint) drawProblem(v canvas.View) {
	y := DrawCard(v, 1, s.info.Problem) + 1
	put := func(t safe.Line) {
		for _, l := range widget.Wrap(t, v.W-4) {
			if y < v.H {
				v.Put(2, y, l, canvas.Text)
				y++
			}
		}
	}
	switch {
	case s.info.Owner != "":
		put("When that has stopped: streamlab checkpoint show " + text(s.name))
	case len(s.info.Lost) == 2 && s.info.Whole >= 0:
		put(f("Batches %d to %d are lost, batch %d is whole. Two commands are allowed:", s.info.Lost[0], s.info.Lost[1], s.info.Whole))
		put(f("streamlab checkpoint forget %s --accept-loss %d..%d", s.name, s.info.Lost[0], s.info.Lost[1]))
		put(f("streamlab checkpoint rewind %s --to %d, or an older batch", s.name, s.info.Whole))
		put("The first is “accept the loss” among the commands (:).")
	case s.info.Problem.Condition != "NO_CHECKPOINT":
		put("What of it is whole is not known. “remove the checkpoint” among the commands (:) puts it aside; the query then " +
			"begins with batch 0.")
	}
}

// drawThird is the history of a key or the comparison, whichever was asked for last.
func (s *Checkpoint) drawThird(v canvas.View) {
	if s.hist != nil {
		s.drawHistory(v)
	} else {
		s.drawDiff(v)
	}
}

func (s *Checkpoint) drawHistory(v canvas.View) {
	if v.H < 2 {
		return
	}
	h := s.hist
	note := safe.Line("")
	if h.done {
		note = h.list.Shown(len(h.rows))
	}
	rule(v, 0, 0, v.W, "history of "+text(s.sh.withoutToday(h.key.Key)), note, s.pane == 2)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case h.err != nil:
		DrawCard(body, 1, h.err)
		return
	case !h.done:
		body.Put(1, 1, "reading …", canvas.Muted)
		return
	case len(h.rows) == 0:
		empty(body, "No retained batch has written this key.")
		return
	}
	value := func(r KeyVersion) safe.Line {
		if r.Removed {
			return "removed"
		}
		var out safe.Line
		for i, c := range r.Values {
			if i > 0 {
				out += "  "
			}
			out += number(cellText(c, widest))
		}
		return out
	}
	change := func(r KeyVersion) (out safe.Line) {
		for _, c := range r.Change {
			if c != "" {
				out += " " + signedText(c)
			}
		}
		return out
	}
	vw, cw := 8, 6
	for _, r := range h.rows {
		vw, cw = max(vw, safe.Width(value(r))), max(cw, safe.Width(change(r)))
	}
	vw = min(vw, max(8, v.W-8-cw-2-14-3))
	body.Right(7, 0, 6, "BATCH", canvas.Muted)
	body.Right(9+vw, 0, vw, "VALUE", canvas.Muted)
	body.Right(11+vw+cw, 0, cw, "CHANGE", canvas.Muted)
	body.Put(13+vw+cw, 0, "TIME", canvas.Muted)
	from, to := h.list.Window(len(h.rows), body.H-1)
	clickRows(body, 1, to-from, &h.list, from, takes(&s.pane, 2))
	for i := from; i < to; i++ {
		r, y := h.rows[i], 1+i-from
		body.Right(7, y, 7, batchText(r.Batch, r.AtMost), canvas.Text)
		st := canvas.Text
		if r.Removed {
			st = canvas.Warn
		}
		body.Right(9+vw, y, vw, value(r), st)
		body.Right(11+vw+cw, y, cw, change(r), canvas.Text)
		if v.W > 13+vw+cw+8 {
			t := s.sh.Millis(r.Time)
			if r.AtMost {
				t = "before what is kept"
			}
			body.Fit(13+vw+cw, y, v.W-13-vw-cw, t, canvas.Muted)
		}
		if i == h.list.Cursor && s.pane == 2 {
			body.Paint(1, y, v.W-2, canvas.Cursor)
		}
	}
}

// signedText is a number with its sign and separators.
func signedText(t string) safe.Line {
	l := safe.Text(t, 30)
	if len(l) > 1 && (l[0] == '+' || l[0] == '-') {
		return l[:1] + number(l[1:])
	}
	return l
}

func (s *Checkpoint) drawDiff(v canvas.View) {
	if v.H < 2 {
		return
	}
	b := s.batch()
	title := f("diff %d → %d", min(s.base, b), max(s.base, b))
	rule(v, 0, 0, v.W, title, "d change base", s.pane == 2)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case b == s.base:
		empty(body, f("Batch %d is the base. Move with [ ] to compare it with another.", b))
		return
	case s.diff == nil || s.diff.d == nil && s.diff.err == nil:
		body.Put(1, 1, "comparing …", canvas.Muted)
		return
	case s.diff.err != nil:
		DrawCard(body, 1, s.diff.err)
		return
	}
	d := s.diff.d
	y := 0
	put := func(label, t safe.Line) {
		if y < body.H {
			body.Put(1, y, label, canvas.Muted)
			body.Fit(14, y, v.W-15, t, canvas.Text)
			y++
		}
	}
	for i, l := range d.Offsets {
		label := safe.Line("offsets")
		if i > 0 {
			label = ""
		}
		put(label, text(l))
	}
	if len(d.Offsets) == 0 {
		put("offsets", "no change")
	}
	switch {
	case d.WatermarkTo.IsZero():
		put("watermark", "none")
	case d.WatermarkFrom.Equal(d.WatermarkTo):
		put("watermark", s.when(d.WatermarkTo)+", no change")
	default:
		put("watermark", s.when(d.WatermarkFrom)+" → "+s.when(d.WatermarkTo))
	}
	put("state keys", widget.Count(int64(d.Before))+" → "+widget.Count(int64(d.After)))
	put("", "+ "+widget.Count(int64(d.Added))+" new   − "+widget.Count(int64(d.Removed))+" removed   ~ "+widget.Count(int64(d.Changed))+" changed")
	y++
	if y+1 >= body.H || len(d.Rows) == 0 {
		return
	}
	bw, aw := 6, 5
	for _, r := range d.Rows[:min(200, len(d.Rows))] {
		bw, aw = max(bw, min(24, safe.Width(text(r.Before)))), max(aw, min(24, safe.Width(text(r.After))))
	}
	kw := max(8, v.W-10-bw-aw-4)
	body.Put(1, y, "change", canvas.Muted)
	body.Put(9, y, "key", canvas.Muted)
	body.Right(9+kw+2+bw, y, bw, "before", canvas.Muted)
	body.Right(9+kw+4+bw+aw, y, aw, "after", canvas.Muted)
	y++
	from, to := s.diff.list.Window(len(d.Rows), body.H-y)
	clickRows(body, y, to-from, &s.diff.list, from, takes(&s.pane, 2))
	for i := from; i < to; i++ {
		r := d.Rows[i]
		sym, st := safe.Line("~"), canvas.Text
		switch r.Change {
		case '+':
			sym, st = "+", canvas.OK
		case '-':
			sym, st = "−", canvas.Warn
		}
		body.Put(1, y, sym, st)
		body.Fit(9, y, kw, text(r.Key), canvas.Text)
		body.Right(9+kw+2+bw, y, bw, number(text(r.Before)), canvas.Muted)
		body.Right(9+kw+4+bw+aw, y, aw, number(text(r.After)), canvas.Text)
		if i == s.diff.list.Cursor && s.pane == 2 {
			body.Paint(1, y, v.W-2, canvas.Cursor)
		}
		y++
	}
}
